package commons

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// State says whether a record that is held counts.
type State int

// The states.
const (
	// Counts is the newest record under its key, not withdrawn and not expired.
	Counts State = iota + 1
	// Withdraws is a retraction.
	Withdraws
	// Equivocates is one of two bodies of one revision; neither counts.
	Equivocates
	// Lapsed has expired and waits to be deleted.
	Lapsed
)

// Held describes a record that is held, from memory.
type Held struct {
	ID                ID
	Author            peer.ID
	Organisation      string
	Topic             model.Topic
	Kind              karasuv1.RecordKind
	Key               string
	Revision          uint64
	Created, NotAfter time.Time
	// Bytes of the envelope.
	Bytes int
	// Own says that this node put it as its own.
	Own   bool
	State State
}

// Held describes all that is held of the topics that match, also what does not count,
// by topic, author and key. A nil match takes every topic.
func (d *DB) Held(match func(model.Topic) bool) []Held {
	d.mu.RLock()
	defer d.mu.RUnlock()
	now := d.kv.Now().Unix()
	var out []Held
	for s, held := range d.slots {
		if match != nil && !match(s.topic) {
			continue
		}
		for _, m := range held {
			out = append(out, m.describe(held, now))
		}
	}
	slices.SortFunc(out, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Topic.String(), b.Topic.String()), cmp.Compare(a.Author, b.Author),
			cmp.Compare(a.Key, b.Key), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

// describe says what a record of a slot is.
func (m *meta) describe(held []*meta, now int64) Held {
	h := Held{
		ID: m.id, Author: m.author, Organisation: m.organisation, Topic: m.topic, Kind: m.kind, Key: m.key, Revision: m.revision,
		Created: time.Unix(m.created, 0).UTC(), NotAfter: time.Unix(m.notAfter, 0).UTC(), Bytes: m.size, Own: m.own, State: Counts,
	}
	switch {
	case len(live(held, now)) == 0:
		h.State = Lapsed
	case len(held) > 1:
		h.State = Equivocates
	case m.kind == karasuv1.RecordKind_RECORD_KIND_RETRACTION:
		h.State = Withdraws
	}
	return h
}

// Describe is [DB.Held] of one record; the error wraps [ErrNotFound].
func (d *DB) Describe(id ID) (Held, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	m := d.byID[id]
	if m == nil {
		return Held{}, fmt.Errorf("%w: record %s", ErrNotFound, id)
	}
	return m.describe(d.slots[m.slot], d.kv.Now().Unix()), nil
}

// Find returns the records whose ids begin with the given hex digits, at most two of
// them: enough to know that there is more than one.
func (d *DB) Find(digits string) []ID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []ID
	for id := range d.byID {
		if strings.HasPrefix(hex.EncodeToString(id[:]), digits) {
			if out = append(out, id); len(out) == 2 {
				break
			}
		}
	}
	return out
}

// Len is how many records are held, whatever their state.
func (d *DB) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.byID)
}
