package exchange

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// TestBodiesOfEveryKind: whatever kind a record says that it is, a body that does not
// decode is refused, however the record comes; a kind of a later version is carried.
func TestBodiesOfEveryKind(t *testing.T) {
	n := startNode(t, nil)
	author := newKey(t)
	topics := map[karasuv1.RecordKind]model.Topic{
		karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL: commons.StageTopic(pagerank.Infrastructure, pagerank.Framework),
	}
	of := func(kind karasuv1.RecordKind, key string) *RefusalError {
		t.Helper()
		topic, ok := topics[kind]
		if !ok {
			topic = pagerank
		}
		r := seal(t, author, topic, 1, func(r *karasuv1.Record) { r.Kind, r.Key, r.Body = kind, key, []byte("\xff\xff") })
		var refusal *RefusalError
		for _, from := range []Source{Gossip, Sync} {
			if _, refusal = n.ex.validator.Check(topic, r.Envelope, from); refusal == nil {
				return nil
			}
		}
		return refusal
	}
	for kind := range karasuv1.RecordKind_name {
		k := karasuv1.RecordKind(kind)
		if k == karasuv1.RecordKind_RECORD_KIND_UNSPECIFIED || k == karasuv1.RecordKind_RECORD_KIND_RETRACTION {
			continue // refused before, or without a body
		}
		t.Run(k.String(), func(t *testing.T) {
			if refusal := of(k, "stage/stage-trees/1"); refusal == nil || refusal.Reason != BadBody || refusal.Verdict != Reject || refusal.text() == string(BadBody) {
				t.Errorf("refusal %v, want %s with what is wrong", refusal, BadBody)
			}
		})
	}
	if refusal := of(12345, "later/1"); refusal != nil {
		t.Errorf("a kind of a later version: %v", refusal)
	}
}

// safeBuffer takes the lines of a log from many goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestRefusalsAreSaid: the log has the first model that a peer should not have sent, with
// what is wrong with it, and the peer's count has all.
func TestRefusalsAreSaid(t *testing.T) {
	var log safeBuffer
	topic := commons.StageTopic(pagerank.Infrastructure, pagerank.Framework)
	n := startNode(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if err := n.ex.Join(topic); err != nil {
		t.Fatal(err)
	}
	m := newHostile(t)
	m.connect(n)
	tp := m.join(topic.String())
	for i := range 3 {
		bad := seal(t, m.key, topic, i, func(r *karasuv1.Record) {
			r.Kind, r.Key, r.Revision = karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL, "stage/stage-trees/1", uint64(1+i)
			r.Body = []byte("\x0a\x0dstage-trees/1") // the family, and nothing else
		})
		m.publish(tp, bad.Envelope)
	}
	eventually(t, "three refusals are counted", func() bool { return n.ex.Stats().Rejected[BadBody] == 3 })
	eventually(t, "the peer is named", func() bool {
		o := n.ex.Offenders()
		return len(o) == 1 && o[0].Refused[BadBody] == 3 && strings.Contains(o[0].Last, "stage model")
	})
	if said := strings.Count(log.String(), "refused what a peer sent"); said != 1 || !strings.Contains(log.String(), "stage model") {
		t.Errorf("said %d times:\n%s", said, log.String())
	}
}
