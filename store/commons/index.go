package commons

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Index arranges records by topic, day of creation and id, and keeps a [Fingerprint]
// of every range, so that two nodes find where they differ. It is in memory: a tree of
// 16 to 32 records a leaf, about 20 bytes a record beside what describes it. It holds
// the same records as the database, in one step with every change of it, and is built
// when that is opened; so there is nothing of it on disk that could be lost or wrong.
//
// Fingerprints are computed when they are asked for, and kept until something below
// them changes. An Index is safe for concurrent use.
type Index struct {
	now func() time.Time

	mu     sync.Mutex
	topics map[model.Topic]*topicNode
	root   Fingerprint // of all days
	known  bool        // root is right
}

// topicNode holds a topic's records by day.
type topicNode struct {
	days  map[Day]*node
	sum   Fingerprint // of all days
	known bool
}

// NewIndex returns an empty index. The clock tells which records have expired.
func NewIndex(now func() time.Time) *Index {
	return &Index{now: now, topics: make(map[model.Topic]*topicNode)}
}

// Index returns the arrangement of all that is offered to others.
func (d *DB) Index() *Index { return d.index }

// Insert adds a record that does not expire, unless it is there.
func (x *Index) Insert(e Entry) {
	x.insert(&meta{slot: slot{topic: e.Topic}, id: e.ID, created: e.Created.Unix(), notAfter: math.MaxInt64})
}

func (x *Index) insert(m *meta) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.topics[m.topic]
	if t == nil {
		t = &topicNode{days: make(map[Day]*node)}
		x.topics[m.topic] = t
	}
	day := m.day()
	n := t.days[day]
	if n == nil {
		n = new(node)
		t.days[day] = n
	}
	if n.insert(m, DayDepth) {
		x.known, t.known = false, false
	}
}

func (x *Index) remove(m *meta) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.topics[m.topic]
	if t == nil {
		return
	}
	day := m.day()
	n := t.days[day]
	if n == nil || !n.remove(m.id, DayDepth) {
		return
	}
	x.known, t.known = false, false
	if n.count == 0 {
		delete(t.days, day)
	}
	if len(t.days) == 0 {
		delete(x.topics, m.topic)
	}
}

func (m *meta) day() Day { return Day(m.created / secondsPerDay) }

// Root returns the fingerprint of all that was created since a day.
func (x *Index) Root(since Day) Fingerprint {
	x.mu.Lock()
	defer x.mu.Unlock()
	if since == 0 && x.known {
		return x.root
	}
	sum := fingerprintOfTopics(x.topicParts(since))
	if since == 0 {
		x.root, x.known = sum, true
	}
	return sum
}

// Topics returns the topics with records that were created since a day, by name.
func (x *Index) Topics(since Day) []Part {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.topicParts(since)
}

func (x *Index) topicParts(since Day) []Part {
	parts := make([]Part, 0, len(x.topics))
	for topic, t := range x.topics {
		if sum := t.fingerprint(topic, since); sum != (Fingerprint{}) {
			parts = append(parts, Part{Range{Topic: topic}, sum})
		}
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(
			strings.Compare(a.Range.Topic.Infrastructure, b.Range.Topic.Infrastructure),
			strings.Compare(a.Range.Topic.Framework, b.Range.Topic.Framework),
			strings.Compare(a.Range.Topic.Algorithm, b.Range.Topic.Algorithm),
		)
	})
	return parts
}

func (t *topicNode) fingerprint(topic model.Topic, since Day) Fingerprint {
	if since == 0 && t.known {
		return t.sum
	}
	sum := fingerprintOfDays(t.dayParts(topic, since))
	if since == 0 {
		t.sum, t.known = sum, true
	}
	return sum
}

// dayParts returns the days since one, in order.
func (t *topicNode) dayParts(topic model.Topic, since Day) []Part {
	days := slices.DeleteFunc(slices.Sorted(maps.Keys(t.days)), func(d Day) bool { return d < since })
	parts := make([]Part, len(days))
	for i, d := range days {
		parts[i] = Part{Range{Topic: topic}.OfDay(d), t.days[d].fingerprint()}
	}
	return parts
}

// Days returns the days since one on which records of a topic were created, in order.
func (x *Index) Days(topic model.Topic, since Day) []Part {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.topics[topic]
	if t == nil {
		return nil
	}
	return t.dayParts(topic, since)
}

// Parts returns how many records a range below a topic has, and the fingerprints of its
// parts, zero where there is nothing. It has none where they would not be divided: up
// to [Leaf] records, or at [MaxDepth].
func (x *Index) Parts(r Range) (count int, parts []Fingerprint) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.find(r)
	if n == nil {
		return 0, nil
	}
	if n.parts == nil {
		// What is found may lie above the range, where that has few records.
		return len(within(n.held, r)), nil
	}
	parts = make([]Fingerprint, Fanout)
	for i, p := range n.parts {
		if p != nil {
			parts[i] = p.fingerprint()
		}
	}
	return n.count, parts
}

// IDs returns the ids of a range below a topic, in order, without those that have
// expired. Of more than limit records it looks at so many from the one of the number
// skip on, and at least at none.
func (x *Index) IDs(r Range, skip, limit int) []ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.find(r)
	if n == nil {
		return nil
	}
	now := x.now().Unix()
	var out []ID
	take := func(held []*meta) bool {
		for _, m := range held {
			switch {
			case skip > 0:
				skip--
				continue
			case limit <= 0:
				return false
			}
			limit--
			if !m.expired(now) {
				out = append(out, m.id)
			}
		}
		return true
	}
	if n.parts == nil {
		take(within(n.held, r))
		return out
	}
	n.walk(&skip, take)
	return out
}

// find returns the node of a range below a topic, or the leaf above it.
func (x *Index) find(r Range) *node {
	t := x.topics[r.Topic]
	if t == nil || r.Depth < DayDepth {
		return nil
	}
	n := t.days[r.Day]
	for depth := DayDepth; n != nil && n.parts != nil && depth < r.Depth; depth++ {
		n = n.parts[r.Prefix>>(64-nibble*depth)&(Fanout-1)]
	}
	return n
}
