package search_test

import (
	"errors"
	"math"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/optimizer/search"
)

// foreseeable is a problem of six candidates of one machine type.
func foreseeable() (*search.Problem, []predict.Distribution) {
	p := &search.Problem{Topic: model.Topic{Infrastructure: "lab", Framework: "spark", Algorithm: "sort"}, Objective: search.Cost, InputBytes: 3e9}
	var predicted []predict.Distribution
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		p.Candidates = append(p.Candidates, search.Candidate{
			Configuration: model.Configuration{MachineType: "m", ScaleOut: n}, Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, USDPerHour: 1,
		})
		predicted = append(predicted, predict.Distribution{LogMedian: math.Log(600 / float64(n)), Scale: .05, Freedom: 4})
	}
	return p, predicted
}

func TestForesee(t *testing.T) {
	p, predicted := foreseeable()
	before := []search.Support{{Organisation: "other"}}
	p.Supports = before
	used, err := search.Foresee(p, predicted, nil)
	if err != nil || !used {
		t.Fatal(used, err)
	}
	if len(before) != 1 || len(p.Supports) != 2 || p.Supports[0].Author != search.PredictionAuthor || p.Supports[1].Organisation != "other" {
		t.Errorf("supports %+v", p.Supports)
	}
	if err := p.Supports[0].Summary.Validate(); err != nil {
		t.Error(err)
	}
	e, err := search.NewEvidence().Evaluate(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range e.Predictions {
		if d := math.Abs(q.LogMean - predicted[i].LogMedian); d > .25 {
			t.Errorf("%s: predicted %.0f s, the search says %.0f s", p.Candidates[i].Configuration, predicted[i].Median(), q.RuntimeSeconds)
		}
	}
}

// Candidates of which little is known do not blur the level.
func TestForeseeUnfamiliar(t *testing.T) {
	p, predicted := foreseeable()
	predicted[0].Scale, predicted[5].Scale = 1, 1
	if used, err := search.Foresee(p, predicted, nil); err != nil || !used {
		t.Fatal(used, err)
	}
	if n := len(p.Supports[0].Summary.Points); n != 4 || p.LevelSD > .35 {
		t.Errorf("%d points, level ±%.2f", n, p.LevelSD)
	}
}

// A run that contradicts the level makes it worth less.
func TestForeseeAfterRuns(t *testing.T) {
	sd := func(seconds float64, outcome model.Outcome) float64 {
		p, predicted := foreseeable()
		if _, err := search.Foresee(p, predicted, []search.Observation{{Configuration: p.Candidates[2].Configuration, Outcome: outcome, RuntimeSeconds: seconds}}); err != nil {
			t.Fatal(err)
		}
		return p.LevelSD
	}
	if right, wrong := sd(150, model.OK), sd(750, model.OK); right > .35 || wrong < math.Log(5) {
		t.Errorf("level ±%.2f after a run as predicted, ±%.2f after one five times as long", right, wrong)
	}
	if failed := sd(0, model.Failed); failed != sd(150, model.OK) {
		t.Errorf("a failed run changes the level to ±%.2f", failed)
	}
}

func TestForeseeRefuses(t *testing.T) {
	p, predicted := foreseeable()
	if _, err := search.Foresee(p, predicted[1:], nil); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("too few predictions: %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		q, some := foreseeable()
		some[3].LogMedian = bad
		if _, err := search.Foresee(q, some, nil); !errors.Is(err, model.ErrInvalid) || q.Supports != nil || q.LevelSD != 0 {
			t.Errorf("a prediction of %g: %v", bad, err)
		}
	}
	for i := range predicted {
		predicted[i].LogMedian *= -1
	}
	if used, err := search.Foresee(p, predicted, nil); used || err != nil || p.Supports != nil || p.LevelSD != 0 {
		t.Errorf("runtimes that rise with the cluster: used %t, %v", used, err)
	}
}

// A prediction that could be anything is no beginning of a search.
func TestForeseeVague(t *testing.T) {
	p, predicted := foreseeable()
	for i := range predicted {
		predicted[i].Scale = 4
	}
	used, err := search.Foresee(p, predicted, nil)
	if used || !errors.Is(err, search.ErrVague) || len(p.Supports) > 0 || p.LevelSD != 0 {
		t.Errorf("%v, %v, %d supports", used, err, len(p.Supports))
	}
}
