package checkpoint

import (
	"cmp"
	"slices"
)

// scratch is reused between candidates.
type scratch struct {
	// missing counts the children of a stage that are not in the set.
	missing    []int32
	candidates []candidate
	// left are the stages that repairs may still look at.
	left int
	// seen marks stages with the number of the visit.
	seen  []int32
	visit int32
	stack []int32
}

type candidate struct {
	place int32
	ratio float64
}

// scan tries all restrictions of a set to what has ended at some time, and keeps the
// best within the constraints. A nil set is all stages.
func (s *search) scan(in []bool) {
	g := s.v.g
	missing := grow(s.scratch.missing, g.Len())
	s.scratch.missing = missing
	worth, cost, barred := 0.0, 0.0, 0
	best, at := s.value, -1
	n := g.Len()
	if in != nil {
		n = len(in)
	}
	s.work += g.size(n)
	for i := range n {
		if in != nil && !in[i] {
			continue
		}
		worth += s.v.worth[i]
		missing[i] = int32(len(g.children(i)))
		if missing[i] > 0 {
			cost += s.v.cost[i]
			if s.v.pinned[i] {
				barred++
			}
		}
		for _, p := range g.parents(i) {
			if missing[p]--; missing[p] == 0 {
				cost -= s.v.cost[p]
				if s.v.pinned[p] {
					barred--
				}
			}
		}
		if value := worth * (g.end - g.stages[i].End); barred == 0 && cost <= s.v.budget && value > best {
			best, at = value, i
		}
	}
	if at < 0 {
		return
	}
	set := make([]bool, at+1)
	for i := range set {
		set[i] = in == nil || in[i]
	}
	// The running cost is a rounded difference; the sum decides.
	if worth, cost, last, ok := s.v.measure(set); ok && cost <= s.v.budget && last >= 0 {
		if value := worth * (g.end - g.stages[last].End); value > s.value {
			s.best, s.value = set, value
		}
	}
}

// try looks for good sets around a relaxation: its own two, the one within the budget
// filled up, and the one beyond it cut down.
func (s *search) try(r *relaxation) {
	if r.beyond != nil {
		s.scan(r.beyond.in)
	}
	if r.within == nil {
		return
	}
	s.scan(r.within.in)
	if r.beyond == nil {
		return
	}
	filled := slices.Clone(r.within.in)
	s.fill(filled, r.within.cost, func(i int32) bool { return r.beyond.in[i] })
	s.scan(filled)
	s.fill(filled, s.line(filled).cost, func(int32) bool { return true })
	s.scan(filled)
	if s.v.g.Len() <= repairStages {
		if dropped := s.drop(r.beyond); dropped != nil {
			s.blocks(dropped, -1)
			s.scan(dropped)
		}
		block := slices.Clone(r.within.in)
		s.blocks(block, -1)
		s.scan(block)
	}
}

// fillRounds bounds the rounds of fill; each takes linear time.
const fillRounds = 12

// fill adds stages, whose parents are in the set, while the cost is within the budget:
// first those that cost nothing, then those with most worth for their cost.
func (s *search) fill(in []bool, cost float64, allowed func(int32) bool) {
	g := s.v.g
	missing := grow(s.scratch.missing, g.Len())
	s.scratch.missing = missing
	for i := range in {
		missing[i] = 0
		for _, c := range g.children(i) {
			if int(c) >= len(in) || !in[c] {
				missing[i]++
			}
		}
	}
	extra := func(i int) float64 {
		d := s.v.cost[i]
		for _, p := range g.parents(i) {
			if missing[p] == 1 {
				d -= s.v.cost[p]
			}
		}
		return d
	}
	ready := func(i int) bool {
		if in[i] || s.v.pinned[i] || !allowed(int32(i)) {
			return false
		}
		for _, p := range g.parents(i) {
			if !in[p] {
				return false
			}
		}
		return true
	}
	add := func(i int) {
		cost += extra(i)
		in[i] = true
		for _, p := range g.parents(i) {
			missing[p]--
		}
	}
	for range fillRounds {
		s.work += g.size(len(in))
		before := cost
		added := false
		list := s.scratch.candidates[:0]
		for i := range in {
			if !ready(i) {
				continue
			}
			d := extra(i)
			if d <= 0 {
				add(i)
				added = true
			} else if cost+d <= s.v.budget {
				list = append(list, candidate{int32(i), s.v.worth[i] / d})
			}
		}
		if !added || before == cost {
			slices.SortFunc(list, func(a, b candidate) int {
				return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.place, b.place))
			})
			for _, c := range list {
				if d := extra(int(c.place)); !in[c.place] && cost+d <= s.v.budget {
					add(int(c.place))
					added = true
				}
			}
		}
		s.scratch.candidates = list
		if !added {
			return
		}
	}
}

