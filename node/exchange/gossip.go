package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// subscriptionBuffer is how many messages of a topic may wait for the disk. What
	// does not fit is dropped, and comes by reconciliation.
	subscriptionBuffer = 256
	// storeBatch is how many received records are written at once.
	storeBatch = 256
	// topicValidations bounds concurrent validations of a topic.
	topicValidations = 64
)

// joined is a topic that the node takes part in.
type joined struct {
	topic *pubsub.Topic
	sub   *pubsub.Subscription
	peers *pubsub.TopicEventHandler
	why   interest
}

// interest is why a topic was joined; the strongest reason counts.
type interest int

const (
	// announced: others say that they serve it, and a pattern selects it.
	announced interest = iota
	// learned: records of it came, and a pattern selects it.
	learned
	// published: own records are in it.
	published
	// byName: the node's user asked for it, whatever the patterns say.
	byName
)

// room is how many topics a node joins for a reason. What others can bring about does
// not take the place of what the user wants.
func (e *Exchange) room(why interest) bool {
	asked, brought, followed := 0, 0, 0
	for t, j := range e.topics {
		switch {
		case t == commons.ControlTopic():
		case j.why >= published:
			asked++
		default:
			brought++
			if j.why == announced {
				followed++
			}
		}
	}
	switch {
	case why >= published:
		return asked < e.opts.MaxTopics
	case why == announced && followed >= e.opts.MaxTopics/2:
		return false
	}
	return brought < e.opts.MaxTopics
}

// Join takes part in a topic, whatever the patterns say: its records are wanted
// from now on. Joining twice is fine. The error wraps [ErrTooManyTopics].
func (e *Exchange) Join(topic model.Topic) error {
	if err := topic.Validate(); err != nil {
		return err
	}
	fresh, err := e.join(topic, byName)
	if err == nil && fresh {
		e.nudge(topic, 0)
	}
	return err
}

// join says whether the topic was not joined before.
func (e *Exchange) join(topic model.Topic, why interest) (fresh bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || !e.started {
		return false, ErrNotStarted
	}
	if j := e.topics[topic]; j != nil {
		fresh = why == byName && j.why != byName && !matchAny(e.patterns, topic)
		j.why = max(j.why, why)
		return fresh, nil
	}
	if topic != commons.ControlTopic() && !e.room(why) {
		e.counters.refused(TopicLimit)
		return false, fmt.Errorf("%w: %d", ErrTooManyTopics, len(e.topics))
	}
	name := topic.String()
	validate := func(_ context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		return e.validate(topic, from, m)
	}
	if err := e.opts.PubSub.RegisterTopicValidator(name, validate, pubsub.WithValidatorConcurrency(topicValidations)); err != nil {
		return false, fmt.Errorf("join %s: %w", name, err)
	}
	j := &joined{why: why}
	if j.topic, err = e.opts.PubSub.Join(name); err != nil {
		return false, errors.Join(fmt.Errorf("join %s: %w", name, err), e.opts.PubSub.UnregisterTopicValidator(name))
	}
	if e.opts.TopicScore != nil {
		if err := j.topic.SetScoreParams(e.opts.TopicScore); err != nil {
			return false, errors.Join(fmt.Errorf("join %s: %w", name, err), closeTopic(j.topic), e.opts.PubSub.UnregisterTopicValidator(name))
		}
	}
	if j.sub, err = j.topic.Subscribe(pubsub.WithBufferSize(subscriptionBuffer)); err != nil {
		return false, errors.Join(fmt.Errorf("join %s: %w", name, err), closeTopic(j.topic), e.opts.PubSub.UnregisterTopicValidator(name))
	}
	if j.peers, err = j.topic.EventHandler(); err != nil {
		j.sub.Cancel()
		return false, errors.Join(fmt.Errorf("join %s: %w", name, err), closeTopic(j.topic), e.opts.PubSub.UnregisterTopicValidator(name))
	}
	e.topics[topic] = j
	e.work.Go(func() { e.receive(j.sub) })
	e.work.Go(func() { e.welcome(j.peers) })
	return true, nil
}

// leave undoes join.
func (e *Exchange) leave(topic model.Topic, j *joined) error {
	j.sub.Cancel()
	j.peers.Cancel()
	err := errors.Join(closeTopic(j.topic), e.opts.PubSub.UnregisterTopicValidator(topic.String()))
	if errors.Is(err, context.Canceled) {
		return nil // The gossip layer was closed before.
	}
	return err
}

