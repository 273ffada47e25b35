package exchange

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Errors that callers tell apart.
var (
	// ErrOptions is wrapped by complaints about [Options].
	ErrOptions = errors.New("exchange options")
	// ErrPattern means that a topic pattern cannot be read.
	ErrPattern = errors.New("topic pattern")
	// ErrTooManyTopics means that the node has joined as many topics as it may.
	ErrTooManyTopics = errors.New("too many topics are joined")
	// ErrNotStarted means that the exchange does not run: not yet, or no more.
	ErrNotStarted = errors.New("exchange is not running")
	// ErrOutdated means that the commons hold a newer record, or another one of the
	// same revision, under the same key.
	ErrOutdated = errors.New("record is not the newest under its key")
)

// Defaults of [Options].
const (
	// DefaultSyncInterval is how often a node reconciles with a random peer. Two
	// nodes in sync pay one message of some hundred bytes; with n nodes a record
	// that gossip lost spreads in about log2(n) intervals.
	DefaultSyncInterval = 30 * time.Second
	// DefaultMaxTopics bounds joined topics: each costs a mesh of up to 12 peers
	// and a control message a second.
	DefaultMaxTopics = 256
	// DefaultFrameTimeout is how long a peer may take for one frame of a sync
	// stream, its own disk included. A frame of 256 KiB needs 9 KiB/s.
	DefaultFrameTimeout = 30 * time.Second
	// DefaultAnnounceInterval is the least time between two announcements of a node.
	// Each is a record of some hundred bytes that goes to every node.
	DefaultAnnounceInterval = time.Minute
)

// Store is what the exchange needs of the commons. [commons.DB] is one. It must be
// safe for concurrent use.
type Store interface {
	// Put stores a record that was validated; what it returns as stored is durable.
	Put(ctx context.Context, r *commons.Record, own bool) (commons.Outcome, error)
	// PutAll stores a batch and returns the outcomes of a prefix of it.
	PutAll(ctx context.Context, records []*commons.Record, own bool) ([]commons.Outcome, error)
	// Get returns a record by id; the error wraps [commons.ErrNotFound].
	Get(id commons.ID) (*commons.Record, error)
	// Has says whether a record is held.
	Has(id commons.ID) bool
	// NextRevision is one above the highest revision under a key.
	NextRevision(by commons.Writer, topic model.Topic, key string) uint64
	// Withdrawable says whether something that is not withdrawn is held under a key.
	Withdrawable(by commons.Writer, topic model.Topic, key string) bool
	// Entries lists what is offered to others. A nil match takes every topic.
	Entries(match func(model.Topic) bool) ([]commons.Entry, error)
	// IsOwn says whether a held record was put as this node's.
	IsOwn(id commons.ID) bool
	// Ended says whether a record's organisation has ended its delegation.
	Ended(r *commons.Record) bool
	// Served counts what is held by topic.
	Served() []commons.Served
	// Index arranges the same.
	Index() *commons.Index
	// Authors says how much is held of each author.
	Authors() map[peer.ID]commons.AuthorInfo
	// AuthorTopics lists the topics of each author.
	AuthorTopics() map[peer.ID][]model.Topic
	// Subscribe signals changes. The function ends the subscription.
	Subscribe() (<-chan struct{}, func())
}

// Options are what an exchange is made of. Host, PubSub and Store are needed, all
// else has defaults.
type Options struct {
	// Host and PubSub are the network's. The exchange closes neither.
	Host   host.Host
	PubSub *pubsub.PubSub
	Store  Store
	// Patterns select the topics whose records are wanted. Empty is [EveryTopic].
	Patterns []string
	// MaxTopics overrides [DefaultMaxTopics].
	MaxTopics int
	// SyncInterval overrides [DefaultSyncInterval].
	SyncInterval time.Duration
	// FrameTimeout overrides [DefaultFrameTimeout].
	FrameTimeout time.Duration
	// Self is in whose name the node signs; the zero value is the host's own.
	Self commons.Writer
	// Admit says why a record of others is not taken although it is sound: its author is
	// not in the circle. It must be safe for concurrent use. Nil takes everybody's.
	Admit func(*commons.Record) error
	// Quotas bound what is taken from one author.
	Quotas Quotas
	// Seal signs a record in this node's name; it sets what is missing: the revision
	// and the organisation's name. Nil announces no topics.
	Seal func(draft *karasuv1.Record) (*commons.Record, error)
	// AnnounceInterval overrides [DefaultAnnounceInterval].
	AnnounceInterval time.Duration
	// TopicScore, if set, is how the gossip layer scores peers in each topic.
	TopicScore *pubsub.TopicScoreParams
	// Reconciler overrides [NewRanges].
	Reconciler Reconciler
	// Tap, if set, sees all that the exchange sends: the topic and the envelope of
	// a published record, the protocol and the bytes of a sync frame. It must be
	// safe for concurrent use and must not keep data.
	Tap func(channel string, data []byte)
	// Leaving, if set, is told of a record of this node before it is sent to peers, by
	// "gossip" or in a "sync". An error keeps it from being sent. It must be safe for
	// concurrent use.
	Leaving func(r *commons.Record, via string, peers []peer.ID) error
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger may be nil.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, []Pattern, error) {
	if o.Host == nil || o.PubSub == nil || o.Store == nil {
		return o, nil, fmt.Errorf("%w: host, pubsub and store are needed", ErrOptions)
	}
	patterns, err := ParsePatterns(o.Patterns)
	if err != nil {
		return o, nil, err
	}
	if o.Self.Organisation == "" {
		o.Self.Organisation = o.Host.ID()
	}
	if o.MaxTopics == 0 {
		o.MaxTopics = DefaultMaxTopics
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = DefaultSyncInterval
	}
	if o.FrameTimeout == 0 {
		o.FrameTimeout = DefaultFrameTimeout
	}
	if o.AnnounceInterval == 0 {
		o.AnnounceInterval = DefaultAnnounceInterval
	}
	if o.AnnounceInterval < 0 || o.MaxTopics < 0 || o.SyncInterval < 0 || o.FrameTimeout < 0 {
		return o, nil, fmt.Errorf("%w: limits and intervals must be positive", ErrOptions)
	}
	if o.Quotas, err = o.Quotas.withDefaults(); err != nil {
		return o, nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tap == nil {
		o.Tap = func(string, []byte) {}
	}
	if o.Leaving == nil {
		o.Leaving = func(*commons.Record, string, []peer.ID) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("component", "exchange")
	if o.Reconciler == nil {
		o.Reconciler = NewRanges(o.FrameTimeout)
	}
	return o, patterns, nil
}
