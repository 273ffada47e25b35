package p2p

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
)

// TestInvalidRecordsAreTheMainTerm: the parameters do what their comments say.
func TestInvalidRecordsAreTheMainTerm(t *testing.T) {
	p := TopicScore()
	cost := func(invalid float64) float64 {
		return p.TopicWeight * p.InvalidMessageDeliveriesWeight * invalid * invalid
	}
	for _, c := range []struct {
		invalid, above, below float64
	}{
		{3, gossipThreshold, 0},                         // a bug or two
		{21, publishThreshold, gossipThreshold},         // no gossip
		{41, graylistThreshold, publishThreshold},       // no flood
		{64, 10 * graylistThreshold, graylistThreshold}, // nothing
	} {
		if got := cost(c.invalid); got <= c.above || got >= c.below {
			t.Errorf("%g invalid records cost %g, want between %g and %g", c.invalid, got, c.above, c.below)
		}
	}
	if best := p.TimeInMeshWeight*p.TimeInMeshCap + p.FirstMessageDeliveriesWeight*p.FirstMessageDeliveriesCap; best <= 0 || best+cost(12) > 0 {
		t.Errorf("the best behaviour earns %g, which makes up for 12 invalid records", best)
	}
	if positiveCap+Excluded > graylistThreshold {
		t.Error("good behaviour makes up for being excluded")
	}
}

// TestScoresAreSeen: what the gossip layer and the caller think of a peer is listed.
func TestScoresAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the gossip layer's interval")
	}
	a, b := start(t, newKey(t), nil), start(t, newKey(t), nil)
	a.ScoreBy(func(id peer.ID) float64 {
		if id == b.ID() {
			return Excluded
		}
		return 0
	})
	if err := a.Connect(t.Context(), b.Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the score is listed", func() bool {
		p := a.Peers()
		return len(p) == 1 && p[0].Scored && p[0].Score == Excluded
	})
}
