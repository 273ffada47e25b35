package checkpoint

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReleaseAgreesWithEveryPairOfCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 6)
		p := drawProblem(t, g)
		v, err := p.values(g)
		if err != nil {
			t.Fatal(err)
		}
		type set struct {
			in          []bool
			worth, cost float64
			left        float64
		}
		var sets []set
		everyCut(v, func(in []bool, worth, cost float64, last int) {
			if last >= 0 && cost <= v.budget {
				sets = append(sets, set{slices.Clone(in), worth, cost, g.end - g.stages[last].End})
			}
		})
		one, two := 0.0, 0.0
		for _, a := range sets {
			one = max(one, a.worth*a.left)
			for _, b := range sets {
				nested := a.left > b.left && a.cost+b.cost <= v.budget
				for i := range a.in {
					nested = nested && (!a.in[i] || b.in[i])
				}
				if nested {
					two = max(two, a.worth*a.left+(b.worth-a.worth)*b.left)
				}
			}
		}
		for k, want := range []float64{one, max(one, two)} {
			r, err := PlanRelease(g, p, k+1)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Exact || math.Abs(r.ByteSeconds-want) > 1e-9*(1+want) {
				t.Fatalf("%d cuts free %g (exact: %v), the best %g", k+1, r.ByteSeconds, r.Exact, want)
			}
			if r.DurableBytes > v.budget {
				t.Fatalf("writes %g bytes, budget %g", r.DurableBytes, v.budget)
			}
		}
	})
}

// One cut of many is the single cut, and more never free less, also in larger graphs
// where the candidates are chosen.
func TestMoreCutsNeverFreeLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 25)
		p := drawProblem(t, g)
		single, err := Solve(g, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := PlanRelease(g, p, 4)
		if err != nil {
			t.Fatal(err)
		}
		if r.Marginal[0] < single.ByteSeconds*(1-1e-8) {
			t.Fatalf("one cut frees %g, the single cut %g", r.Marginal[0], single.ByteSeconds)
		}
		if !slices.IsSorted(r.Marginal) {
			t.Fatalf("freed by one cut and more: %v", r.Marginal)
		}
		v, _ := p.values(g)
		if r.DurableBytes > v.budget {
			t.Fatalf("writes %g bytes, budget %g", r.DurableBytes, v.budget)
		}
	})
}
