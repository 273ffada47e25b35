package commons

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Outcome says what became of a record that was put.
type Outcome int

// The outcomes of [DB.Put].
const (
	// Stored is a record that now counts.
	Stored Outcome = iota + 1
	// Duplicate is one that was there before.
	Duplicate
	// Stale is one that a newer one had replaced already.
	Stale
	// Equivocation is one whose author gave two bodies to one revision. Two of them
	// are kept as proof, none is used.
	Equivocation
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	names := []string{"stored", "duplicate", "stale", "equivocation"}
	if o < Stored || int(o) > len(names) {
		return fmt.Sprintf("outcome(%d)", int(o))
	}
	return names[o-1]
}

// slot is what a record takes the place of: all records of one slot are
// revisions of one piece of knowledge.
type slot struct {
	author peer.ID
	writer string
	topic  model.Topic
	key    string
}

// meta is what the index in memory keeps of a stored record.
type meta struct {
	slot
	id                ID
	kind              karasuv1.RecordKind
	revision          uint64
	created, notAfter int64 // seconds since 1970
	organisation      string
	own               bool
	// body tells bodies of one revision apart: SHA-256 of kind and body.
	body [sha256.Size]byte
	size int // of the envelope, bytes
	// delegated and epoch are of the delegation that the record is signed under.
	delegated bool
	epoch     uint64
	// rotation is what the record says, if that is what it is of.
	rotation *Rotation
}

func metaOf(r *Record, own bool) *meta {
	h := sha256.New()
	h.Write(binary.AppendVarint(nil, int64(r.Kind)))
	h.Write(r.Body)
	m := &meta{
		slot: slot{peer.ID(intern(string(r.Author))), intern(r.By().Name), internTopic(r.Topic), r.Key},
		id:   r.ID, kind: r.Kind, revision: r.Revision,
		created: r.Created.Unix(), notAfter: r.NotAfter.Unix(), organisation: intern(r.Organisation), own: own,
		body: [sha256.Size]byte(h.Sum(nil)), size: len(r.Envelope),
	}
	if r.Delegation != nil {
		m.delegated, m.epoch = true, r.Delegation.Epoch
	}
	if r.Topic == ControlTopic() && r.Key == RotationKey {
		m.rotation, _ = DecodeRotation(r) // a retraction has none
	}
	return m
}

// intern returns the one copy of a string that many records share.
func intern(s string) string { return unique.Make(s).Value() }

func internTopic(t model.Topic) model.Topic {
	return model.Topic{Infrastructure: intern(t.Infrastructure), Framework: intern(t.Framework), Algorithm: intern(t.Algorithm)}
}

// maxProof is how many bodies of one revision are kept: two prove equivocation.
const maxProof = 2

// merge returns what a slot holds after m arrived. The result is the same in
// whatever order records arrive: the highest revision; of one revision and body
// the record that was created last (its author signed it twice); of different
// bodies the two with the lowest hashes, so that all nodes keep the same proof.
func merge(held []*meta, m *meta) ([]*meta, Outcome) {
	switch {
	case len(held) == 0 || m.revision > held[0].revision:
		return []*meta{m}, Stored
	case m.revision < held[0].revision:
		return held, Stale
	}
	next := slices.Clone(held)
	for i, h := range held {
		switch {
		case h.id == m.id:
			return held, Duplicate
		case h.body != m.body:
			continue
		case !signedLater(m, h):
			return held, Stale
		}
		next[i] = m
		if len(next) > 1 {
			return next, Equivocation
		}
		return next, Stored
	}
	next = append(next, m)
	slices.SortFunc(next, func(a, b *meta) int { return bytes.Compare(a.body[:], b.body[:]) })
	return next[:min(len(next), maxProof)], Equivocation
}

func signedLater(a, b *meta) bool {
	if a.created != b.created {
		return a.created > b.created
	}
	return bytes.Compare(a.id[:], b.id[:]) < 0
}

// usable returns the slot's record that may be used, or none: there is none where
// the author withdrew it or gave two.
func usable(held []*meta) []*meta {
	if len(held) != 1 || held[0].kind == karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		return nil
	}
	return held
}

// live returns what a slot holds, or nil once all of it has expired. Proof of
// equivocation stays whole until then: one side's expiry must not make the other
// usable.
func live(held []*meta, now int64) []*meta {
	if slices.ContainsFunc(held, func(m *meta) bool { return !m.expired(now) }) {
		return held
	}
	return nil
}

func (m *meta) expired(now int64) bool { return m.notAfter < now }

// compare orders by topic, author, writer, key and ID.
func (m *meta) compare(o *meta) int {
	for _, c := range []int{
		strings.Compare(m.topic.Infrastructure, o.topic.Infrastructure),
		strings.Compare(m.topic.Framework, o.topic.Framework),
		strings.Compare(m.topic.Algorithm, o.topic.Algorithm),
		strings.Compare(string(m.author), string(o.author)),
		strings.Compare(m.writer, o.writer),
		strings.Compare(m.key, o.key),
	} {
		if c != 0 {
			return c
		}
	}
	return bytes.Compare(m.id[:], o.id[:])
}
