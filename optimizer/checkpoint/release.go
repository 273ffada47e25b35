package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Release is a sequence of cuts that free storage one after the other. Each holds the
// one before; what it adds is freed at its time.
type Release struct {
	Cuts []Cut
	// ByteSeconds of storage are freed by all cuts together.
	ByteSeconds float64
	// Marginal[i] is what the best sequence of at most i+1 cuts frees; the difference to
	// the one before is what one more cut adds.
	Marginal []float64
	// DurableBytes of all cuts together.
	DurableBytes float64
	// Exact says that no sequence of as many cuts frees more: without constraints, and in
	// graphs with so few cuts that all can be looked at.
	Exact bool
}

const (
	// everySet is up to how many cuts all are candidates, in graphs of up to everyStages.
	everySet, everyStages = 1_024, 64
	// releaseHorizons bounds the times at which cuts are looked at, and releaseSets the
	// shares of the budget for which the best set at a time is a candidate.
	releaseHorizons, releaseSets = 1_024, 3
	// constrainedHorizons bounds the times if a linear program is solved for each.
	constrainedHorizons = 48
	// releaseStages is up to where all of these are looked at; in larger graphs it is half of
	// them, and the single cut is the heuristic's, so that an answer takes no seconds.
	releaseStages = 400
)

// bounded is the best single cut that is found without taking seconds.
func bounded(g *Graph, p Problem) (Result, error) {
	if g.Len() > releaseStages {
		return Heuristic(g, p)
	}
	return Solve(g, p, Options{})
}

// releaseCut is a candidate: its stages as a bit each.
type releaseCut struct {
	in          []bool
	bits        []uint64
	worth, cost float64
	seconds     float64
}

// PlanRelease finds the at most k cuts that free most storage, within the problem's
// constraints on all cuts together. Each cut is complete, so that outputs that two cuts
// persist count twice. Errors: ErrOption.
func PlanRelease(g *Graph, p Problem, k int) (Release, error) {
	if k < 1 || k > MaxCuts {
		return Release{}, fmt.Errorf("%d cuts: must be between 1 and %d: %w", k, MaxCuts, ErrOption)
	}
	v, err := p.values(g)
	if err != nil {
		return Release{}, err
	}
	best, err := bounded(g, p)
	if err != nil {
		return Release{}, err
	}
	s := &search{solver: solver{v: v, tolerance: rounding}}
	candidates, exact := s.releaseCuts(best, k)
	r := &releaser{v: v, candidates: candidates, exact: exact}
	return r.plan(k), nil
}

// releaseCuts lists the candidates for at most k cuts in order of time.
func (s *search) releaseCuts(best Result, k int) (out []releaseCut, exact bool) {
	g := s.v.g
	var horizons []int
	for i := range g.Len() - 1 {
		if g.stages[i].End < g.end && g.stages[i+1].End > g.stages[i].End {
			horizons = append(horizons, i+1)
		}
	}
	if s.unconstrained() && s.v.budget >= float64(k)*g.bytes {
		exact = len(horizons) <= releaseHorizons
		for _, hi := range thin(horizons, releaseHorizons) {
			out = append(out, s.candidate(slices.Repeat([]bool{true}, hi)))
		}
		return out, exact
	}
	if sets, all := s.every(); all {
		out, exact = sets, true
	} else {
		times := constrainedHorizons
		if g.Len() > releaseStages {
			times /= 2
		}
		for _, hi := range thin(horizons, times) {
			for share := range releaseSets {
				out = append(out, s.within(hi, math.Pow(.5, float64(share)))...)
			}
		}
	}
	if len(best.Before) > 0 {
		before := make(map[int]bool, len(best.Before))
		for _, id := range best.Before {
			before[id] = true
		}
		in := make([]bool, g.Len())
		for i := range in {
			in[i] = before[g.stages[i].ID]
		}
		out = append(out, s.candidate(in))
	}
	slices.SortStableFunc(out, func(a, b releaseCut) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.worth, b.worth))
	})
	return out, exact
}

// thin chooses at most n, evenly, with the last.
func thin(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = list[(i+1)*len(list)/n-1]
	}
	return out
}

