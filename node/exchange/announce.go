package exchange

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// announcedFor is the lifetime of an announcement. A node renews it at half of it,
	// so that a topic is forgotten two days after the last node that served it left.
	announcedFor = 48 * time.Hour
	// announceStep rounds the time of an announcement down, so that it does not tell
	// when exactly a record came.
	announceStep = time.Hour
	// announceDelay collects changes.
	announceDelay = 2 * time.Second
	// announceChange is by which share a count has to change to be announced anew:
	// counts are there to choose by, and each announcement goes to every node.
	announceChange = 0.25
	// maxFollowed bounds the topics that are joined on one organisation's word alone.
	maxFollowed = 32
	// maxNames bounds the organisations that are named with a topic.
	maxNames = 16
	// maxHeard and maxHeardOf bound what is remembered of others' announcements, of all
	// and of one organisation, in topics and one more for each announcement: some 150
	// bytes each. What is above is left out until it is announced anew.
	maxHeard   = 1 << 17
	maxHeardOf = 4 * (commons.MaxServed + 1)
)

// KnownTopic is a topic that nodes announce, this one included.
type KnownTopic struct {
	Topic model.Topic
	// Nodes is how many announce it, and Records the most that one of them holds.
	Nodes, Records int
	// Organisations are display names of those of these nodes, sorted, at most 16.
	Organisations []string
	// Joined says that this node takes part in it.
	Joined bool
}

// heard is an announcement that counts. Its record is without its body and envelope.
type heard struct {
	record *commons.Record
	served []commons.Served
}

// heardSize says how much is remembered, in all and by author.
type heardSize struct {
	all int
	of  map[peer.ID]int
}

func (s *heardSize) add(h *heard) {
	s.all += 1 + len(h.served)
	s.of[h.record.Author] += 1 + len(h.served)
}

func (s *heardSize) fits(h *heard) bool {
	return s.all+1+len(h.served) <= maxHeard && s.of[h.record.Author]+1+len(h.served) <= maxHeardOf
}

// announceLoop keeps this node's announcement in step with what it holds, and joins
// topics that others announce and its patterns select.
func (e *Exchange) announceLoop() {
	changed, unsubscribe := e.opts.Store.Subscribe()
	defer unsubscribe()
	tick := time.NewTicker(e.opts.AnnounceInterval)
	defer tick.Stop()
	var last time.Time // of the own announcement
	for {
		if err := e.hear(); err != nil {
			e.opts.Logger.Error("announcements cannot be read", "error", err)
		}
		e.follow()
		if now := e.opts.Now(); e.opts.Seal != nil && now.Sub(last) >= e.opts.AnnounceInterval {
			said, err := e.speak(now)
			switch {
			case err != nil && e.ctx.Err() == nil:
				e.opts.Logger.Error("topics are not announced", "error", err)
			case said:
				last = now
			}
		}
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		case <-changed:
			if !sleep(e.ctx, min(announceDelay, e.opts.AnnounceInterval)) {
				return
			}
		}
	}
}

