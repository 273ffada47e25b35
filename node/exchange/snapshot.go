package exchange

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// Snapshot is what a node offers at one moment.
type Snapshot struct {
	topics map[model.Topic]*idSet
}

// idSet holds the record ids of one topic, sorted, and their fingerprint.
type idSet struct {
	ids         []commons.ID
	fingerprint [sha256.Size]byte
}

// NewSnapshot arranges entries by topic. Equal ids of one topic count once.
func NewSnapshot(entries []commons.Entry) *Snapshot {
	s := &Snapshot{topics: make(map[model.Topic]*idSet)}
	for _, e := range entries {
		set := s.topics[e.Topic]
		if set == nil {
			set = new(idSet)
			s.topics[e.Topic] = set
		}
		set.ids = append(set.ids, e.ID)
	}
	for _, set := range s.topics {
		slices.SortFunc(set.ids, compareIDs)
		set.ids = slices.Compact(set.ids)
		set.fingerprint = fingerprint(set.ids)
	}
	return s
}

// ids returns the sorted ids of a topic, nil where there are none.
func (s *Snapshot) ids(t model.Topic) []commons.ID {
	if set := s.topics[t]; set != nil {
		return set.ids
	}
	return nil
}

// fingerprint is SHA-256 over sorted ids. Sums that can be kept up to date would
// be cheaper, but an author that tries many records can make such sums collide.
func fingerprint(sorted []commons.ID) [sha256.Size]byte {
	h := sha256.New()
	for i := range sorted {
		h.Write(sorted[i][:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func compareIDs(a, b commons.ID) int { return bytes.Compare(a[:], b[:]) }

// within returns the part of sorted ids from low to high, both inside.
func within(sorted []commons.ID, low, high commons.ID) []commons.ID {
	from, _ := slices.BinarySearchFunc(sorted, low, compareIDs)
	to, found := slices.BinarySearchFunc(sorted, high, compareIDs)
	if found {
		to++
	}
	if from >= to {
		return nil
	}
	return sorted[from:to]
}

// without returns the ids of sorted a that are not in sorted b.
func without(a, b []commons.ID) []commons.ID {
	var out []commons.ID
	for _, id := range a {
		for len(b) > 0 && compareIDs(b[0], id) < 0 {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != id {
			out = append(out, id)
		}
	}
	return out
}

// packIDs puts ids one after the other.
func packIDs(ids []commons.ID) []byte {
	out := make([]byte, 0, len(ids)*len(commons.ID{}))
	for i := range ids {
		out = append(out, ids[i][:]...)
	}
	return out
}

// unpackIDs reverses packIDs. The error wraps [ErrProtocol].
func unpackIDs(b []byte) ([]commons.ID, error) {
	const size = len(commons.ID{})
	if len(b)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes of record ids", ErrProtocol, len(b))
	}
	out := make([]commons.ID, 0, len(b)/size)
	for part := range slices.Chunk(b, size) {
		out = append(out, commons.ID(part))
	}
	return out, nil
}
