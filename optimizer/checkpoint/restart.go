package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MaxCuts bounds the cuts of a plan.
const MaxCuts = 32

// Plan is a sequence of cuts against failures. A job that fails after a cut's outputs
// are written starts again at the cut's RestartSeconds.
type Plan struct {
	Cuts []Cut
	// LostSeconds is the work that a failure is expected to cost without a cut,
	// SavedSeconds what the cuts are expected to save of it.
	LostSeconds, SavedSeconds float64
	// FirstSeconds is the point of its time from which a job goes on that starts over: the
	// first stage's start. What goes before is done again in any case.
	FirstSeconds float64
	// Marginal[i] is what the best plan with at most i+1 cuts saves, in seconds; the
	// difference to the one before is what one more cut adds.
	Marginal []float64
	// DurableBytes and WriteSeconds of all cuts together.
	DurableBytes, WriteSeconds float64
	// Exact says that no plan with as many cuts saves more; otherwise candidates were
	// thinned out, and the plan is the best of those left.
	Exact bool
}

// Reduction is the share of lost work that the plan saves.
func (p Plan) Reduction() float64 {
	if p.LostSeconds <= 0 {
		return 0
	}
	return p.SavedSeconds / p.LostSeconds
}

const (
	// allPairs is up to how many stages every combination of restart point and cut time
	// is looked at, cutFlows up to how many stages a minimum cut finds the cheapest
	// outputs for each, and levels how many restart points are looked at.
	allPairs, cutFlows, levels = 64, 1_000, 256
	// labels bounds the trade-offs between saved time and bytes that are kept for each
	// candidate and number of cuts.
	labels = 48
)

// restartCut is a candidate: the cheapest outputs so that all work before start is
// durable at ready.
type restartCut struct {
	in           []bool
	start, ready float64 // seconds
	cost         float64
}

// PlanRestart finds the at most k cuts that save most work when the job fails, within
// the problem's constraints on all cuts together. Each cut is complete, so that those
// before it can be deleted; outputs that two cuts persist count twice. Writing takes
// time, after which the cut holds.
// Errors: ErrOption.
func PlanRestart(g *Graph, p Problem, f Failures, k int) (Plan, error) {
	plans, err := RestartPlans(g, p, f, k)
	if err != nil {
		return Plan{}, err
	}
	return plans[k-1], nil
}

// RestartPlans returns the best plans of at most one, two, to k cuts, which is no more
// work than the last. Errors: ErrOption.
func RestartPlans(g *Graph, p Problem, f Failures, k int) ([]Plan, error) {
	if k < 1 || k > MaxCuts {
		return nil, fmt.Errorf("%d cuts: must be between 1 and %d: %w", k, MaxCuts, ErrOption)
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	v, err := p.values(g)
	if err != nil {
		return nil, err
	}
	width, err := bandwidth(p.Bandwidth)
	if err != nil {
		return nil, err
	}
	s := &solver{v: v}
	candidates, exact := s.restartCuts(width)
	chain := &chain{v: v, f: f, candidates: candidates, width: width, exact: exact}
	return chain.plans(k), nil
}

// restartCuts lists the candidates in order of readiness. Restarting at a time needs
// everything that starts earlier, which is ready when the last of it ends; waiting for
// more to end can make the outputs smaller.
func (s *solver) restartCuts(width float64) (out []restartCut, exact bool) {
	g := s.v.g
	n := g.Len()
	starts := make([]float64, 0, n)
	for _, start := range s.v.resume.start {
		if start > s.v.resume.first {
			starts = append(starts, start)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	exact = n <= allPairs
	if len(starts) > levels {
		exact = false
		thin := make([]float64, levels)
		for i := range thin {
			thin[i] = starts[(i+1)*len(starts)/levels-1]
		}
		starts = slices.Compact(thin)
	}
	for _, start := range starts {
		out = s.restartAt(out, start, width)
	}
	slices.SortStableFunc(out, func(a, b restartCut) int {
		return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.start, b.start), cmp.Compare(a.cost, b.cost))
	})
	return out, exact
}

// restartAt adds the candidates for one restart point.
func (s *solver) restartAt(out []restartCut, start, width float64) []restartCut {
	g := s.v.g
	n := g.Len()
	must := make([]bool, n)
	var fixes []fix
	last := -1
	for i := n - 1; i >= 0; i-- {
		must[i] = s.v.resume.start[i] < start
		for _, c := range g.children(i) {
			must[i] = must[i] || must[c]
		}
		if must[i] {
			fixes = append(fixes, fix{int32(i), true})
			last = max(last, i)
		}
	}
	cheapest := math.Inf(1)
	tries := 0
	for hi := last + 1; last >= 0 && hi < n; hi++ {
		end := g.stages[hi-1].End
		if end >= g.end {
			break
		}
		if g.stages[hi].End == end {
			continue // more stages end at the same time
		}
		if tries++; tries > 1 && n > allPairs {
			break
		}
		l := s.cheapest(hi, fixes, must)
		if l == nil || l.cost > s.v.budget || l.cost >= cheapest {
			continue
		}
		cheapest = l.cost
		c := restartCut{in: l.in, cost: l.cost, start: s.v.resume.point(l.in)}
		lastEnd := 0.0
		for i := range n {
			if i < len(l.in) && l.in[i] {
				lastEnd = g.stages[i].End
			}
		}
		if c.ready = lastEnd + c.cost/width; c.ready < g.end {
			out = append(out, c)
		}
		if c.cost == 0 {
			break
		}
	}
	return out
}

// cheapest is the set among the first hi stages that holds what it must and writes the
// least; nil if a pinned stage is in the way.
func (s *solver) cheapest(hi int, fixes []fix, must []bool) *line {
	if s.v.g.Len() <= cutFlows {
		if !s.reduce(hi, fixes) {
			return nil
		}
		s.build(hi)
		return s.heaviest(hi, 1e9*s.unit())
	}
	// Too large for a minimum cut each: what it must hold, or all that has ended.
	var best *line
	for _, in := range [][]bool{must[:hi], slices.Repeat([]bool{true}, hi)} {
		worth, cost, _, ok := s.v.measure(in)
		if ok && (best == nil || cost < best.cost) {
			best = &line{in: in, worth: worth, cost: cost}
		}
	}
	return best
}
