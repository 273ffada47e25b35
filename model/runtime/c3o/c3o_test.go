package c3o

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// history of a job whose runtime is a product of what scale-out and context do.
func history(contexts int) []predict.History {
	var out []predict.History
	for i := range contexts {
		size := float64(5 + 3*(i*7%contexts))
		h := predict.History{Context: predict.Context{
			MachineType: "m", Resources: model.Resources{VCPUs: 8, MemoryGiB: 32}, InputBytes: size * 1e9,
			Arguments: []predict.Argument{{Name: "k", Number: float64(1 + i%4)}},
		}}
		for _, x := range []int{2, 4, 6, 8, 10, 12} {
			h.Runs = append(h.Runs, predict.Observation{
				ScaleOut: x, RuntimeSeconds: (10*size + 40*float64(i%4)) * (.2 + 4/float64(x)),
			})
		}
		out = append(out, h)
	}
	return out
}

func TestOptimisticModelsLearnProducts(t *testing.T) {
	all := history(10)
	points := newFeatures(all).points(all)
	for k, limit := range map[kind]float64{bom: .12, ogb: .1, gbm: .1} {
		f, err := fit(k, points)
		if err != nil {
			t.Fatal(err)
		}
		var e float64
		for i := range points {
			e += math.Abs(f(&points[i])/points[i].seconds-1) / float64(len(points))
		}
		if e > limit {
			t.Errorf("model %d: training error %.3f", k, e)
		}
	}
}

func TestCrossValidationPrefersBOMHere(t *testing.T) {
	all := history(16)
	c, err := choose(newFeatures(all).points(all))
	if err != nil {
		t.Fatal(err)
	}
	if c.kind != bom && c.kind != ogb {
		t.Errorf("model %d is chosen for a product", c.kind)
	}
}

// With few points the polynomial would blow up; predictions stay near what was seen.
func TestGuard(t *testing.T) {
	all := history(3)
	for i := range all {
		all[i].Runs = all[i].Runs[i : i+2]
	}
	g, err := Learner{}.Fit(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	low, high := math.Inf(1), 0.
	for _, h := range all {
		for _, r := range h.Runs {
			low, high = min(low, r.RuntimeSeconds), max(high, r.RuntimeSeconds)
		}
	}
	p, err := g.Condition(all[0].Context, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []int{1, 3, 30, 1000} {
		d, err := p.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		if m := d.Median(); m < low/guard*.999 || m > high*guard*1.001 {
			t.Errorf("at %d nodes %g s, seen were %g to %g s", x, m, low, high)
		}
	}
}

func TestNothingKnown(t *testing.T) {
	g, err := Learner{}.Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := history(1)[0]
	if _, err := g.Condition(c.Context, nil); !errors.Is(err, predict.ErrNoRuns) {
		t.Errorf("without runs: %v", err)
	}
	if _, err := g.Condition(c.Context, c.Runs[:1]); err != nil {
		t.Errorf("with a run: %v", err)
	}
}
