package checkpoint

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawGraph draws a small job; sizes are small whole numbers, so that budgets bind and
// ties happen.
func drawGraph(t *rapid.T, most int) *Graph {
	n := rapid.IntRange(1, most).Draw(t, "stages")
	stages := make([]Stage, n)
	for i := range stages {
		s := Stage{ID: i, Bytes: float64(rapid.IntRange(0, 20).Draw(t, "bytes"))}
		s.Start = float64(rapid.IntRange(0, 10).Draw(t, "start"))
		s.End = s.Start + float64(rapid.IntRange(0, 20).Draw(t, "runtime"))
		s.Pinned = rapid.IntRange(0, 7).Draw(t, "pinned") == 0
		s.Hotspot = rapid.Bool().Draw(t, "hotspot")
		for p := range i {
			if rapid.IntRange(0, 3).Draw(t, "reads") == 0 {
				s.Parents = append(s.Parents, p)
			}
		}
		stages[i] = s
	}
	g, err := NewGraph(stages)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func drawProblem(t *rapid.T, g *Graph) Problem {
	p := Share(g, rapid.SampledFrom([]float64{0, .05, .1, .25, .5, 1}).Draw(t, "budget"))
	p.Unlimited = rapid.IntRange(0, 4).Draw(t, "unlimited") == 0
	p.HotspotsOnly = rapid.IntRange(0, 3).Draw(t, "hotspots only") == 0
	return p
}

// everyCut calls with each set that holds the parents of its stages and persists no
// pinned stage.
func everyCut(v *values, each func(in []bool, worth, cost float64, last int)) {
	n := v.g.Len()
	in := make([]bool, n)
	for mask := range 1 << n {
		closed := true
		for i := range n {
			in[i] = mask>>i&1 == 1
			for _, p := range v.g.parents(i) {
				closed = closed && (!in[i] || in[p])
			}
		}
		if !closed {
			continue
		}
		if worth, cost, last, ok := v.measure(in); ok {
			each(in, worth, cost, last)
		}
	}
}

// bruteForce looks at every set of stages.
func bruteForce(g *Graph, p Problem) float64 {
	v, err := p.values(g)
	if err != nil {
		panic(err)
	}
	best := 0.0
	everyCut(v, func(_ []bool, worth, cost float64, last int) {
		if last >= 0 && cost <= v.budget {
			best = max(best, worth*(g.end-g.stages[last].End))
		}
	})
	return best
}

func checkCut(t *rapid.T, g *Graph, p Problem, r Result) {
	t.Helper()
	v, _ := p.values(g)
	before := map[int]bool{}
	for _, id := range r.Before {
		before[id] = true
	}
	in := make([]bool, g.Len())
	end := 0.0
	for i, s := range g.stages {
		if in[i] = before[s.ID]; in[i] {
			end = max(end, s.End)
			for _, p := range s.Parents {
				if !before[p] {
					t.Fatalf("stage %d is before the cut, its parent %d is not", s.ID, p)
				}
			}
		}
	}
	worth, cost, _, ok := v.measure(in)
	if !ok {
		t.Fatal("a pinned stage crosses the cut")
	}
	if cost > v.budget {
		t.Fatalf("writes %g bytes, budget %g", cost, v.budget)
	}
	if r.Seconds != end || r.DurableBytes != cost || math.Abs(r.ByteSeconds-worth*(g.end-end)) > 1e-6 {
		t.Fatalf("reported %g s, %g bytes, %g freed; is %g, %g, %g", r.Seconds, r.DurableBytes, r.ByteSeconds, end, cost, worth*(g.end-end))
	}
	persisted := 0.0
	for _, s := range g.stages {
		if slices.Contains(r.Persist, s.ID) {
			persisted += s.Bytes
		}
	}
	if persisted != cost {
		t.Fatalf("the persisted stages have %g bytes, reported %g", persisted, cost)
	}
	if r.Bound < r.ByteSeconds {
		t.Fatalf("bound %g is below the value %g", r.Bound, r.ByteSeconds)
	}
}

func TestSolveAgreesWithEveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 11)
		p := drawProblem(t, g)
		want := bruteForce(g, p)
		exact, err := Solve(g, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, g, p, exact)
		if !exact.Exact || math.Abs(exact.ByteSeconds-want) > 1e-6*(1+want) {
			t.Fatalf("freed %g (exact: %v), the best cut frees %g", exact.ByteSeconds, exact.Exact, want)
		}
		heuristic, err := Heuristic(g, p)
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, g, p, heuristic)
		prefix, err := Prefix(g, p)
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, g, p, prefix)
		if heuristic.ByteSeconds > want*(1+1e-9) || heuristic.Bound < want*(1-1e-9) {
			t.Fatalf("heuristic frees %g, bound %g, optimum %g", heuristic.ByteSeconds, heuristic.Bound, want)
		}
		if prefix.Bound < want*(1-1e-9) || p.Unlimited && !slices.ContainsFunc(g.stages, func(s Stage) bool { return s.Pinned }) && !prefix.Exact {
			t.Fatalf("prefix scan: %+v, optimum %g", prefix, want)
		}
		if prefix.ByteSeconds > heuristic.ByteSeconds {
			t.Fatalf("prefix frees %g, heuristic %g", prefix.ByteSeconds, heuristic.ByteSeconds)
		}
	})
}

func TestSolveEndsWithACertifiedGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 11)
		p := drawProblem(t, g)
		want := bruteForce(g, p)
		r, err := Solve(g, p, Options{Relaxations: rapid.IntRange(1, 6).Draw(t, "relaxations")})
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, g, p, r)
		if r.Bound < want*(1-1e-9) {
			t.Fatalf("bound %g is below the optimum %g", r.Bound, want)
		}
		if r.Exact && r.ByteSeconds < want*(1-1e-8) {
			t.Fatalf("said to be exact: %g, but the optimum is %g", r.ByteSeconds, want)
		}
	})
}

func TestMoreBudgetNeverHurts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 25)
		low := rapid.Float64Range(0, 1).Draw(t, "low")
		high := rapid.Float64Range(low, 1).Draw(t, "high")
		a, err := Solve(g, Share(g, low), Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Solve(g, Share(g, high), Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := Heuristic(g, Share(g, high))
		if err != nil {
			t.Fatal(err)
		}
		if b.ByteSeconds < a.ByteSeconds*(1-1e-8) {
			t.Fatalf("budget %g frees %g, budget %g only %g", low, a.ByteSeconds, high, b.ByteSeconds)
		}
		if b.ByteSeconds < h.ByteSeconds*(1-1e-8) {
			t.Fatalf("exact frees %g, heuristic %g", b.ByteSeconds, h.ByteSeconds)
		}
	})
}
