package share

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/test"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// sent is a record as far as the log looks at it.
func sent(n byte) *commons.Record {
	return &commons.Record{
		ID: commons.ID{n}, Topic: model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort"},
		Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, Key: fmt.Sprintf("key%d/summary", n), Revision: uint64(n), Envelope: make([]byte, 100),
	}
}

func somePeers(t *testing.T, n int) []peer.ID {
	t.Helper()
	var out []peer.ID
	for range n {
		id, err := test.RandPeerID()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

// clock ticks by a minute with every look.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Minute)
	return c.at
}

func openAudit(t *testing.T, dir string, c *clock) *AuditLog {
	t.Helper()
	a, err := OpenAuditLog(dir, c.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func leave(t *testing.T, a *AuditLog, r *commons.Record, via string, peers ...peer.ID) {
	t.Helper()
	if err := a.Leaving(r, via, peers); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, a *AuditLog, since time.Time) []AuditEntry {
	t.Helper()
	out, _, unreadable, err := a.Entries(since)
	if err != nil || unreadable != 0 {
		t.Fatal(unreadable, err)
	}
	return out
}

// TestAuditNotesFirstRecipients: each of them once, at most eight of a record, also
// across restarts.
func TestAuditNotesFirstRecipients(t *testing.T) {
	dir, c, peers := t.TempDir(), &clock{time.Unix(1_700_000_000, 0)}, somePeers(t, 12)
	a := openAudit(t, dir, c)
	leave(t, a, sent(1), "gossip", peers[0], peers[1])
	leave(t, a, sent(1), "sync", peers[1]) // has it
	leave(t, a, sent(2), "sync", peers[0])
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Leaving(sent(3), "sync", peers[:1]); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	a = openAudit(t, dir, c)
	leave(t, a, sent(1), "sync", peers[0]) // had it before the restart
	leave(t, a, sent(1), "gossip", peers...)
	leave(t, a, sent(1), "sync", peers[11])
	got := entries(t, a, time.Time{})
	var said []string
	for _, e := range got {
		said = append(said, fmt.Sprintf("%s %s %s %s %d %d to %d", e.ID[:2], e.Via, e.Kind, e.Key, e.Revision, e.Bytes, len(e.Peers)))
	}
	want := "01 gossip RECORD_KIND_RUN_SUMMARY key1/summary 1 100 to 2\n" +
		"02 sync RECORD_KIND_RUN_SUMMARY key2/summary 2 100 to 1\n" +
		"01 gossip RECORD_KIND_RUN_SUMMARY key1/summary 1 100 to 6"
	if s := strings.Join(said, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	if later := entries(t, a, got[2].Time); len(later) != 1 {
		t.Errorf("since the last one: %d", len(later))
	}
	if w := got[0].Wire(); w.GetKind() != karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY || w.GetUnixMillis() != got[0].Time.UnixMilli() {
		t.Errorf("on the wire: %v", w)
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
}

func TestAuditRotates(t *testing.T) {
	dir, c, peers := t.TempDir(), &clock{time.Unix(1_700_000_000, 0)}, somePeers(t, 1)
	a := openAudit(t, dir, c)
	a.most = 1000
	for n := range 60 {
		leave(t, a, sent(byte(n+1)), "gossip", peers...)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != auditFiles {
		t.Fatalf("files %v (%v)", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 1000 || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v)", f, info, err)
		}
	}
	got, begins, _, err := a.Entries(time.Time{})
	if err != nil || len(got) < 6 || len(got) > 20 || got[len(got)-1].Revision != 60 || !begins.Equal(got[0].Time) {
		t.Fatalf("%d entries from %s (%v)", len(got), begins, err)
	}
	for i := range got[1:] {
		if got[i+1].Revision != got[i].Revision+1 {
			t.Errorf("entry %d follows %d", got[i+1].Revision, got[i].Revision)
		}
	}
}

// TestAuditAfterAPowerCut: a torn line is dropped, and what follows is whole. What others
// wrote into the log is counted and keeps nobody from reading the rest.
func TestAuditAfterAPowerCut(t *testing.T) {
	dir, c, peers := t.TempDir(), &clock{time.Unix(1_700_000_000, 0)}, somePeers(t, 1)
	a := openAudit(t, dir, c)
	leave(t, a, sent(1), "gossip", peers...)
	leave(t, a, sent(2), "gossip", peers...)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		if err := os.WriteFile(path, b[:len(b)-1-n], 0o600); err != nil {
			t.Fatal(err)
		}
		a = openAudit(t, dir, c)
		leave(t, a, sent(3), "gossip", peers...)
		if got := entries(t, a, time.Time{}); len(got) != 2 || got[1].Revision != 3 {
			t.Fatalf("%d bytes less: %+v", n+1, got)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, append([]byte("hello\n"), b...), 0o600); err != nil {
		t.Fatal(err)
	}
	a = openAudit(t, dir, c)
	if got, _, unreadable, err := a.Entries(time.Time{}); len(got) != 2 || unreadable != 1 || err != nil {
		t.Errorf("%d entries, %d unreadable (%v)", len(got), unreadable, err)
	}
}

func FuzzAudit(f *testing.F) {
	f.Add([]byte(`{"time":"2026-12-01T00:00:00Z","id":"01","topic":"/karasu/1/a/b/c","kind":"RECORD_KIND_RUN_SUMMARY","key":"k/summary","revision":1,"bytes":100,"via":"sync","peers":["12D3"]}`))
	f.Add([]byte(`{"time":"2026-12-01T00:00:00Z","id":"01","bytes":-1,"peers":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := parseAudit(line)
		if ok && (e.Wire().GetId() == "" || len(e.Peers) == 0) {
			t.Fatalf("%+v", e)
		}
	})
}
