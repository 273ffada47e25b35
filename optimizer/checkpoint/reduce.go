package checkpoint

// fix decides one stage in a branch.
type fix struct {
	place int32
	in    bool
}

// What is known of a stage in a subproblem. A tied stage is before the cut only with all
// its children, as it cannot be persisted.
const (
	isOut uint8 = 1 << iota
	isIn
	isTied
)

// reduce decides what follows from a horizon (only the first hi stages may be before
// the cut) and from the decisions of a branch: a stage after the cut takes its children
// along, one before it its parents; a stage whose output is larger than what is left
// of the budget is tied to its children. It reports whether a set is left.
func (s *solver) reduce(hi int, fixes []fix) bool {
	n := s.v.g.Len()
	s.status = grow(s.status, n)
	clear(s.status)
	for i := hi; i < n; i++ {
		s.status[i] = isOut
	}
	for _, f := range fixes {
		if f.in {
			s.status[f.place] |= isIn
		} else {
			s.status[f.place] |= isOut
		}
	}
	left := s.v.budget
	for range n + 1 {
		if !s.propagate(hi, left) {
			return false
		}
		written := s.certain(hi)
		if written > s.v.budget {
			return false
		}
		if next := s.v.budget - written; next < left && s.tightens(hi, next) {
			left = next
			continue
		}
		break
	}
	return true
}

// tightens reports whether a free stage has an output larger than what is left.
func (s *solver) tightens(hi int, left float64) bool {
	for i := range hi {
		if s.v.cost[i] > left && s.status[i]&(isTied|isOut) == 0 && !s.crosses(i) {
			return true
		}
	}
	return false
}

// crosses reports whether a stage is certain to be persisted.
func (s *solver) crosses(i int) bool {
	if s.status[i]&isIn == 0 {
		return false
	}
	for _, c := range s.v.g.children(i) {
		if s.status[c]&isOut != 0 {
			return true
		}
	}
	return false
}

// certain sums the bytes of stages that are certain to be persisted.
func (s *solver) certain(hi int) float64 {
	sum := 0.0
	s.work += hi
	for i := range hi {
		if s.crosses(i) {
			sum += s.v.cost[i]
		}
	}
	return sum
}

// propagate draws all consequences; false is a contradiction.
func (s *solver) propagate(hi int, left float64) bool {
	g, st := s.v.g, s.status
	for changed := true; changed; {
		s.work += 2 * g.size(hi)
		changed = false
		for i := range hi {
			for _, p := range g.parents(i) {
				if st[p]&isOut != 0 && st[i]&isOut == 0 {
					st[i] |= isOut
					changed = true
				}
			}
		}
		for i := hi - 1; i >= 0; i-- {
			if st[i]&isTied == 0 && (s.v.pinned[i] || s.v.cost[i] > left && !s.crosses(i)) {
				st[i] |= isTied
			}
			for _, c := range g.children(i) {
				if st[c]&isIn != 0 && st[i]&isIn == 0 {
					st[i] |= isIn
					changed = true // a tied stage takes the children before this one along
				}
				if st[i]&isTied == 0 {
					continue
				}
				if st[c]&isOut != 0 && st[i]&isOut == 0 {
					st[i] |= isOut
					changed = true
				}
				if st[i]&isIn != 0 && st[c]&isIn == 0 {
					st[c] |= isIn
					changed = true
				}
			}
			if st[i]&(isIn|isOut) == isIn|isOut {
				return false
			}
		}
	}
	return true
}
