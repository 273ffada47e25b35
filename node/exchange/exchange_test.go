package exchange

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

func TestGossipReachesEverybody(t *testing.T) {
	a, b, c := startNode(t, nil), startNode(t, nil), startNode(t, nil)
	a.connect(b)
	b.connect(c) // A and C know each other only through B.
	var all []*commons.Record
	for i, n := range []*node{a, b, c} {
		all = append(all, n.publish(pagerank, i))
	}
	for _, n := range []*node{a, b, c} {
		eventually(t, "first records everywhere", func() bool { return n.holds(all...) })
	}
	// All have joined by now, so that these go by gossip.
	eventually(t, "meshes", func() bool {
		return len(a.ex.TopicPeers(pagerank)) == 1 && len(b.ex.TopicPeers(pagerank)) == 2 && len(c.ex.TopicPeers(pagerank)) == 1
	})
	before := c.ex.Stats().Syncs
	late := a.publish(pagerank, 100)
	eventually(t, "a gossiped record at C", func() bool { return c.holds(late) })
	if got := c.ex.Stats().Syncs; got != before {
		t.Logf("%d syncs ran meanwhile", got-before)
	}
	if s := a.ex.Stats(); s.RecordsOut == 0 || s.RecordsIn != 2 || s.Topics != 1 {
		t.Errorf("stats of A: %+v", s)
	}
}

func TestLateJoinerGetsHistoryFromNonAuthor(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	var all []*commons.Record
	for i := range 40 {
		all = append(all, a.publish(pagerank, i), a.publish(kmeans, i))
	}
	eventually(t, "B holds A's records", func() bool { return b.holds(all...) })
	a.stop()

	c := startNode(t, nil)
	c.connect(b)
	eventually(t, "C holds A's records", func() bool { return c.holds(all...) })
	eventually(t, "C has joined both topics", func() bool { return len(c.ex.Topics()) == 2 })
	if all[0].Author == b.net.ID() {
		t.Fatal("B is not meant to be the author")
	}
}

func TestSyncServesBothDirections(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	ra, rb := a.publish(pagerank, 1), b.publish(kmeans, 2)
	a.connect(b)
	connected(t, a, b)
	syncNow(t, a)
	// The session that greets may be fetching the same at the time.
	eventually(t, "both hold both", func() bool { return a.holds(rb) && b.holds(ra) })
	if s := b.ex.Stats(); s.SyncBytesIn == 0 || s.SyncBytesOut == 0 {
		t.Errorf("stats: %+v", s)
	}
}

func TestPatternsSelectWhatIsStored(t *testing.T) {
	a := startNode(t, nil)
	b := startNode(t, func(o *Options) { o.Patterns = []string{"aws-ec2/spark/*"} })
	wanted, unwanted := a.publish(pagerank, 1), a.publish(wordsort, 2)
	a.connect(b)
	connected(t, a, b)
	syncNow(t, b)
	if !b.holds(wanted) || b.holds(unwanted) {
		t.Fatalf("B holds wanted: %v, unwanted: %v", b.holds(wanted), b.holds(unwanted))
	}
	// Joining by name makes it wanted.
	if err := b.ex.Join(wordsort); err != nil {
		t.Fatal(err)
	}
	syncNow(t, b)
	eventually(t, "the topic that was joined by name", func() bool { return b.holds(unwanted) })
}

func TestJoinIsLimited(t *testing.T) {
	n := startNode(t, func(o *Options) { o.MaxTopics = 2 })
	for i, topic := range []struct{ alg string }{{"a"}, {"b"}, {"c"}} {
		tp := pagerank
		tp.Algorithm = topic.alg
		err := n.ex.Join(tp)
		if over := i == 2; errors.Is(err, ErrTooManyTopics) != over {
			t.Errorf("topic %d: %v", i, err)
		}
	}
	// Publishing goes on by reconciliation.
	r := n.publish(pagerank, 1)
	other := startNode(t, nil)
	other.connect(n)
	eventually(t, "record of a topic that is not joined", func() bool { return other.holds(r) })
}