// within are the sets at a horizon that a share of the budget allows.
func (s *search) within(hi int, share float64) []releaseCut {
	whole := s.v.budget
	s.v.budget *= share
	defer func() { s.v.budget = whole }()
	r := s.relax(hi, nil, 0, 0)
	if r == nil || r.within == nil {
		return nil
	}
	in := slices.Clone(r.within.in)
	s.fill(in, r.within.cost, func(int32) bool { return true })
	var out []releaseCut
	for _, in := range [][]bool{r.within.in, in} {
		if _, cost, last, ok := s.v.measure(in); ok && last >= 0 && cost <= s.v.budget {
			out = append(out, s.candidate(in))
		}
	}
	return out
}

func (s *search) candidate(in []bool) releaseCut {
	worth, cost, last, _ := s.v.measure(in)
	c := releaseCut{in: in, worth: worth, cost: cost, bits: make([]uint64, (s.v.g.Len()+63)/64)}
	if last >= 0 {
		c.seconds = s.v.g.stages[last].End
	}
	for i, ok := range in {
		if ok {
			c.bits[i/64] |= 1 << (i % 64)
		}
	}
	return c
}

// every lists all cuts within the constraints; all is false if they are too many.
func (s *search) every() (out []releaseCut, all bool) {
	g := s.v.g
	if g.Len() > everyStages {
		return nil, false
	}
	in := make([]bool, g.Len())
	looked := 0
	var choose func(i int) bool
	choose = func(i int) bool {
		if i == len(in) {
			if looked++; looked > everySet {
				return false
			}
			if _, cost, last, ok := s.v.measure(in); ok && last >= 0 && cost <= s.v.budget {
				out = append(out, s.candidate(slices.Clone(in)))
			}
			return true
		}
		if !choose(i + 1) {
			return false
		}
		for _, p := range g.parents(i) {
			if !in[p] {
				return true
			}
		}
		in[i] = true
		ok := choose(i + 1)
		in[i] = false
		return ok
	}
	return out, choose(0)
}

// releaser is the dynamic program over the last cut and the number of cuts.
type releaser struct {
	v          *values
	candidates []releaseCut
	exact      bool
}

func (r *releaser) plan(k int) Release {
	out := Release{}
	n := len(r.candidates)
	table := make([][][]label, k)
	best := end{length: -1}
	c := &chain{v: r.v, exact: r.exact}
	for round := range k {
		table[round] = make([][]label, n)
		for j, b := range r.candidates {
			left := r.v.g.end - b.seconds
			var list []label
			if round == 0 {
				list = []label{{saved: b.worth * left, cost: b.cost, previous: -1}}
			} else {
				for i, a := range r.candidates[:j] {
					if !a.within(b) {
						continue
					}
					for at, l := range table[round-1][i] {
						if cost := l.cost + b.cost; cost <= r.v.budget {
							list = append(list, label{l.saved + (b.worth-a.worth)*left, cost, int32(i), int32(at)})
						}
					}
				}
				list = c.best(list)
			}
			table[round][j] = list
			for at, l := range list {
				if l.saved > best.saved*(1+1e-12) {
					best = end{l.saved, round, j, at}
				}
			}
		}
		out.Marginal = append(out.Marginal, best.saved)
	}
	out.ByteSeconds, out.Exact = best.saved, c.exact
	if best.length < 0 {
		return out
	}
	out.DurableBytes = table[best.length][best.candidate][best.at].cost
	for round, i, at := best.length, best.candidate, best.at; round >= 0; round-- {
		out.Cuts = append(out.Cuts, r.v.cut(r.candidates[i].in))
		l := table[round][i][at]
		i, at = int(l.previous), int(l.at)
	}
	slices.Reverse(out.Cuts)
	return out
}

// within reports whether b holds all stages of a, and is later.
func (a releaseCut) within(b releaseCut) bool {
	if a.seconds >= b.seconds {
		return false
	}
	for i, w := range a.bits {
		if w&^b.bits[i] != 0 {
			return false
		}
	}
	return true
}
