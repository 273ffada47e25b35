package checkpoint

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// restarts lists every cut as restart point, readiness and cost.
func restarts(g *Graph, p Problem) (out []restartCut) {
	v, err := p.values(g)
	if err != nil {
		panic(err)
	}
	everyCut(v, func(in []bool, _, cost float64, last int) {
		if last < 0 || cost > v.budget {
			return
		}
		c := restartCut{start: v.resume.point(in), ready: g.stages[last].End + cost/p.Bandwidth, cost: cost}
		out = append(out, c)
	})
	return out
}

func TestPlanAgreesWithEveryPairOfCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 7)
		p := drawProblem(t, g)
		p.Packed = rapid.Bool().Draw(t, "packed")
		p.Bandwidth = rapid.SampledFrom([]float64{1, 10, 1000}).Draw(t, "bandwidth")
		p.MaxSlowdown = rapid.SampledFrom([]float64{0, .05, .3}).Draw(t, "slow-down")
		f := rapid.SampledFrom([]Failures{{}, {From: .75}, {Law: Weibull}, {Law: Exponential, PerHour: 100}}).Draw(t, "failures")
		v, err := p.values(g)
		if err != nil {
			t.Fatal(err)
		}
		cuts := restarts(g, p)
		one, two := 0.0, 0.0
		first := v.resume.first
		for _, a := range cuts {
			if a.ready < g.end {
				one = max(one, f.gain(first, a.start, a.ready, g.end, g.end))
			}
			for _, b := range cuts {
				if a.ready <= b.ready && a.start < b.start && b.ready < g.end && a.cost+b.cost <= v.budget {
					two = max(two, f.gain(first, a.start, a.ready, b.ready, g.end)+f.gain(first, b.start, b.ready, g.end, g.end))
				}
			}
		}
		two = max(one, two)
		for k, want := range []float64{one, two} {
			plan, err := PlanRestart(g, p, f, k+1)
			if err != nil {
				t.Fatal(err)
			}
			if !plan.Exact || math.Abs(plan.SavedSeconds-want) > 1e-9*(1+want) {
				t.Fatalf("%d cuts save %g s (exact: %v), the best %g s", k+1, plan.SavedSeconds, plan.Exact, want)
			}
			if plan.DurableBytes > v.budget {
				t.Fatalf("writes %g bytes, budget %g", plan.DurableBytes, v.budget)
			}
			if plan.SavedSeconds > plan.LostSeconds*(1+1e-9) {
				t.Fatalf("saves %g s of %g s", plan.SavedSeconds, plan.LostSeconds)
			}
		}
	})
}

func TestFailuresLoseWhatTheirLawSays(t *testing.T) {
	const length = 500.0
	for _, f := range []Failures{
		{}, {From: .75}, {Law: Weibull}, {Law: Weibull, PerHour: 3}, {Law: Weibull, Shape: 2, PerHour: 20}, {Law: Exponential, PerHour: 10},
	} {
		// Quantiles of the law, weighted alike, are an independent integral.
		const draws = 200_000
		sum := 0.0
		for i := range draws {
			if at, fails := f.Draw((float64(i)+.5)/draws, length); fails {
				sum += at
			}
		}
		if got, want := f.lost(length), sum/draws; math.Abs(got-want) > 1e-3*want {
			t.Errorf("%+v: loses %g s, by drawing %g s", f, got, want)
		}
	}
}