// hear reads the announcements that are new, and forgets those that count no more.
func (e *Exchange) hear() error {
	entries, err := e.opts.Store.Entries(func(t model.Topic) bool { return t == commons.ControlTopic() })
	if err != nil {
		return err
	}
	e.mu.Lock()
	before := e.heard
	e.mu.Unlock()
	after := make(map[commons.ID]*heard, len(entries))
	size := heardSize{of: make(map[peer.ID]int)}
	for _, entry := range entries {
		if h, known := before[entry.ID]; known {
			after[entry.ID] = h
			if h != nil {
				size.add(h)
			}
		}
	}
	for _, entry := range entries {
		if _, known := before[entry.ID]; known {
			continue
		}
		r, err := e.opts.Store.Get(entry.ID)
		if errors.Is(err, commons.ErrNotFound) {
			continue // replaced since
		}
		if err != nil {
			return err
		}
		after[entry.ID] = nil // something else, or too much, which need not be read again
		served, err := commons.DecodeAnnouncement(r)
		if err != nil {
			continue
		}
		head := *r
		head.Envelope, head.Body = nil, nil
		if h := (&heard{&head, served}); size.fits(h) || e.opts.Store.IsOwn(r.ID) {
			after[entry.ID] = h
			size.add(h)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = after
	return nil
}

// announcements returns those that count, by author and host.
func (e *Exchange) announcements() []*heard {
	e.mu.Lock()
	out := slices.DeleteFunc(slices.Collect(maps.Values(e.heard)), func(h *heard) bool { return h == nil })
	e.mu.Unlock()
	slices.SortFunc(out, func(a, b *heard) int {
		return cmp.Or(cmp.Compare(a.record.Author, b.record.Author), cmp.Compare(a.record.Host, b.record.Host),
			bytes.Compare(a.record.ID[:], b.record.ID[:]))
	})
	return out
}

// follow joins announced topics that the patterns select, a few for each organisation,
// and leaves those that nobody announces any more and of which nothing came.
func (e *Exchange) follow() {
	wanted := make(map[model.Topic]bool)
	followed := make(map[string]int) // by author
	for _, h := range e.announcements() {
		if e.opts.Store.IsOwn(h.record.ID) {
			continue
		}
		for _, s := range h.served {
			switch {
			case wanted[s.Topic] || !matchAny(e.patterns, s.Topic):
			case followed[string(h.record.Author)] == maxFollowed:
				e.counters.refused(TopicLimit)
			default:
				followed[string(h.record.Author)]++
				wanted[s.Topic] = true
			}
		}
	}
	for _, t := range slices.SortedFunc(maps.Keys(wanted), compareTopics) {
		fresh, err := e.join(t, announced)
		if errors.Is(err, ErrTooManyTopics) {
			break // counted, and the next round tries again
		}
		if err != nil {
			return
		}
		if fresh {
			e.nudge(t, 0)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for t, j := range e.topics {
		if j.why != announced || wanted[t] {
			continue
		}
		delete(e.topics, t)
		if err := e.leave(t, j); err != nil {
			e.opts.Logger.Error("topic is not left", "topic", t.String(), "error", err)
		}
	}
}

// speak announces what this node serves, unless that is known well enough, and says
// whether it did.
func (e *Exchange) speak(now time.Time) (bool, error) {
	served := e.opts.Store.Served()
	for _, h := range e.announcements() {
		if !e.opts.Store.IsOwn(h.record.ID) {
			continue
		}
		if alike(h.served, served) && now.Sub(h.record.Created) < announcedFor/2 {
			return false, nil
		}
		return true, e.announceTopics(now, served)
	}
	if len(served) == 0 {
		return false, nil // nor has it announced anything before
	}
	return true, e.announceTopics(now, served)
}

func (e *Exchange) announceTopics(now time.Time, served []commons.Served) error {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(commons.EncodeAnnouncement(served))
	if err != nil {
		return fmt.Errorf("announcement: %w", err)
	}
	created := now.UTC().Truncate(announceStep)
	r, err := e.opts.Seal(&karasuv1.Record{
		Topic: commons.ControlTopic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, Key: commons.AnnouncementKey,
		Created: created.Unix(), NotAfter: created.Add(announcedFor).Unix(), Body: body,
	})
	if err != nil {
		return fmt.Errorf("announcement: %w", err)
	}
	return e.Publish(e.ctx, r)
}

// alike says whether two lists have the same topics with about the same counts.
func alike(a, b []commons.Served) bool {
	b = b[:min(len(b), commons.MaxServed)]
	return slices.EqualFunc(a, b, func(x, y commons.Served) bool {
		return x.Topic == y.Topic && near(x.Records, y.Records) && near(x.Organisations, y.Organisations)
	})
}

func near(old, now int) bool {
	return float64(max(old-now, now-old)) <= announceChange*float64(old)
}

// Known lists the topics that nodes announce, by name. What they say of themselves is
// not checked beyond its form.
func (e *Exchange) Known() []KnownTopic {
	type topic struct {
		KnownTopic
		names map[string]bool
	}
	all := make(map[model.Topic]*topic)
	for _, h := range e.announcements() {
		for _, s := range h.served {
			k := all[s.Topic]
			if k == nil {
				k = &topic{KnownTopic{Topic: s.Topic}, make(map[string]bool)}
				all[s.Topic] = k
			}
			k.Nodes++
			k.Records = max(k.Records, s.Records)
			if name := h.record.Organisation; name != "" {
				k.names[name] = true
			}
		}
	}
	out := make([]KnownTopic, 0, len(all))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range slices.SortedFunc(maps.Keys(all), compareTopics) {
		k := all[t].KnownTopic
		names := slices.Sorted(maps.Keys(all[t].names))
		k.Organisations = names[:min(len(names), maxNames)]
		k.Joined = e.topics[t] != nil
		out = append(out, k)
	}
	return out
}
