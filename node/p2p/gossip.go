package p2p

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p-pubsub/timecache"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Settings of the gossip layer. Meshes are small and messages are rare and
// precious, so history is long and publishing floods.
const (
	meshDegree     = 6
	meshDegreeLow  = 5
	meshDegreeHigh = 12
	// Messages stay available for 30 heartbeats (30 s) and are advertised for 12,
	// so that a peer that was away for a few seconds still hears of them.
	historyLength = 30
	historyGossip = 12
	// A message is known by its content, and so may come back by another way much
	// later. Ten minutes is how far a record's clock may be off.
	seenTTL = 10 * time.Minute
	// Queues: messages to one peer, messages to be validated, validations at once.
	outboundQueue    = 256
	validateQueue    = 128
	validateThrottle = 1024
	// MaxMessage bounds a gossiped record, in bytes.
	MaxMessage = 256 << 10
	// An RPC wraps a message into author, sequence number, signature and topic.
	rpcOverhead = 4 << 10
	// MaxPeerTopics bounds how many topics of one peer are tracked. An honest node
	// joins at most half as many.
	MaxPeerTopics = 512
	// maxTopicLength bounds a topic's name, in bytes.
	maxTopicLength = 255
	topicPrefix    = "/karasu/"
)

// newGossip builds the gossip layer. It ends when ctx does.
func newGossip(ctx context.Context, h host.Host, filter *subscriptionFilter, scores *scores, m *mesh, logger *slog.Logger) (*pubsub.PubSub, error) {
	params := pubsub.DefaultGossipSubParams()
	params.D, params.Dlo, params.Dhi = meshDegree, meshDegreeLow, meshDegreeHigh
	params.HistoryLength, params.HistoryGossip = historyLength, historyGossip

	opts := []pubsub.Option{
		pubsub.WithGossipSubParams(params),
		pubsub.WithFloodPublish(true),
		pubsub.WithSeenMessagesTTL(seenTTL),
		pubsub.WithSeenMessagesStrategy(timecache.Strategy_FirstSeen),
		pubsub.WithPeerOutboundQueueSize(outboundQueue),
		pubsub.WithValidateQueueSize(validateQueue),
		pubsub.WithValidateThrottle(validateThrottle),
		pubsub.WithMaxMessageSize(MaxMessage + rpcOverhead),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithMessageIdFn(messageID),
		pubsub.WithSubscriptionFilter(filter),
		pubsub.WithRawTracer(m),
		pubsub.WithLogger(slog.New(demoted{logger.Handler()})),
		pubsub.WithRPCLogger(slog.New(slog.DiscardHandler)),
	}
	ps, err := pubsub.NewGossipSub(ctx, h, append(opts, scores.options()...)...)
	if err != nil {
		return nil, fmt.Errorf("gossip layer: %w", err)
	}
	return ps, nil
}

// demoted logs what a library finds worth knowing as worth debugging.
type demoted struct{ slog.Handler }

func (d demoted) Enabled(ctx context.Context, l slog.Level) bool {
	return d.Handler.Enabled(ctx, demote(l))
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level = demote(r.Level)
	return d.Handler.Handle(ctx, r)
}

func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}
func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }

func demote(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

// messageID is SHA-256 over topic and data: one record is one message, whoever
// sends it again. The topic's length keeps (topic, data) pairs apart.
func messageID(m *pb.Message) string {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(m.GetTopic())))
	h.Write(n[:])
	h.Write([]byte(m.GetTopic()))
	h.Write(m.GetData())
	return string(h.Sum(nil))
}

// subscriptionFilter bounds the topics that a peer makes us track. The gossip
// layer itself would keep every name that a peer ever announced.
type subscriptionFilter struct {
	mu     sync.Mutex
	topics map[peer.ID]map[string]struct{}
}

var _ pubsub.SubscriptionFilter = (*subscriptionFilter)(nil)

func newSubscriptionFilter() *subscriptionFilter {
	return &subscriptionFilter{topics: make(map[peer.ID]map[string]struct{})}
}

// CanSubscribe accepts topics of this network.
func (f *subscriptionFilter) CanSubscribe(topic string) bool {
	return len(topic) <= maxTopicLength && strings.HasPrefix(topic, topicPrefix)
}

// FilterIncomingSubscriptions keeps at most [MaxPeerTopics] topics of one peer.
func (f *subscriptionFilter) FilterIncomingSubscriptions(from peer.ID, subs []*pb.RPC_SubOpts) ([]*pb.RPC_SubOpts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.topics[from]
	kept := make([]*pb.RPC_SubOpts, 0, min(len(subs), MaxPeerTopics))
	for _, s := range subs {
		topic := s.GetTopicid()
		if !f.CanSubscribe(topic) {
			continue
		}
		_, known := held[topic]
		switch {
		case !s.GetSubscribe() && known:
			delete(held, topic)
			kept = append(kept, s)
		case s.GetSubscribe() && (known || len(held) < MaxPeerTopics):
			if held == nil {
				held = make(map[string]struct{})
				f.topics[from] = held
			}
			held[topic] = struct{}{}
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// forget drops a peer that has left.
func (f *subscriptionFilter) forget(id peer.ID) {
	f.mu.Lock()
	delete(f.topics, id)
	f.mu.Unlock()
}
