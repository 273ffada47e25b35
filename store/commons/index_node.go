package commons

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// node is a range of an [Index] at a day or below. Its shape follows from what it holds
// alone: it is a leaf if it has at most [Leaf] records or is at [MaxDepth].
type node struct {
	count int
	sum   Fingerprint
	known bool           // sum is right
	parts *[Fanout]*node // nil in a leaf
	held  []*meta        // of a leaf, by id
}

// insert says whether the record was not there.
func (n *node) insert(m *meta, depth int) bool {
	if n.parts != nil {
		at := &n.parts[nibbleAt(m.id, depth)]
		if *at == nil {
			*at = new(node)
		}
		if !(*at).insert(m, depth+1) {
			return false
		}
		n.count++
		n.known = false
		return true
	}
	at, found := n.search(m.id)
	if found {
		return false
	}
	n.held = slices.Insert(n.held, at, m)
	n.count++
	n.known = false
	if n.count > Leaf && depth < MaxDepth {
		n.divide(depth)
	}
	return true
}

// divide makes a leaf an inner node.
func (n *node) divide(depth int) {
	held := n.held
	n.held, n.parts = nil, new([Fanout]*node)
	for len(held) > 0 {
		i, k := nibbleAt(held[0].id, depth), 1
		for k < len(held) && nibbleAt(held[k].id, depth) == i {
			k++
		}
		p := &node{count: k, held: slices.Clone(held[:k])}
		if k > Leaf && depth+1 < MaxDepth {
			p.divide(depth + 1)
		}
		n.parts[i], held = p, held[k:]
	}
}

// remove says whether the record was there.
func (n *node) remove(id ID, depth int) bool {
	if n.parts == nil {
		at, found := n.search(id)
		if !found {
			return false
		}
		n.held = slices.Delete(n.held, at, at+1)
		n.count--
		n.known = false
		return true
	}
	at := &n.parts[nibbleAt(id, depth)]
	if *at == nil || !(*at).remove(id, depth+1) {
		return false
	}
	if (*at).count == 0 {
		*at = nil
	}
	n.count--
	n.known = false
	if n.count <= Leaf {
		held := make([]*meta, 0, n.count)
		skip := 0
		n.walk(&skip, func(m []*meta) bool {
			held = append(held, m...)
			return true
		})
		n.parts, n.held = nil, held
	}
	return true
}

func (n *node) search(id ID) (int, bool) {
	return slices.BinarySearchFunc(n.held, id, func(m *meta, id ID) int { return bytes.Compare(m.id[:], id[:]) })
}

// fingerprint is SHA-256 over the ids of a leaf, or over the parts of an inner node.
func (n *node) fingerprint() Fingerprint {
	if n.known || n.count == 0 {
		return n.sum
	}
	var b [1 + Fanout*sha256.Size]byte
	if n.parts != nil {
		b[0] = innerTag
		for i, p := range n.parts {
			if p != nil {
				sum := p.fingerprint()
				copy(b[1+i*sha256.Size:], sum[:])
			}
		}
		n.sum = sha256.Sum256(b[:])
	} else {
		h := sha256.New()
		h.Write([]byte{leafTag})
		for _, m := range n.held {
			h.Write(m.id[:])
		}
		h.Sum(n.sum[:0])
	}
	n.known = true
	return n.sum
}

// walk calls take with the leaves in order until that returns false. It passes over
// whole parts of which all is skipped, and counts them off.
func (n *node) walk(skip *int, take func([]*meta) bool) bool {
	switch {
	case n.count <= *skip:
		*skip -= n.count
		return true
	case n.parts == nil:
		return take(n.held)
	}
	for _, p := range n.parts {
		if p != nil && !p.walk(skip, take) {
			return false
		}
	}
	return true
}

// within returns the part of a leaf's records that is in a range at or below the leaf.
func within(held []*meta, r Range) []*meta {
	bits := nibble * (r.Depth - DayDepth)
	if bits == 0 {
		return held
	}
	from, _ := slices.BinarySearchFunc(held, r.Prefix, func(m *meta, prefix uint64) int {
		return compareBits(m.id, prefix, bits)
	})
	to := from
	for to < len(held) && compareBits(held[to].id, r.Prefix, bits) == 0 {
		to++
	}
	return held[from:to]
}

// compareBits compares the first bits of an id with those of a prefix.
func compareBits(id ID, prefix uint64, bits int) int {
	a, b := binary.BigEndian.Uint64(id[:8])>>(64-bits), prefix>>(64-bits)
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
