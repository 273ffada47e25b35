package checkpoint

import "math"

// solver holds what is reused between relaxations. Not safe for concurrent use.
type solver struct {
	v      *values
	net    network
	status []uint8
	// node and all are the nodes of "stage before the cut" and "stage and all its
	// children before the cut", or -1.
	node, all []int32
	weights   []int64
	closed    []bool
	// worthOf and costOf are the coefficients of the nodes.
	worthOf, costOf []float64
	flows           int
	// carried is the multiplier, in whole numbers, of the flow that the network holds; 0
	// if it holds none.
	carried float64
	// tolerance is how much a relaxation's bound may be above its best, as a share.
	tolerance float64
	// work counts the stages and edges that were looked at outside of minimum cuts, and
	// workLimit ends the search by both together; 0 is none.
	work, workLimit int
}

// line is a closed set as a function of the multiplier on the budget.
type line struct {
	in          []bool
	worth, cost float64
}

// relaxation is the linear program of a subproblem: a bound on the worth, and the two
// sets that it mixes. Within is within the budget; beyond is not, and nil if within is
// the optimum.
type relaxation struct {
	bound          float64
	within, beyond *line
	// multiplier is the last one tried, near the best.
	multiplier float64
}

// slopes bounds the minimum cuts for one relaxation; the secant search takes four to
// eight.
const slopes = 40

// rounding is what weights in whole numbers and sums in floating point may be off by,
// relatively, with a wide margin.
const rounding = 1e-9

// spent reports whether the work is done that may be done.
func (s *solver) spent() bool { return s.workLimit > 0 && s.work+s.net.looked >= s.workLimit }

// build makes the closure problem of the reduced subproblem.
func (s *solver) build(hi int) {
	g := s.v.g
	s.work += 2 * s.v.g.size(hi)
	s.node, s.all = grow(s.node, hi), grow(s.all, hi)
	n := 0
	for i := range hi {
		s.node[i], s.all[i] = -1, -1
		if s.status[i]&(isIn|isOut) == 0 {
			s.node[i] = int32(n)
			n++
		}
	}
	for i := range hi {
		if s.status[i]&(isOut|isTied) == 0 && s.v.cost[i] > 0 && !s.anyChildOut(i) {
			s.all[i] = int32(n)
			n++
		}
	}
	s.worthOf, s.costOf = grow(s.worthOf, n), grow(s.costOf, n)
	clear(s.worthOf)
	clear(s.costOf)
	s.net.reset(n)
	for i := range hi {
		v := int(s.node[i])
		if v < 0 {
			continue
		}
		s.net.node(v)
		s.worthOf[v] = s.v.worth[i]
		for _, p := range g.parents(i) {
			if s.node[p] >= 0 {
				s.net.needs(v, int(s.node[p]))
			}
		}
		if s.status[i]&isTied == 0 {
			s.costOf[v] = s.v.cost[i]
			continue
		}
		for _, c := range g.children(i) {
			if s.node[c] >= 0 {
				s.net.needs(v, int(s.node[c]))
			}
		}
	}
	for i := range hi {
		v := int(s.all[i])
		if v < 0 {
			continue
		}
		s.net.node(v)
		s.costOf[v] = -s.v.cost[i]
		for _, c := range g.children(i) {
			if s.node[c] >= 0 {
				s.net.needs(v, int(s.node[c]))
			}
		}
	}
	s.net.link()
	s.carried = 0
	s.weights, s.closed = grow(s.weights, n), grow(s.closed, n)
}

func (s *solver) anyChildOut(i int) bool {
	for _, c := range s.v.g.children(i) {
		if s.status[c]&isOut != 0 {
			return true
		}
	}
	return false
}

