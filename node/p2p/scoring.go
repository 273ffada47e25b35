package p2p

import (
	"maps"
	"math"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
)

// The gossip layer scores its peers (GossipSub v1.1, section "Peer scoring"). The
// settings are for topics in which minutes or hours pass between two messages, so what
// a peer should have delivered says nothing (P3 and P3b are off), and the main term is
// what it delivered and should not have (P4). The bound on connections from one address
// takes the place of P6, which would punish clusters behind one address translator.
const (
	// invalidWeight makes 20 invalid records cost a peer the gossip (20^2 x -0.1), 40
	// the flood, and 64 all attention, as many as put it on the exchange's greylist.
	// An honest peer sends none.
	invalidWeight     = -0.1
	gossipThreshold   = -40
	publishThreshold  = -160
	graylistThreshold = -400
	// Excluded is what callers give a peer that should be ignored altogether, as
	// [Network.ScoreBy] says: below every threshold whatever else it does well.
	Excluded = -1000
	// deliveryWeight rewards who is the first with a record, at most with 5 points.
	deliveryWeight, deliveryCap = 0.1, 50
	// meshWeight rewards an hour in the mesh with 0.6 points.
	meshWeight, meshCap = 0.01, 60
	// positiveCap bounds what good behaviour in many topics can make up for.
	positiveCap = 10
	// behaviourWeight: six broken promises are chance, 20 more than that cost the gossip.
	behaviourWeight, behaviourThreshold = -0.1, 6
	// opportunisticGraft is the median score of a mesh below which better peers are
	// taken in.
	opportunisticGraft = 0.5
	// Penalties fade over an hour, and outlast a reconnection by as much.
	scoreMemory   = time.Hour
	scoreInterval = 5 * time.Second
	// zeroScore is where a fading counter counts as zero.
	zeroScore = 0.01
)

// TopicScore returns the score parameters of a topic, for
// [pubsub.Topic.SetScoreParams].
func TopicScore() *pubsub.TopicScoreParams {
	fade := pubsub.ScoreParameterDecayWithBase(scoreMemory, scoreInterval, zeroScore)
	return &pubsub.TopicScoreParams{
		TopicWeight:      1,
		TimeInMeshWeight: meshWeight, TimeInMeshQuantum: time.Minute, TimeInMeshCap: meshCap,
		FirstMessageDeliveriesWeight: deliveryWeight, FirstMessageDeliveriesDecay: fade, FirstMessageDeliveriesCap: deliveryCap,
		InvalidMessageDeliveriesWeight: invalidWeight, InvalidMessageDeliveriesDecay: fade,
	}
}

func (s *scores) options() []pubsub.Option {
	params := &pubsub.PeerScoreParams{
		Topics:        map[string]*pubsub.TopicScoreParams{},
		TopicScoreCap: positiveCap,
		AppSpecificScore: func(id peer.ID) float64 {
			s.mu.Lock()
			by := s.by
			s.mu.Unlock()
			if by == nil {
				return 0
			}
			return by(id)
		},
		AppSpecificWeight:      1,
		BehaviourPenaltyWeight: behaviourWeight, BehaviourPenaltyThreshold: behaviourThreshold,
		BehaviourPenaltyDecay: pubsub.ScoreParameterDecayWithBase(scoreMemory, scoreInterval, zeroScore),
		DecayInterval:         scoreInterval, DecayToZero: zeroScore, RetainScore: scoreMemory, SeenMsgTTL: seenTTL,
	}
	thresholds := &pubsub.PeerScoreThresholds{
		GossipThreshold: gossipThreshold, PublishThreshold: publishThreshold, GraylistThreshold: graylistThreshold,
		OpportunisticGraftThreshold: opportunisticGraft,
	}
	return []pubsub.Option{
		pubsub.WithPeerScore(params, thresholds),
		pubsub.WithPeerScoreInspect(s.note, scoreInterval),
	}
}

// scores keep what the gossip layer thinks of its peers. They are safe for concurrent
// use.
type scores struct {
	mu   sync.Mutex
	by   func(peer.ID) float64
	last map[peer.ID]float64
}

// note is called by the gossip layer every [scoreInterval].
func (s *scores) note(all map[peer.ID]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = maps.Clone(all)
}

func (s *scores) of(id peer.ID) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.last[id]
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// ScoreBy adds what the caller knows of a peer to its score, such as 0 or [Excluded].
// The function must be fast and safe for concurrent use.
func (n *Network) ScoreBy(score func(peer.ID) float64) {
	n.scores.mu.Lock()
	defer n.scores.mu.Unlock()
	n.scores.by = score
}
