package checkpoint

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// Options bound the work of [Solve].
type Options struct {
	// Relaxations bounds the linear programs solved; 0 is DefaultRelaxations.
	Relaxations int
	// Stop, if not nil, is asked after each linear program whether to end with the best
	// so far, such as at a deadline. Answers then depend on when it says so.
	Stop func() bool
}

const (
	// DefaultRelaxations end a search that does not close its gap: at 2,000 stages each
	// takes about two milliseconds.
	DefaultRelaxations = 2_000
	// heuristicWork is what [Heuristic] looks at, in nodes and arcs of minimum cuts and
	// stages and edges of graphs: 25 milliseconds. Above largeStages, where each takes twice as
	// long, it is largeWork, and relaxations are solved to largeTolerance.
	heuristicWork = 5_000_000
	largeWork     = 3_000_000
	largeStages   = 8_000

	largeTolerance = 2e-3
	// repairStages is up to where sets are repaired stage by stage in quadratic time.
	repairStages = 400
)

// Solve finds the cut that frees the most byte-seconds of temporary storage within the
// problem's constraints: a best-first search over intervals of the cut's time, bounded
// by the linear relaxation, and over decisions on single stages at one time. It is
// exact if it is not ended early; otherwise, graphs of up to some hundred stages get
// exchanges at the end, and the result's Gap is certified.
// Errors: ErrOption.
func Solve(g *Graph, p Problem, o Options) (Result, error) {
	if o.Relaxations < 0 {
		return Result{}, fmt.Errorf("%d relaxations: %w", o.Relaxations, ErrOption)
	}
	if o.Relaxations == 0 {
		o.Relaxations = DefaultRelaxations
	}
	return solve(g, p, o, 0)
}

// Heuristic is the same search, ended after a fixed amount of work, whatever the graph's
// shape: the same answer on every machine. Its Gap is certified, too. Errors: ErrOption.
func Heuristic(g *Graph, p Problem) (Result, error) {
	work := heuristicWork
	if g.Len() > largeStages {
		work = largeWork
	}
	return solve(g, p, Options{Relaxations: math.MaxInt}, work)
}

// Prefix returns the best cut among those that hold everything that has ended at some
// time. It is optimal if nothing is constrained, and takes linear time. Its bound is what
// could be freed without constraints.
func Prefix(g *Graph, p Problem) (Result, error) {
	v, err := p.values(g)
	if err != nil {
		return Result{}, err
	}
	s := &search{solver: solver{v: v}}
	s.scan(nil)
	// Without the constraints, all that has ended at some time is the best at that time.
	worth := 0.0
	for i, w := range v.worth {
		worth += w
		s.bound = max(s.bound, worth*(g.end-g.stages[i].End))
	}
	return s.result(), nil
}

// search is the state of one call.
type search struct {
	solver
	// best is the incumbent, value its byte-seconds.
	best  []bool
	value float64
	// bound is what no open or closed subproblem exceeds.
	bound float64
	// horizons are the numbers of stages that have ended at each distinct end.
	horizons    []int
	open        subproblems
	relaxations int
	scratch     scratch
}

// subproblem are the cuts whose time is among horizons[from..to], with decisions.
type subproblem struct {
	from, to int
	fixes    []fix
	bound    float64
	// worth is the relaxation's bound, and relaxed says that it is this subproblem's own
	// and not that of the one that it was split from.
	worth   float64
	relaxed bool
	// multiplier is near the relaxation's best one.
	multiplier float64
	// branch is the stage to decide next, or -1.
	branch int32
}

// solve searches; work above 0 makes it the heuristic.
func solve(g *Graph, p Problem, o Options, work int) (Result, error) {
	v, err := p.values(g)
	if err != nil {
		return Result{}, err
	}
	s := &search{solver: solver{v: v, tolerance: rounding}}
	if s.workLimit = work; work > 0 && g.Len() > largeStages {
		s.tolerance = largeTolerance
	}
	s.scratch.left = repairWork
	s.scan(nil)
	s.bound = s.value
	for i := range g.stages {
		if end := g.stages[i].End; end < g.end && g.stages[i+1].End > end {
			s.horizons = append(s.horizons, i+1)
		}
	}
	if len(s.horizons) > 0 && !s.unconstrained() {
		s.push(subproblem{to: len(s.horizons) - 1, worth: g.bytes, branch: -1})
	}
	for len(s.open) > 0 {
		if s.closed(s.open[0].bound) {
			s.open = nil
			break
		}
		if s.relaxations >= o.Relaxations || s.spent() || o.Stop != nil && s.relaxations > 0 && o.Stop() {
			break
		}
		n := heap.Pop(&s.open).(subproblem)
		switch {
		case !n.relaxed:
			s.evaluate(n)
		case n.from < n.to:
			s.split(n)
		default:
			s.branch(n)
		}
	}
	if len(s.open) > 0 && g.Len() <= repairStages {
		s.scratch.left = exchangeWork
		s.exchange()
	}
	s.bound = s.value
	if len(s.open) > 0 {
		s.bound = max(s.bound, s.open[0].bound)
	}
	return s.result(), nil
}

