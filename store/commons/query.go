package commons

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// Entry is what reconciliation offers of a record.
type Entry struct {
	ID      ID
	Topic   model.Topic
	Created time.Time
}

// TopicCount counts the usable records of a topic.
type TopicCount struct {
	Topic model.Topic
	// Own and Received are this node's and others' records.
	Own, Received int
	// Authors is how many peers they are from, this node included.
	Authors int
}

// AuthorInfo is what is known of an author from its records.
type AuthorInfo struct {
	// Organisation is the display name in the author's latest record. Not verified.
	Organisation string
	// Usable counts what is shared: records that are neither withdrawn nor equivocal,
	// but for those on the control topic.
	Usable int
	// Records counts all that is held of the author, retractions and proofs of
	// equivocation included, and Bytes their envelopes.
	Records, Bytes int
	// Equivocations counts keys under which two bodies have one revision.
	Equivocations int
}

// Get returns a stored record, also one that is retracted or expired but not yet
// swept. The error wraps [ErrNotFound] or [ErrCorrupt].
func (d *DB) Get(id ID) (*Record, error) {
	var r *Record
	err := d.kv.View(func(t *kv.Txn) error {
		var err error
		r, err = read(t, id)
		return err
	})
	return r, err
}

func read(t *kv.Txn, id ID) (*Record, error) {
	value, err := t.Get(recordKey(id))
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: record %s", ErrNotFound, id)
	}
	if err != nil {
		return nil, err
	}
	r, _, err := decodeStored(recordKey(id), value)
	return r, err
}

// Has says whether a record is stored.
func (d *DB) Has(id ID) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byID[id] != nil
}

// IsOwn says whether a stored record was put as this node's.
func (d *DB) IsOwn(id ID) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	m := d.byID[id]
	return m != nil && m.own
}

// Withdrawable says whether something is held under a key that its writer has not
// withdrawn.
func (d *DB) Withdrawable(by Writer, topic model.Topic, key string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.ContainsFunc(d.slots[slot{by.Organisation, by.Name, topic, key}], func(m *meta) bool {
		return m.kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION
	})
}

// ByTopic returns the usable records of a topic, by author and key: the newest of
// each key, not retracted, not equivocal, not expired. Kinds that this version
// does not know are among them.
func (d *DB) ByTopic(topic model.Topic) ([]*Record, error) {
	return d.All(func(t model.Topic) bool { return t == topic })
}

// All returns the usable records of the topics that match, by topic, author and
// key. A nil match takes every topic.
func (d *DB) All(match func(model.Topic) bool) ([]*Record, error) {
	return d.all(match, func(*meta) bool { return true })
}

// all is [DB.All] of what is wanted.
func (d *DB) all(match func(model.Topic) bool, want func(*meta) bool) ([]*Record, error) {
	// The lock is held until the snapshot is taken, so that what the index names
	// is in the snapshot.
	d.mu.RLock()
	locked := true
	unlock := func() {
		if locked {
			d.mu.RUnlock()
			locked = false
		}
	}
	defer unlock()
	var out []*Record
	err := d.kv.View(func(t *kv.Txn) error {
		metas := slices.DeleteFunc(d.current(match, usable), func(m *meta) bool { return !want(m) })
		unlock()
		out = make([]*Record, 0, len(metas))
		for _, m := range metas {
			r, err := read(t, m.id)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// Usable lists the records that All returns, without reading them. A nil match
// takes every topic.
func (d *DB) Usable(match func(model.Topic) bool) []Entry {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return entries(d.current(match, usable))
}

func entries(metas []*meta) []Entry {
	out := make([]Entry, len(metas))
	for i, m := range metas {
		out[i] = Entry{ID: m.id, Topic: m.topic, Created: time.Unix(m.created, 0).UTC()}
	}
	return out
}

// Entries returns all that reconciliation should offer of the topics that match,
// by topic, author and key: current records, retractions and both sides of an
// equivocation, not what has expired. A nil match takes every topic.
func (d *DB) Entries(match func(model.Topic) bool) ([]Entry, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	now := d.kv.Now().Unix()
	metas := d.current(match, func(held []*meta) []*meta {
		return slices.DeleteFunc(slices.Clone(held), func(m *meta) bool { return m.expired(now) })
	})
	return entries(metas), nil
}

// shared takes the topics that organisations share under: all but the control topic.
func shared(t model.Topic) bool { return t != ControlTopic() }

// Topics counts the usable records of every topic that has any, by name, but for the
// control topic.
func (d *DB) Topics() []TopicCount {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []TopicCount
	authors := make(map[peer.ID]bool)
	for _, m := range d.current(shared, usable) {
		if len(out) == 0 || out[len(out)-1].Topic != m.topic {
			out = append(out, TopicCount{Topic: m.topic})
			clear(authors)
		}
		c := &out[len(out)-1]
		if m.own {
			c.Own++
		} else {
			c.Received++
		}
		authors[m.author] = true
		c.Authors = len(authors)
	}
	return out
}

// Authors says what is known of every author of an unexpired record.
func (d *DB) Authors() map[peer.ID]AuthorInfo {
	d.mu.RLock()
	defer d.mu.RUnlock()
	type author struct {
		AuthorInfo
		latest *meta
	}
	found := make(map[peer.ID]*author)
	now := d.kv.Now().Unix()
	for _, all := range d.slots {
		held := live(all, now)
		if len(held) == 0 {
			continue
		}
		a := found[held[0].author]
		if a == nil {
			a = new(author)
			found[held[0].author] = a
		}
		for _, m := range held {
			a.Records++
			a.Bytes += m.size
			if a.latest == nil || a.latest.created < m.created ||
				a.latest.created == m.created && bytes.Compare(m.id[:], a.latest.id[:]) < 0 {
				a.latest = m
			}
		}
		if held[0].topic != ControlTopic() {
			a.Usable += len(usable(held))
		}
		if len(held) > 1 {
			a.Equivocations++
		}
	}
	out := make(map[peer.ID]AuthorInfo, len(found))
	for id, a := range found {
		a.Organisation = a.latest.organisation
		out[id] = a.AuthorInfo
	}
	return out
}

// current returns what pick takes of every slot of the topics that match, sorted.
// The caller holds the lock.
func (d *DB) current(match func(model.Topic) bool, pick func([]*meta) []*meta) []*meta {
	now := d.kv.Now().Unix()
	var out []*meta
	for topic, firsts := range d.topics {
		if match != nil && !match(topic) {
			continue
		}
		for m := range firsts {
			out = append(out, pick(live(d.slots[m.slot], now))...)
		}
	}
	slices.SortFunc(out, (*meta).compare)
	return out
}