// closeTopic closes a topic whose subscription was cancelled just before: the
// gossip layer takes a moment to notice, and refuses until then.
func closeTopic(t *pubsub.Topic) error {
	err := t.Close()
	for i := 0; i < 100 && err != nil && !errors.Is(err, context.Canceled); i++ {
		time.Sleep(time.Millisecond)
		err = t.Close()
	}
	return err
}

// welcome reconciles with peers that join a topic: what was gossiped before they
// did has passed them by.
func (e *Exchange) welcome(events *pubsub.TopicEventHandler) {
	for {
		ev, err := events.NextPeerEvent(e.ctx)
		if err != nil {
			return
		}
		if ev.Type == pubsub.PeerJoin {
			e.scheduleSoon(ev.Peer, e.recent())
		}
	}
}

// validate judges a gossiped message. An accepted record travels to receive as
// the message's validator data.
func (e *Exchange) validate(topic model.Topic, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	if from == e.self {
		return pubsub.ValidationAccept // Publish has stored it.
	}
	now := e.opts.Now()
	if e.greylist.listed(from, now) {
		e.counters.refused(Greylisted)
		return pubsub.ValidationIgnore
	}
	r, refusal := e.validator.Check(topic, m.GetData(), Gossip)
	if refusal == nil {
		m.ValidatorData = r
		return pubsub.ValidationAccept
	}
	e.counters.refused(refusal.Reason)
	if refusal.Verdict == Reject {
		e.offence(from, refusal, now)
		return pubsub.ValidationReject
	}
	return pubsub.ValidationIgnore
}

// receive hands the records of one topic to the writer.
func (e *Exchange) receive(sub *pubsub.Subscription) {
	for {
		m, err := sub.Next(e.ctx)
		if err != nil {
			return // Cancelled, or the gossip layer is closed.
		}
		r, ok := m.ValidatorData.(*commons.Record)
		if !ok {
			continue // Our own.
		}
		select {
		case e.received <- r:
		case <-e.ctx.Done():
			return
		}
	}
}

// writeLoop stores gossiped records, as many at once as have come.
func (e *Exchange) writeLoop() {
	for {
		var batch []*commons.Record
		select {
		case r := <-e.received:
			batch = append(batch, r)
		case <-e.ctx.Done():
			return
		}
	drain:
		for len(batch) < storeBatch {
			select {
			case r := <-e.received:
				batch = append(batch, r)
			default:
				break drain
			}
		}
		if _, err := e.store(e.ctx, batch); err != nil && e.ctx.Err() == nil {
			// They come again by reconciliation.
			e.opts.Logger.Error("gossiped records are not stored", "records", len(batch), "error", err)
		}
	}
}

// joinLearned joins topics of which records have come, or are held at the start.
func (e *Exchange) joinLearned(topics []model.Topic) {
	for _, t := range topics {
		if !matchAny(e.patterns, t) {
			continue
		}
		fresh, err := e.join(t, learned)
		switch {
		case errors.Is(err, ErrTooManyTopics):
			e.opts.Logger.Warn("topic is not joined, its records come by reconciliation only", "topic", t.String(), "limit", e.opts.MaxTopics)
		case errors.Is(err, ErrNotStarted):
			return
		case err != nil:
			e.opts.Logger.Error("topic is not joined", "topic", t.String(), "error", err)
		case fresh:
			e.nudge(t, e.recent())
		}
	}
}

// interests are the patterns and the topics that were joined by name.
func (e *Exchange) interests() []Pattern {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := slices.Clone(e.patterns)
	for t, j := range e.topics {
		if j.why == byName && !matchAny(e.patterns, t) {
			out = append(out, Pattern(t))
		}
	}
	return out
}

// Topics lists the joined topics by name, but for the control topic.
func (e *Exchange) Topics() []model.Topic {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]model.Topic, 0, len(e.topics))
	for t := range e.topics {
		if t != commons.ControlTopic() {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, compareTopics)
	return out
}

// TopicPeers lists connected peers that have joined a topic.
func (e *Exchange) TopicPeers(topic model.Topic) []peer.ID {
	return e.opts.PubSub.ListPeers(topic.String())
}