func TestRestartKeepsAndServes(t *testing.T) {
	a := startNode(t, nil)
	r := a.publish(pagerank, 1)
	a.stop()
	a.start()
	if !a.holds(r) || len(a.ex.Topics()) != 1 {
		t.Fatalf("after restart: holds %v, topics %v", a.holds(r), a.ex.Topics())
	}
	b := startNode(t, nil)
	b.connect(a)
	eventually(t, "record of before the restart", func() bool { return b.holds(r) })
}

func TestPublishRefusesWhatOthersWould(t *testing.T) {
	n := startNode(t, func(o *Options) { o.Quotas.RecordsPerAuthor = 3 })
	r2 := seal(t, n.key, pagerank, 1, func(r *karasuv1.Record) { r.Revision = 2 })
	if err := n.ex.Publish(t.Context(), r2); err != nil {
		t.Fatal(err)
	}
	if err := n.ex.Publish(t.Context(), r2); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := n.ex.Publish(t.Context(), seal(t, n.key, pagerank, 1, nil)); !errors.Is(err, ErrOutdated) {
		t.Errorf("older revision: %v", err)
	}
	old := seal(t, n.key, pagerank, 3, func(r *karasuv1.Record) { r.Created, r.NotAfter = 1000, 2000 })
	var refusal *RefusalError
	if err := n.ex.Publish(t.Context(), old); !errors.As(err, &refusal) || refusal.Reason != Expired {
		t.Errorf("expired: %v", err)
	}
	n.publish(pagerank, 4)
	n.publish(pagerank, 5)
	if err := n.ex.Publish(t.Context(), seal(t, n.key, pagerank, 6, nil)); !errors.As(err, &refusal) || refusal.Reason != QuotaCount {
		t.Errorf("over quota: %v", err)
	}
}

// TestPublishAllReportsEach: a refused record keeps no other from being published.
func TestPublishAllReportsEach(t *testing.T) {
	n := startNode(t, nil)
	old := seal(t, n.key, pagerank, 1, func(r *karasuv1.Record) { r.Created, r.NotAfter = 1000, 2000 })
	good := seal(t, n.key, pagerank, 2, nil)
	bad := seal(t, n.key, pagerank, 3, func(r *karasuv1.Record) { r.Body = []byte("x") })
	err := n.ex.PublishAll(t.Context(), []*commons.Record{old, nil, bad, good})
	if !n.holds(good) {
		t.Errorf("the good record is not stored: %v", err)
	}
	for _, key := range []string{old.Key, bad.Key, "no record"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("error %q does not name %s", err, key)
		}
	}
}

