package checkpoint

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestExchangeSwapsPipelines(t *testing.T) {
	g, err := NewGraph([]Stage{
		{ID: 0, Bytes: 6, End: 10},
		{ID: 1, Bytes: 10, End: 10},
		{ID: 2, Bytes: 1, Parents: []int{0}, Start: 10, End: 11},
		{ID: 3, Parents: []int{1, 2}, Start: 11, End: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := Problem{Budget: 10}.values(g)
	if err != nil {
		t.Fatal(err)
	}
	s := &search{solver: solver{v: v}}
	s.scan([]bool{true, false, false, false})
	s.scratch.left = exchangeWork
	s.exchange()
	if r := s.result(); r.ByteSeconds != 900 || len(r.Persist) != 1 || r.Persist[0] != 1 {
		t.Errorf("%+v, want only the larger output", r.Cut)
	}
}

// Whenever the work allowed ends, the cut is one and its bound holds.
func TestHeuristicEndsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 11)
		p := drawProblem(t, g)
		want := bruteForce(g, p)
		work := rapid.IntRange(1, 5_000).Draw(t, "work")
		r, err := solve(g, p, Options{Relaxations: math.MaxInt}, work)
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, g, p, r)
		if r.Bound < want*(1-1e-9) || r.Exact && r.ByteSeconds < want*(1-1e-8) {
			t.Fatalf("frees %g, bound %g (exact: %v), optimum %g", r.ByteSeconds, r.Bound, r.Exact, want)
		}
	})
}
