package exchange

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/store/commons"
)

// TestNothingLeavesUnnoted: a record of the node's own that cannot be noted goes neither
// by gossip nor in a sync. It goes once it can be.
func TestNothingLeavesUnnoted(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	noDisk := errors.New("no disk")
	a := startNode(t, func(o *Options) {
		o.Leaving = func(_ *commons.Record, via string, peers []peer.ID) error {
			if len(peers) == 0 || via != "gossip" && via != "sync" {
				t.Errorf("leaves by %q to %v", via, peers)
			}
			if full.Load() {
				return noDisk
			}
			return nil
		}
	})
	b := startNode(t, nil)
	first := b.publish(pagerank, 0) // so that both have joined the topic
	b.connect(a)
	eventually(t, "both are in the topic", func() bool { return a.holds(first) && len(a.ex.TopicPeers(pagerank)) == 1 })

	r := seal(t, a.key, pagerank, 1, nil)
	if err := a.ex.Publish(t.Context(), r); !errors.Is(err, noDisk) || !strings.Contains(err.Error(), "stored, but not gossiped") {
		t.Errorf("published with %v", err)
	}
	_ = a.ex.SyncNow(t.Context()) // fails, unless another session is at it
	if b.holds(r) {
		t.Error("a record has left that could not be noted")
	}
	full.Store(false)
	eventually(t, "the record arrives", func() bool {
		_ = a.ex.SyncNow(t.Context())
		return b.holds(r)
	})
}