// TestRetractionReachesLateJoiners: what was withdrawn is not used by a node that
// only ever met a third one.
func TestRetractionReachesLateJoiners(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	r := a.publish(pagerank, 1)
	eventually(t, "record at B", func() bool { return b.holds(r) })
	gone := seal(t, a.key, pagerank, 1, func(r *karasuv1.Record) {
		r.Kind, r.Body, r.Revision = karasuv1.RecordKind_RECORD_KIND_RETRACTION, nil, 2
	})
	if err := a.ex.Publish(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	eventually(t, "retraction at B", func() bool { return b.holds(gone) })
	a.stop()
	c := startNode(t, nil)
	// C has the record from long ago.
	if _, err := c.db.Put(t.Context(), r, false); err != nil {
		t.Fatal(err)
	}
	c.connect(b)
	eventually(t, "retraction at C", func() bool { return c.holds(gone) })
	if used, err := c.db.ByTopic(pagerank); err != nil || len(used) != 0 {
		t.Errorf("%d records are used, %v", len(used), err)
	}
}

// TestHealedPartition: what both sides wrote meanwhile is everywhere at the end.
func TestHealedPartition(t *testing.T) {
	nodes := []*node{startNode(t, nil), startNode(t, nil), startNode(t, nil), startNode(t, nil)}
	nodes[0].connect(nodes[1])
	nodes[2].connect(nodes[3])
	var all []*commons.Record
	for i := range 20 {
		for _, n := range nodes {
			all = append(all, n.publish(pagerank, i))
		}
	}
	nodes[1].connect(nodes[2])
	for i, n := range nodes {
		eventually(t, fmt.Sprintf("node %d holds all", i), func() bool { return n.holds(all...) })
	}
}

// TestTapSeesAllThatIsSent is what a privacy test builds on.
func TestTapSeesAllThatIsSent(t *testing.T) {
	var (
		mu   sync.Mutex
		sent = make(map[string]*strings.Builder)
	)
	a := startNode(t, func(o *Options) {
		o.Tap = func(channel string, data []byte) {
			mu.Lock()
			defer mu.Unlock()
			if sent[channel] == nil {
				sent[channel] = new(strings.Builder)
			}
			sent[channel].Write(data)
		}
	})
	b := startNode(t, nil)
	r := a.publish(pagerank, 1)
	b.connect(a)
	eventually(t, "record at B", func() bool { return b.holds(r) })
	mu.Lock()
	defer mu.Unlock()
	for _, channel := range []string{pagerank.String(), string(RangeProtocol)} {
		if sent[channel] == nil || !strings.Contains(sent[channel].String(), string(r.Envelope)) {
			t.Errorf("the tap did not see the record on %s", channel)
		}
	}
	if got := uint64(sent[string(RangeProtocol)].Len()); got != a.ex.Stats().SyncBytesOut {
		t.Errorf("tap saw %d sync bytes, counted %d", got, a.ex.Stats().SyncBytesOut)
	}
}

func TestPeriodicSyncFindsWhatGossipLost(t *testing.T) {
	fast := func(o *Options) { o.SyncInterval = 50 * time.Millisecond }
	a, b := startNode(t, fast), startNode(t, fast)
	a.connect(b)
	connected(t, a, b)
	// Stored behind the exchange's back, so that nobody is told.
	r := seal(t, a.key, pagerank, 1, nil)
	if _, err := a.db.Put(t.Context(), r, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "record that was never gossiped", func() bool { return b.holds(r) })
}

func TestClosedExchange(t *testing.T) {
	n := startNode(t, nil)
	r := seal(t, n.key, pagerank, 1, nil)
	if err := n.ex.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"publish": n.ex.Publish(t.Context(), r),
		"join":    n.ex.Join(pagerank),
		"sync":    n.ex.SyncNow(t.Context()),
		"start":   n.ex.Start(t.Context()),
	} {
		if !errors.Is(err, ErrNotStarted) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	n := startNode(t, nil)
	good := Options{Host: n.net.Host(), PubSub: n.net.PubSub(), Store: n.db}
	for name, change := range map[string]func(*Options){
		"no host":        func(o *Options) { o.Host = nil },
		"no gossip":      func(o *Options) { o.PubSub = nil },
		"no store":       func(o *Options) { o.Store = nil },
		"negative quota": func(o *Options) { o.Quotas.TotalBytes = -1 },
		"negative time":  func(o *Options) { o.SyncInterval = -1 },
		"bad pattern":    func(o *Options) { o.Patterns = []string{"spark"} },
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			change(&o)
			if _, err := New(o); !errors.Is(err, ErrOptions) && !errors.Is(err, ErrPattern) {
				t.Error(err)
			}
		})
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestManyNodesConverge(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of work")
	}
	const nodes, records = 6, 50
	all := make([]*node, nodes)
	for i := range all {
		all[i] = startNode(t, nil)
		if i > 0 {
			all[i].connect(all[i-1])
		}
	}
	var mu sync.Mutex
	var published []*commons.Record
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() {
			topic := pagerank
			topic.Algorithm = fmt.Sprintf("alg%d", i%3)
			for k := range records {
				r := seal(t, n.key, topic, k, nil)
				if err := n.ex.Publish(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				published = append(published, r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i, n := range all {
		eventually(t, fmt.Sprintf("node %d holds all", i), func() bool { return n.holds(published...) })
	}
}
