package checkpoint

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// With true predictions, deciding as stages finish is as good as knowing everything.
func TestPlannerWithTruePredictionsReachesTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 9)
		p := drawProblem(t, g)
		for _, s := range g.stages { // a stage that takes longer than its parents leave it would be moved
			for _, parent := range s.Parents {
				for _, q := range g.stages {
					if q.ID == parent && q.End > s.Start {
						t.Skip("stages overlap")
					}
				}
			}
		}
		best, err := Solve(g, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		planner, err := NewPlanner(g.Stages(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range g.stages {
			if err := planner.Finish(s.ID, s.Bytes, s.Start, s.End); err != nil {
				t.Fatal(err)
			}
			d, err := planner.Decide()
			if err != nil {
				t.Fatal(err)
			}
			if !d.Commit {
				continue
			}
			for _, id := range d.Before {
				if !planner.done[planner.place[id]] {
					t.Fatalf("committed to stage %d, which has not finished", id)
				}
			}
			if d.ByteSeconds < best.ByteSeconds*(1-1e-6)-1e-6 {
				t.Fatalf("committed to %g, the optimum is %g", d.ByteSeconds, best.ByteSeconds)
			}
			return
		}
		if best.ByteSeconds > 1e-6 {
			t.Fatalf("never committed, the optimum is %g", best.ByteSeconds)
		}
	})
}

func TestPlannerUsesTrueSizes(t *testing.T) {
	stages := []Stage{
		{ID: 0, Bytes: 100, End: 10},
		{ID: 1, Parents: []int{0}, Bytes: 10, Start: 10, End: 20},
		{ID: 2, Parents: []int{1}, Start: 20, End: 100},
	}
	p, err := NewPlanner(stages, Problem{Budget: 50}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The first output is smaller than predicted, so it fits the budget; waiting for the
	// second is still better, until that turns out not to fit.
	if err := p.Finish(0, 40, 0, 10); err != nil {
		t.Fatal(err)
	}
	d, err := p.Decide()
	if err != nil {
		t.Fatal(err)
	}
	if d.Commit || !slices.Equal(d.Missing, []int{1}) {
		t.Fatalf("decision after stage 0: %+v", d)
	}
	if err := p.Finish(1, 60, 10, 20); err != nil {
		t.Fatal(err)
	}
	if d, err = p.Decide(); err != nil {
		t.Fatal(err)
	}
	if !d.Commit || !slices.Equal(d.Persist, []int{0}) {
		t.Fatalf("decision after stage 1: %+v", d)
	}
	for _, err := range []error{p.Finish(1, 0, 0, 1), p.Predict(1, 0, 0, 1)} {
		if !errors.Is(err, ErrDuplicate) {
			t.Errorf("a finished stage again: %v", err)
		}
	}
	if err := p.Finish(7, 0, 0, 1); !errors.Is(err, ErrParent) {
		t.Errorf("an unknown stage: %v", err)
	}
	if err := p.Finish(2, math.NaN(), 0, 1); !errors.Is(err, ErrAmount) {
		t.Errorf("a size that is no number: %v", err)
	}
}
