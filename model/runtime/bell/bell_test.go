package bell

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/ernest"
)

func condition(t *testing.T, runs []predict.Observation) predict.Predictor {
	t.Helper()
	g, err := Learner{}.Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := predict.Context{MachineType: "m", Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, InputBytes: 1e9}
	p, err := g.Condition(c, runs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A curve of Ernest's form is left to Ernest; one with a step is not.
func TestChoosesByCrossValidation(t *testing.T) {
	var smooth, step []predict.Observation
	for x := 2; x <= 20; x += 2 {
		smooth = append(smooth, predict.Observation{ScaleOut: x, RuntimeSeconds: 20 + 500/float64(x)})
		s := 100.
		if x > 10 {
			s = 300
		}
		step = append(step, predict.Observation{ScaleOut: x, RuntimeSeconds: s})
	}
	if _, ok := condition(t, smooth).(*ernest.Model); !ok {
		t.Error("a parametric curve is predicted by the non-parametric model")
	}
	if _, ok := condition(t, step).(*local); !ok {
		t.Error("a step is predicted by the parametric model")
	}
	if _, ok := condition(t, step[:MinScaleOuts-1]).(*ernest.Model); !ok {
		t.Error("there is a choice with two scale-outs")
	}
}

func TestLocalRegressionIsExactOnLines(t *testing.T) {
	var s []predict.Summary
	for x := 2; x <= 12; x += 2 {
		s = append(s, predict.Summary{ScaleOut: x, MedianSeconds: 200 - 10*float64(x), Repeats: 1})
	}
	for _, x := range []float64{3, 7.5, 11} {
		if got, want := newLocal(s).seconds(x), 200-10*x; math.Abs(got-want) > 1e-6 {
			t.Errorf("at %g: %g, want %g", x, got, want)
		}
	}
	if v := newLocal(s).seconds(1000); v < 80/maxExtrapolation-1e-9 {
		t.Errorf("far away: %g", v)
	}
}

func TestNoRuns(t *testing.T) {
	c := predict.Context{MachineType: "m", Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, InputBytes: 1e9}
	if _, err := (general{}).Condition(c, nil); !errors.Is(err, predict.ErrNoRuns) {
		t.Errorf("error %v", err)
	}
}
