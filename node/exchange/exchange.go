package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// eventBuffer is how many connection events may wait.
const eventBuffer = 256

// Exchange spreads and collects records. Create it with [New], then Start it, and
// Close it before the network and the commons. All methods are safe for
// concurrent use.
type Exchange struct {
	opts      Options
	patterns  []Pattern
	self      peer.ID
	validator *Validator
	counters  *counters
	greylist  *greylist
	fetches   *fetches
	snapshots *snapshots
	unwatch   func()
	// received are validated records on their way from gossip to the disk.
	received chan *commons.Record
	// outbound holds a token for each session that this node leads, full for each of
	// those that are about everything, refusing for each stream that is being told no.
	outbound, full, refusing chan struct{}

	// ctx ends when the exchange closes, and work counts all goroutines.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	started bool
	closed  bool
	topics  map[model.Topic]*joined
	heard   map[commons.ID]*heard
	peers   map[peer.ID]*peerState
	inbound int
	events  event.Subscription
}

// New validates the options. Nothing happens before Start. The error wraps
// [ErrOptions] or [ErrPattern].
func New(opts Options) (*Exchange, error) {
	opts, patterns, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	validator, err := NewValidator(opts.Store, opts.Self, opts.Admit, opts.Quotas, opts.Now)
	if err != nil {
		return nil, err
	}
	if control := Pattern(commons.ControlTopic()); !matchAny(patterns, commons.ControlTopic()) {
		patterns = append(patterns, control)
	}
	e := &Exchange{
		opts:      opts,
		patterns:  patterns,
		self:      opts.Host.ID(),
		validator: validator,
		counters:  newCounters(),
		greylist:  newGreylist(),
		fetches:   newFetches(),
		received:  make(chan *commons.Record, storeBatch),
		outbound:  make(chan struct{}, maxOutbound),
		full:      make(chan struct{}, maxFull),
		refusing:  make(chan struct{}, maxRefusing),
		topics:    make(map[model.Topic]*joined),
		peers:     make(map[peer.ID]*peerState),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Start joins the topics of the records that are held and begins to exchange.
func (e *Exchange) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.start(); err != nil {
		return err
	}
	e.validator.prepare()
	held := e.opts.Store.Index().Topics(0)
	topics := make([]model.Topic, 0, len(held))
	for _, p := range held {
		topics = append(topics, p.Range.Topic)
	}
	if _, err := e.join(commons.ControlTopic(), published); err != nil {
		return errors.Join(err, e.Close())
	}
	e.joinLearned(topics)
	e.work.Go(e.announceLoop)
	for _, id := range e.speakers() {
		e.greet(id)
	}
	return nil
}

func (e *Exchange) start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started || e.closed {
		return fmt.Errorf("%w: start once, and not after close", ErrNotStarted)
	}
	sub, err := e.opts.Host.EventBus().Subscribe([]any{
		new(event.EvtPeerIdentificationCompleted),
		new(event.EvtPeerProtocolsUpdated),
		new(event.EvtPeerConnectednessChanged),
	}, eventbus.Name("karasu/exchange"), eventbus.BufSize(eventBuffer))
	if err != nil {
		return fmt.Errorf("exchange: watching connections: %w", err)
	}
	var changed <-chan struct{}
	changed, e.unwatch = e.opts.Store.Subscribe()
	e.snapshots = &snapshots{store: e.opts.Store, changed: changed}
	e.events = sub
	e.started = true
	e.work.Go(func() { e.eventLoop(sub) })
	e.work.Go(e.writeLoop)
	e.work.Go(e.periodicLoop)
	e.opts.Host.SetStreamHandler(e.opts.Reconciler.Protocol(), e.handleStream)
	return nil
}

// Close stops the exchange and waits for all that it began. What was received
// and not stored yet is dropped; it comes again. Closing twice is fine.
func (e *Exchange) Close() error {
	e.mu.Lock()
	began := e.started && !e.closed
	e.closed = true
	e.cancel()
	events, unwatch := e.events, e.unwatch
	topics := e.topics
	e.topics = make(map[model.Topic]*joined)
	e.mu.Unlock()
	if !began {
		return nil
	}
	e.opts.Host.RemoveStreamHandler(e.opts.Reconciler.Protocol())
	errs := []error{events.Close()}
	e.work.Wait()
	for t, j := range topics {
		errs = append(errs, e.leave(t, j))
	}
	unwatch()
	return errors.Join(errs...)
}

