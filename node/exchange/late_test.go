package exchange

import (
	"fmt"
	"testing"
	"time"

	"github.com/karasu-project/karasu/store/commons"
)

// TestLateJoinerOfThousands catches up with a large history in a few sessions.
func TestLateJoinerOfThousands(t *testing.T) {
	const records = 2000
	author := newKey(t)
	a := startNode(t, nil)
	var all []*commons.Record
	for i := range records {
		topic := pagerank
		topic.Algorithm = fmt.Sprintf("alg%d", i%10)
		all = append(all, seal(t, author, topic, i, nil))
	}
	if _, err := a.db.PutAll(t.Context(), all, false); err != nil {
		t.Fatal(err)
	}
	quota := func(o *Options) { o.Quotas.RecordsPerAuthor = records }
	b := startNode(t, quota)
	started := time.Now()
	b.connect(a)
	eventually(t, "late joiner holds all", func() bool { return b.holds(all...) })
	took := time.Since(started).Round(time.Millisecond)
	eventually(t, "each is stored once", func() bool { return b.ex.Stats().RecordsIn == records })
	s := b.ex.Stats()
	t.Logf("%d records in %v, %d bytes in, %d bytes out, %d sessions", records, took, s.SyncBytesIn, s.SyncBytesOut, s.Syncs)
}