// blocks adds stages together with their ancestors that are not in the set, always those
// with the most worth for their cost, while the cost is within the budget. Blocks with
// the stage left out stay out; -1 is none. False if the work allowed did not suffice.
func (s *search) blocks(in []bool, out int) bool {
	cost := s.line(in).cost
	for {
		var best []int32
		ratio, extra := 0.0, 0.0
		for i := range in {
			if in[i] {
				continue
			}
			block := s.ancestors(in, i)
			s.work += 6 * len(block)
			if s.scratch.left -= 2 * len(block); s.scratch.left < 0 {
				return false
			}
			worth, d, allowed := s.with(in, block)
			if !allowed || cost+d > s.v.budget || out >= 0 && slices.Contains(block, int32(out)) {
				continue
			}
			if r := worth / max(d, 1e-9*s.v.budget, 1e-300); best == nil || r > ratio {
				best, ratio, extra = append(best[:0], block...), r, d
			}
		}
		if len(best) == 0 {
			return true
		}
		for _, i := range best {
			in[i] = true
		}
		cost += extra
	}
}

// visit begins a walk over stages.
func (s *search) visit(of int) {
	if s.scratch.seen == nil {
		s.scratch.seen = make([]int32, s.v.g.Len())
	}
	s.scratch.visit++
	s.scratch.seen[of] = s.scratch.visit
}

// ancestors lists a stage and those that it needs and a set does not hold.
func (s *search) ancestors(in []bool, of int) []int32 {
	s.visit(of)
	seen, mark, stack := s.scratch.seen, s.scratch.visit, s.scratch.stack[:0]
	stack = append(stack, int32(of))
	for k := 0; k < len(stack); k++ {
		for _, p := range s.v.g.parents(int(stack[k])) {
			if !in[p] && seen[p] != mark {
				seen[p] = mark
				stack = append(stack, p)
			}
		}
	}
	s.scratch.stack = stack
	return stack
}

// with is what a set gains in worth and cost with a block of [search.ancestors];
// allowed is false if a pinned stage would cross.
func (s *search) with(in []bool, block []int32) (worth, cost float64, allowed bool) {
	g := s.v.g
	for _, u := range block {
		in[u] = true
	}
	crosses := func(p int32) bool {
		for _, c := range g.children(int(p)) {
			if int(c) >= len(in) || !in[c] {
				return true
			}
		}
		return false
	}
	allowed = true
	seen, mark := s.scratch.seen, s.scratch.visit
	for _, u := range block {
		worth += s.v.worth[u]
		if crosses(u) {
			cost += s.v.cost[u]
			allowed = allowed && !s.v.pinned[u]
		}
		for _, p := range g.parents(int(u)) {
			if seen[p] != mark && !crosses(p) {
				cost -= s.v.cost[p] // it crossed before; once
				seen[p] = mark
			}
		}
	}
	for _, u := range block {
		in[u] = false
	}
	return worth, cost, allowed
}

// repairWork bounds the stages that blocks and drop look at in one search: some
// milliseconds.
const repairWork = 200_000

// drop removes stages, each with its descendants, until the cost is within the budget:
// always the one with the least worth lost for the bytes saved. Nil if none helps.
func (s *search) drop(from *line) []bool {
	in := slices.Clone(from.in)
	cost := from.cost
	for cost > s.v.budget {
		best, ratio := -1, 0.0
		for i := range in {
			if !in[i] {
				continue
			}
			lost, saved, looked := s.without(in, i)
			s.work += 3 * looked
			if s.scratch.left -= looked; s.scratch.left < 0 {
				return nil
			}
			if saved > 0 && (best < 0 || min(saved, cost-s.v.budget)/max(lost, 1e-300) > ratio) {
				best, ratio = i, min(saved, cost-s.v.budget)/max(lost, 1e-300)
			}
		}
		if best < 0 {
			return nil
		}
		for _, i := range s.descendants(in, best) {
			in[i] = false
		}
		cost = s.line(in).cost
	}
	return in
}

// descendants lists a stage and those of a set that need it.
func (s *search) descendants(in []bool, of int) []int32 {
	s.visit(of)
	seen, mark, stack := s.scratch.seen, s.scratch.visit, s.scratch.stack[:0]
	stack = append(stack, int32(of))
	for k := 0; k < len(stack); k++ {
		for _, c := range s.v.g.children(int(stack[k])) {
			if int(c) < len(in) && in[c] && seen[c] != mark {
				seen[c] = mark
				stack = append(stack, c)
			}
		}
	}
	s.scratch.stack = stack
	return stack
}

// without is what a set loses in worth and saves in cost without a stage and its
// descendants.
func (s *search) without(in []bool, i int) (lost, saved float64, looked int) {
	gone := s.descendants(in, i)
	seen, mark := s.scratch.seen, s.scratch.visit
	crosses := func(p int32) bool {
		for _, c := range s.v.g.children(int(p)) {
			if int(c) >= len(in) || !in[c] {
				return true
			}
		}
		return false
	}
	for _, u := range gone {
		lost += s.v.worth[u]
		if crosses(u) {
			saved += s.v.cost[u]
		}
		for _, p := range s.v.g.parents(int(u)) {
			looked++
			if seen[p] != mark && !crosses(p) {
				saved -= s.v.cost[p] // now it crosses; once
				seen[p] = mark
			}
		}
	}
	return lost, saved, looked + len(gone)
}