// running says whether the exchange can be used.
func (e *Exchange) running() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started || e.closed {
		return ErrNotStarted
	}
	return nil
}

// Publish stores an own record and gossips it. It returns once the record is on
// disk, and so will reach every node that wants it, now or by reconciliation. A
// record that is held already is gossiped again. Errors wrap [ErrOutdated] where
// the record is not the newest under its key, and hold a [*RefusalError] where other
// nodes would refuse it.
func (e *Exchange) Publish(ctx context.Context, r *commons.Record) error {
	return e.PublishAll(ctx, []*commons.Record{r})
}

// PublishAll is [Exchange.Publish] for many records, with few waits for the disk. A
// record that is refused or outdated keeps no other from being published; the error
// names each.
func (e *Exchange) PublishAll(ctx context.Context, records []*commons.Record) error {
	if err := e.running(); err != nil {
		return err
	}
	var errs []error
	accepted := make([]*commons.Record, 0, len(records))
	for _, r := range records {
		if r == nil {
			errs = append(errs, fmt.Errorf("%w: no record", ErrOptions))
			continue
		}
		refusal := e.validator.judge(r, r.Topic, Sync)
		if refusal != nil && refusal.Reason != Duplicate && refusal.Reason != Stale {
			errs = append(errs, fmt.Errorf("publish %s: %w", r.Key, refusal))
			continue
		}
		if refusal == nil {
			e.validator.Stored(r) // now, so that the rest of the batch is judged by it
		}
		accepted = append(accepted, r)
	}
	outcomes, err := e.opts.Store.PutAll(ctx, accepted, true)
	if err != nil {
		errs = append(errs, fmt.Errorf("publish: %w", err))
	}
	fresh := make(map[model.Topic]struct{})
	for i, r := range accepted[:min(len(accepted), len(outcomes))] {
		stored, err := e.announce(ctx, r, outcomes[i])
		errs = append(errs, err)
		if stored {
			fresh[r.Topic] = struct{}{}
		}
	}
	for t := range fresh {
		e.nudge(t, e.recent())
	}
	return errors.Join(errs...)
}

// announce gossips an own record that was put, and says whether it is now held.
func (e *Exchange) announce(ctx context.Context, r *commons.Record, o commons.Outcome) (held bool, err error) {
	if o == commons.Stale || o == commons.Equivocation {
		return false, fmt.Errorf("publish %s: %w", r.Key, ErrOutdated)
	}
	_, err = e.join(r.Topic, published)
	if errors.Is(err, ErrTooManyTopics) {
		err = nil
	}
	if err == nil {
		err = e.gossip(ctx, r)
	}
	if err != nil {
		err = fmt.Errorf("publish %s: stored, but not gossiped: %w", r.Key, err)
	}
	return true, err
}

func (e *Exchange) gossip(ctx context.Context, r *commons.Record) error {
	e.mu.Lock()
	j := e.topics[r.Topic]
	e.mu.Unlock()
	if j == nil {
		return nil // Too many topics are joined; reconciliation has to do.
	}
	if peers := e.TopicPeers(r.Topic); len(peers) > 0 {
		if err := e.opts.Leaving(r, "gossip", peers); err != nil {
			return err
		}
	}
	e.opts.Tap(r.Topic.String(), r.Envelope)
	if err := j.topic.Publish(ctx, r.Envelope); err != nil {
		return err
	}
	e.counters.add(func(s *Stats) { s.RecordsOut++ })
	return nil
}

// Stats returns what happened so far.
func (e *Exchange) Stats() Stats {
	s := e.counters.stats()
	s.Topics = len(e.Topics())
	return s
}

func compareTopics(a, b model.Topic) int { return cmp.Compare(a.String(), b.String()) }