// heaviest returns the closed set with the most worth - multiplier x cost; nil if the work
// allowed did not suffice.
func (s *solver) heaviest(hi int, multiplier float64) *line {
	total := 0.0
	for v := range s.net.n {
		total += s.worthOf[v] + multiplier*math.Abs(s.costOf[v])
	}
	scale := 0.0
	if total > 0 {
		scale = (1 << 52) / total
	}
	for v := range s.net.n {
		s.weights[v] = int64(math.Round((s.worthOf[v] - multiplier*s.costOf[v]) * scale))
	}
	factor := 0.0
	if s.carried > 0 {
		factor = multiplier * scale / s.carried
	}
	if s.workLimit > 0 {
		s.net.limit = max(1, s.workLimit-s.work)
	}
	s.flows++
	if !s.net.closure(s.weights, factor, s.closed) {
		return nil
	}
	s.carried = multiplier * scale
	in := make([]bool, hi)
	for i := range hi {
		in[i] = s.status[i]&isIn != 0 || s.node[i] >= 0 && s.closed[s.node[i]]
	}
	return s.line(in)
}

func (s *solver) line(in []bool) *line {
	s.work += s.v.g.size(len(in))
	worth, cost, _, _ := s.v.measure(in)
	return &line{in: in, worth: worth, cost: cost}
}

// relax solves the linear program of the sets among the first hi stages that obey the
// fixes, by a secant search for the multiplier: the bound is the least, over all
// multipliers, of the heaviest closed set's worth - multiplier x (cost - budget). It
// stops early, with a valid bound, when the bound is not above enough. A multiplier
// above 0, of a similar subproblem, is tried first. Nil if there is no set.
func (s *solver) relax(hi int, fixes []fix, enough, first float64) *relaxation {
	if !s.reduce(hi, fixes) {
		return nil
	}
	budget := s.v.budget
	most := s.line(s.most(hi))
	if most.cost <= budget {
		return &relaxation{bound: most.worth, within: most}
	}
	r := &relaxation{bound: most.worth, beyond: most}
	if r.bound <= enough {
		return r
	}
	s.build(hi)
	// What must be before the cut, alone, is within the budget or bounds from below.
	if least := s.line(s.least(hi)); least.cost <= budget {
		r.within = least
	} else {
		cheap := s.heaviest(hi, 1e9*s.unit())
		if cheap == nil {
			return r
		}
		if cheap.cost > budget {
			return nil
		}
		r.within = cheap
	}
	for try := range slopes {
		m := (r.beyond.worth - r.within.worth) / (r.beyond.cost - r.within.cost)
		if try == 0 && first > 0 {
			m = first
		}
		if !(m > 0) || math.IsInf(m, 0) { // the cheaper set frees as much
			r.bound = min(r.bound, r.within.worth)
			r.beyond = nil
			return r
		}
		r.multiplier = m
		l := s.heaviest(hi, m)
		if l == nil {
			return r
		}
		at := func(l *line) float64 { return l.worth - m*(l.cost-budget) }
		value := max(at(l), at(r.within), at(r.beyond))
		r.bound = min(r.bound, value*(1+rounding))
		guessed := try == 0 && first > 0 // and not where the two sets meet
		if !guessed && at(l) <= at(r.within)*(1+s.tolerance) || r.bound <= enough || s.spent() {
			if l.cost <= budget && l.worth > r.within.worth {
				r.within = l
			}
			return r
		}
		if l.cost <= budget {
			r.within = l
		} else {
			r.beyond = l
		}
	}
	return r
}

// unit is a multiplier at which worth and cost weigh about as much.
func (s *solver) unit() float64 {
	w, c := 0.0, 0.0
	for i := range s.v.worth {
		w += s.v.worth[i]
		c += s.v.cost[i]
	}
	if c == 0 || w == 0 {
		return 1
	}
	return w / c
}

func (s *solver) most(hi int) []bool {
	in := make([]bool, hi)
	for i := range hi {
		in[i] = s.status[i]&isOut == 0
	}
	return in
}

func (s *solver) least(hi int) []bool {
	in := make([]bool, hi)
	for i := range hi {
		in[i] = s.status[i]&isIn != 0
	}
	return in
}
