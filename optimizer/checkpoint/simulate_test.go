package checkpoint

import (
	"errors"
	"math"
	"testing"
)

func line3(t *testing.T) *Graph {
	t.Helper()
	g, err := NewGraph([]Stage{
		{ID: 0, Bytes: 1e9, End: 100},
		{ID: 1, Parents: []int{0}, Bytes: 1e9, Start: 100, End: 200},
		{ID: 2, Parents: []int{1}, Start: 200, End: 300},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSimulationAgreesWithTheExpectation(t *testing.T) {
	g := line3(t)
	for _, f := range []Failures{{}, {From: .75}, {Law: Weibull}} {
		for k := range 3 {
			var policy Policy
			if k > 0 {
				plan, err := PlanRestart(g, Problem{Unlimited: true}, f, k)
				if err != nil {
					t.Fatal(err)
				}
				policy = plan.Steps()
			}
			want, _, err := Expected(g, policy, f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Simulate(g, policy, f, 100_000, 1)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.LostSeconds-want) > .02*want || got.Failures != 1 {
				t.Errorf("%+v, %d cuts: %g s lost in %g failures, expected %g s", f, k, got.LostSeconds, got.Failures, want)
			}
			if math.Abs(got.Seconds-g.Seconds()-got.LostSeconds-got.WriteSeconds) > 1e-6 {
				t.Errorf("%g s are not %g s of work, %g s lost and %g s of writes", got.Seconds, g.Seconds(), got.LostSeconds, got.WriteSeconds)
			}
		}
	}
}

// A job that starts over under a constant rate takes (exp(rate x length) - 1) / rate.
func TestSimulationOfAConstantRate(t *testing.T) {
	g := line3(t)
	const rate = 12.0 // an hour
	got, err := Simulate(g, Policy{}, Failures{Law: Exponential, PerHour: rate}, 100_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := math.Expm1(rate/3600*300) / (rate / 3600)
	if math.Abs(got.Seconds-want) > .02*want {
		t.Errorf("takes %g s, should take %g s", got.Seconds, want)
	}
}

func TestSimulationOfAHopelessJobEnds(t *testing.T) {
	got, err := Simulate(line3(t), Policy{}, Failures{Law: Exponential, PerHour: 1e6}, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unfinished != 1 {
		t.Errorf("%g of the runs did not end, all should", got.Unfinished)
	}
	if _, err := Simulate(line3(t), Policy{}, Failures{}, 0, 1); !errors.Is(err, ErrOption) {
		t.Errorf("no runs: %v", err)
	}
}
