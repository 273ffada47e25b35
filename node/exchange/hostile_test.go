package exchange

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// hostile is a raw libp2p host with a gossip layer that checks nothing.
type hostile struct {
	t    *testing.T
	host host.Host
	ps   *pubsub.PubSub
	key  crypto.PrivKey
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	key := newKey(t)
	h, err := libp2p.New(libp2p.Identity(key), libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.DisableRelay(), libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ps, err := pubsub.NewGossipSub(ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return &hostile{t, h, ps, key}
}

func (h *hostile) connect(n *node) {
	h.t.Helper()
	info, err := peer.AddrInfoFromP2pAddr(n.net.Addrs()[0])
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.host.Connect(h.t.Context(), *info); err != nil {
		h.t.Fatal(err)
	}
}

// join returns a topic once somebody is known to take part in it.
func (h *hostile) join(topic string) *pubsub.Topic {
	h.t.Helper()
	tp, err := h.ps.Join(topic)
	if err != nil {
		h.t.Fatal(err)
	}
	eventually(h.t, "hostile peer sees the topic", func() bool { return len(tp.ListPeers()) > 0 })
	return tp
}

func (h *hostile) publish(tp *pubsub.Topic, data []byte) {
	h.t.Helper()
	if err := tp.Publish(h.t.Context(), data); err != nil {
		h.t.Fatal(err)
	}
}

// spoiled seals a payload that commons.Seal would refuse.
func spoiled(t testing.TB, key crypto.PrivKey, r *karasuv1.Record) []byte {
	t.Helper()
	payload, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	env, err := record.Seal(&rawRecord{payload}, key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := env.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type rawRecord struct{ b []byte }

func (*rawRecord) Domain() string                   { return commons.Domain }
func (*rawRecord) Codec() []byte                    { return []byte(commons.PayloadType) }
func (r *rawRecord) MarshalRecord() ([]byte, error) { return r.b, nil }
func (r *rawRecord) UnmarshalRecord(b []byte) error { r.b = b; return nil }

// TestHostileGossip: each bad record is refused, counted by reason, not stored, and
// the honest nodes go on.
func TestHostileGossip(t *testing.T) {
	author := newKey(t)
	at := func(created, notAfter time.Duration) func(*karasuv1.Record) {
		return func(r *karasuv1.Record) {
			r.Created, r.NotAfter = time.Now().Add(created).Unix(), time.Now().Add(notAfter).Unix()
		}
	}
	held := seal(t, author, pagerank, 500, func(r *karasuv1.Record) { r.Revision = 7 })
	cases := map[string]struct {
		data   []byte
		reason Reason
	}{
		"malformed protobuf": {[]byte("\xff\xff\xff not a record"), Malformed},
		"empty":              {nil, Malformed},
		"oversize":           {make([]byte, commons.MaxEnvelope+1), Oversize},
		"forged author":      {forge(t, seal(t, author, pagerank, 1, nil).Envelope), Forged},
		"other topic":        {seal(t, author, kmeans, 2, nil).Envelope, WrongTopic},
		"expired":            {seal(t, author, pagerank, 3, at(-2*time.Hour, -time.Hour)).Envelope, Expired},
		"future":             {seal(t, author, pagerank, 4, at(time.Hour, 2*time.Hour)).Envelope, Future},
		"far future":         {seal(t, author, pagerank, 5, at(48*time.Hour, 72*time.Hour)).Envelope, FarFuture},
		"body of another key": {seal(t, author, pagerank, 6, func(r *karasuv1.Record) {
			r.Key = commons.SummaryKey(fmt.Sprintf("%032x", 7))
		}).Envelope, BadBody},
		"body that is none": {seal(t, author, pagerank, 8, func(r *karasuv1.Record) { r.Body = []byte("\xff\xff") }).Envelope, BadBody},
		"another major version": {spoiled(t, author, draft(t, pagerank, 9, func(r *karasuv1.Record) {
			r.Major = 2
		})), Version},
		"no revision": {spoiled(t, author, draft(t, pagerank, 10, func(r *karasuv1.Record) { r.Revision = 0 })), Malformed},
		"older revision": {seal(t, author, pagerank, 500, func(r *karasuv1.Record) {
			r.Revision = 6
		}).Envelope, Stale},
	}
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	if _, err := b.db.Put(t.Context(), held, false); err != nil {
		t.Fatal(err)
	}
	m := newHostile(t)
	m.connect(b)
	tp := m.join(pagerank.String())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := b.ex.Stats().Rejected[c.reason]
			m.publish(tp, c.data)
			eventually(t, "the record is counted as "+string(c.reason), func() bool {
				return b.ex.Stats().Rejected[c.reason] > before
			})
		})
	}
	entries, err := b.db.Entries(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("B holds %d records, want the two honest ones", len(entries))
	}
	after := a.publish(pagerank, 100)
	eventually(t, "an honest record passes", func() bool { return b.holds(after) })
	// What is refused does not travel: A is one hop further.
	for reason, n := range a.ex.Stats().Rejected {
		if reason != Duplicate && reason != Busy && n > 0 {
			t.Errorf("A saw %d of %s", n, reason)
		}
	}
}

// forge changes a byte of the signature.
func forge(t testing.TB, envelope []byte) []byte {
	t.Helper()
	r, err := commons.Open(envelope)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(envelope)
	i := bytes.Index(out, r.Body)
	// The signature follows the payload; its last byte is the envelope's.
	if i < 0 {
		t.Fatal("no body in the envelope")
	}
	out[len(out)-1] ^= 1
	return out
}

// TestReplayOnAnotherTopic: a genuine record under another topic's name.
func TestReplayOnAnotherTopic(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	genuine := a.publish(pagerank, 0)
	a.publish(kmeans, 1)
	eventually(t, "B takes part in both", func() bool { return b.holds(genuine) && len(b.ex.Topics()) == 2 })
	m := newHostile(t)
	m.connect(b)
	m.publish(m.join(kmeans.String()), genuine.Envelope)
	eventually(t, "the replay is counted", func() bool { return b.ex.Stats().Rejected[WrongTopic] == 1 })
}

// TestFloodOfForgeries greylists the sender; the rest of the network does not
// notice.
func TestFloodOfForgeries(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	tp := m.join(pagerank.String())
	eventually(t, "the flooder is greylisted", func() bool {
		for i := range 64 {
			m.publish(tp, fmt.Appendf(nil, "junk %d %d", time.Now().UnixNano(), i))
		}
		return b.ex.Greylisted(m.host.ID())
	})
	if n := b.ex.Stats().Rejected[Malformed]; n < maxOffences {
		t.Errorf("greylisted after %d", n)
	}
	if got := b.ex.Offenders(); len(got) != 1 || got[0].ID != m.host.ID() || got[0].Greylisted <= 0 || got[0].Refused[Malformed] < maxOffences {
		t.Errorf("offenders: %+v", got)
	}
	// It gets no sync session either.
	s := m.open(b)
	defer s.Reset() //nolint:errcheck // the test is over
	if frame := readFrame(t, s); frame.GetRefusal().GetReason() != string(Greylisted) {
		t.Errorf("sync answered %v", frame)
	}
	after := a.publish(pagerank, 1)
	eventually(t, "an honest record passes", func() bool { return b.holds(after) })
}

// TestFloodOfValidRecords: an author with nothing else to do is held to its rate
// and to its quota.
func TestFloodOfValidRecords(t *testing.T) {
	quotas := func(o *Options) { o.Quotas = Quotas{Burst: 40, RecordsPerSecond: 0.001, RecordsPerAuthor: 30} }
	a, b := startNode(t, quotas), startNode(t, quotas)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	tp := m.join(pagerank.String())
	for i := range 30 {
		m.publish(tp, seal(t, m.key, pagerank, i, nil).Envelope)
	}
	eventually(t, "its quota is filled", func() bool {
		return b.db.Authors()[m.host.ID()].Records == 30
	})
	for i := range 30 {
		m.publish(tp, seal(t, m.key, pagerank, 100+i, nil).Envelope)
	}
	eventually(t, "records above the quota are refused", func() bool {
		return b.ex.Stats().Rejected[QuotaCount] == 30
	})
	// New revisions of what is held fit the quota and meet the rate.
	for i := range 30 {
		m.publish(tp, seal(t, m.key, pagerank, i, func(r *karasuv1.Record) { r.Revision = 2 }).Envelope)
	}
	eventually(t, "records above the rate are refused", func() bool {
		return b.ex.Stats().Rejected[Rate] == 20
	})
	if n := b.db.Authors()[m.host.ID()].Records; n != 30 {
		t.Errorf("%d records of the flooder", n)
	}
	after := a.publish(pagerank, 1)
	eventually(t, "an honest record passes", func() bool { return b.holds(after) })
}

// TestEquivocation: two bodies under one revision are both kept as proof and not
// used, by every node; more of them are not kept.
func TestEquivocation(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	tp := m.join(pagerank.String())
	for i := range 5 {
		m.publish(tp, seal(t, m.key, pagerank, 1, func(r *karasuv1.Record) {
			other := draft(t, pagerank, 1, nil)
			var s karasuv1.RunSummary
			if err := proto.Unmarshal(other.GetBody(), &s); err != nil {
				t.Fatal(err)
			}
			s.Configurations[0].OkRuns = uint32(i + 1)
			body, err := proto.Marshal(&s)
			if err != nil {
				t.Fatal(err)
			}
			r.Body = body
		}).Envelope)
	}
	for _, n := range []*node{a, b} {
		eventually(t, "the equivocation is known", func() bool {
			return n.db.Authors()[m.host.ID()].Equivocations == 1
		})
		if held := n.db.Authors()[m.host.ID()].Records; held != 2 {
			t.Errorf("%d of five bodies are kept, want two as proof", held)
		}
		if used, err := n.db.ByTopic(pagerank); err != nil || len(used) != 1 {
			t.Errorf("%d records are used, %v", len(used), err)
		}
	}
}

// TestEnvelopeInOtherBytes: anybody can add to an envelope what no signature
// covers. That makes another message, but no other record.
func TestEnvelopeInOtherBytes(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	genuine := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(genuine) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	tp := m.join(pagerank.String())
	// Field 100, varint 1.
	m.publish(tp, append(bytes.Clone(genuine.Envelope), 0xa0, 0x06, 0x01))
	eventually(t, "padding is refused", func() bool { return b.ex.Stats().Rejected[Malformed] > 0 })
	// The first field behind the others.
	_, _, n := protowire.ConsumeField(genuine.Envelope)
	m.publish(tp, append(bytes.Clone(genuine.Envelope[n:]), genuine.Envelope[:n]...))
	eventually(t, "known by its id", func() bool { return b.ex.Stats().Rejected[Duplicate] > 0 })
	if r, err := b.db.Get(genuine.ID); err != nil || !bytes.Equal(r.Envelope, genuine.Envelope) {
		t.Errorf("what is held has changed: %v", err)
	}
}

// TestManyTopics: names of topics cost a peer nothing to invent, and us nothing to
// ignore.
func TestManyTopics(t *testing.T) {
	b := startNode(t, func(o *Options) { o.MaxTopics = 8 })
	m := newHostile(t)
	m.connect(b)
	for i := range 1000 {
		tp, err := m.ps.Join(model.Topic{Infrastructure: "x", Framework: "y", Algorithm: fmt.Sprint("z", i)}.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tp.Subscribe(); err != nil {
			t.Fatal(err)
		}
	}
	a := startNode(t, nil)
	a.connect(b)
	r := a.publish(pagerank, 1)
	eventually(t, "the honest topic is joined", func() bool { return b.holds(r) && len(b.ex.Topics()) == 1 })
}
