package p2p

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// log collects what is logged.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// TestUnreachableBootstrap: the operator is told once, and sees why; the connection is
// told, too, once it comes about, and its end.
func TestUnreachableBootstrap(t *testing.T) {
	key := newKey(t)
	gone := start(t, key, nil)
	addr := addrOf(gone, "/tcp/")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	var out log
	cfg := Loopback()
	cfg.RedialInterval, cfg.Bootstrap = 20*time.Millisecond, []string{addr}
	n, err := New(t.Context(), newKey(t), cfg, slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the failure is seen", func() bool { return n.Peers()[0].LastError != "" })
	p := n.Peers()[0]
	if !p.Bootstrap || len(p.Addrs) != 1 || !strings.HasSuffix(p.LastError, ": connection refused") || !strings.HasPrefix(p.LastError, "/ip4/127.0.0.1/tcp/") {
		t.Errorf("peer is %+v", p)
	}
	time.Sleep(200 * time.Millisecond) // some rounds more
	if c := out.count("level=WARN"); c != 1 {
		t.Errorf("warned %d times, want once:\n%s", c, out.b.String())
	}
	port, _, _ := strings.Cut(addr, "/p2p/")
	back := start(t, key, func(c *Config) { c.Listen = []string{port} })
	eventually(t, "the peer is back", func() bool { return n.Peers()[0].Connected })
	eventually(t, "that is told", func() bool { return out.count("peer connected") == 1 })
	if e := n.Peers()[0].LastError; e != "" {
		t.Errorf("a connected peer has the error %q", e)
	}
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end is told", func() bool { return out.count("peer disconnected") == 1 })
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if c := out.count("shutting down"); c != 0 {
		t.Errorf("the gossip layer speaks of its end:\n%s", out.b.String())
	}
}