// unconstrained reports whether the prefix scan was exact.
func (s *search) unconstrained() bool {
	for i, pinned := range s.v.pinned {
		if pinned || s.v.worth[i] == 0 && s.v.cost[i] > 0 {
			return false
		}
	}
	return s.v.budget >= s.v.g.bytes
}

func (s *search) seconds(horizon int) float64 {
	return s.v.g.end - s.v.g.stages[s.horizons[horizon]-1].End
}

// closed reports whether a bound cannot improve on the incumbent.
func (s *search) closed(bound float64) bool { return bound <= s.value*(1+2*rounding) }

func (s *search) push(n subproblem) {
	n.bound = n.worth * s.seconds(n.from)
	if !s.closed(n.bound) {
		heap.Push(&s.open, n)
	}
}

// evaluate relaxes a subproblem and tries the sets that come out.
func (s *search) evaluate(n subproblem) {
	s.relaxations++
	r := s.relax(s.horizons[n.to], n.fixes, s.value/s.seconds(n.from), n.multiplier)
	if r == nil {
		return
	}
	n.worth, n.relaxed, n.branch, n.multiplier = min(n.worth, r.bound), true, -1, r.multiplier
	s.try(r)
	if r.beyond == nil && n.from == n.to {
		return // the relaxation's set is within the budget, so optimal here
	}
	if r.within != nil && r.beyond != nil {
		n.branch = s.undecided(r)
	}
	s.push(n)
}

// undecided is the stage with the largest output among those that the relaxation has
// partly before the cut.
func (s *search) undecided(r *relaxation) int32 {
	best := int32(-1)
	for i := range r.beyond.in {
		if r.beyond.in[i] == r.within.in[i] {
			continue
		}
		if best < 0 || s.v.cost[i] > s.v.cost[best] {
			best = int32(i)
		}
	}
	return best
}

// split halves the interval of horizons.
func (s *search) split(n subproblem) {
	mid := (n.from + n.to) / 2
	left, right := n, n
	left.to, left.relaxed = mid, false
	right.from = mid + 1
	s.push(left)
	s.push(right) // the same stages may be before the cut, so the same relaxation
}

// branch decides a stage at a single horizon. First, a stage that alone ends at the
// horizon is before the cut: cuts without it belong to earlier horizons.
func (s *search) branch(n subproblem) {
	hi := s.horizons[n.to]
	if len(n.fixes) == 0 {
		n.relaxed = false
		if n.to == 0 && hi == 1 || n.to > 0 && hi-s.horizons[n.to-1] == 1 {
			n.fixes = []fix{{int32(hi - 1), true}}
			s.push(n)
			return
		}
	}
	if n.branch < 0 {
		return // the relaxation was ended early, below the incumbent
	}
	for _, in := range []bool{true, false} {
		child := n
		child.fixes = slices.Concat(n.fixes, []fix{{n.branch, in}})
		child.relaxed = false
		s.push(child)
	}
}

func (s *search) result() Result {
	r := Result{Relaxations: s.relaxations, Flows: s.flows, Bound: max(s.bound, s.value)}
	r.Cut = s.v.cut(s.best)
	r.Exact = s.closed(r.Bound)
	return r
}

// subproblems is a heap with the highest bound first; ties are broken by the interval
// and the number of decisions, so that the search is deterministic.
type subproblems []subproblem

func (h subproblems) Len() int { return len(h) }
func (h subproblems) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.bound != b.bound {
		return a.bound > b.bound
	}
	if a.from != b.from {
		return a.from < b.from
	}
	return len(a.fixes) > len(b.fixes)
}
func (h subproblems) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *subproblems) Push(x any) { *h = append(*h, x.(subproblem)) }

// Pop implements heap.Interface.
func (h *subproblems) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
