package search

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

func observe(p *Problem, candidate int, seconds float64) Observation {
	return ran(p.Candidates[candidate], seconds, model.OK)
}

func evaluate(t *testing.T, p *Problem, observed ...Observation) *Evaluation {
	t.Helper()
	e, err := NewEvidence().Evaluate(p, observed)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBudgetIsARuntimeLimit: where all candidates cost the same an hour, a budget and
// the target that it amounts to say the same.
func TestBudgetIsARuntimeLimit(t *testing.T) {
	p := &Problem{Candidates: grid(), Objective: Runtime, Target: time.Hour}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		c.USDPerHour = 1 / float64(c.Configuration.ScaleOut)
	}
	budget := *p
	// The target stays in force, so that the prior of the level does too.
	p.Target, budget.BudgetUSD = time.Hour, 2
	if a, b := evaluate(t, p, observe(p, 0, 4000)), evaluate(t, &budget, observe(p, 0, 4000)); a.Next != b.Next || a.Predictions[1].MeetsTarget != b.Predictions[1].MeetsTarget {
		t.Error("a budget above the target changes something")
	}
	budget.BudgetUSD = .5 // half an hour
	e := evaluate(t, &budget, observe(p, 0, 2400))
	if e.Incumbent >= 0 {
		t.Errorf("a run of 40 minutes is within a budget for 30")
	}
	if e = evaluate(t, &budget, observe(p, 0, 1700)); e.Incumbent != 0 {
		t.Errorf("a run of 28 minutes is not within a budget for 30")
	}
	budget.Target = 0
	if e = evaluate(t, &budget, observe(p, 0, 1700)); e.Incumbent != 0 || e.Next < 0 || e.Predictions[1].MeetsTarget >= 1 {
		t.Errorf("a budget without a target: %+v", e)
	}
	for i := range budget.Candidates {
		budget.Candidates[i].USDPerHour = 0
	}
	if _, err := NewEvidence().Evaluate(&budget, nil); !errors.Is(err, ErrUnknownPrice) {
		t.Errorf("a budget without prices: %v", err)
	}
}

func TestConfidence(t *testing.T) {
	p := &Problem{Candidates: grid(), Objective: Cost, Target: 1000 * time.Second, Confidence: .95}
	if e := evaluate(t, p, observe(p, 3, 990)); e.Incumbent >= 0 {
		t.Errorf("a run just within the target is an answer at 95%%: %.2f", e.Predictions[3].MeetsTarget)
	}
	e := evaluate(t, p, observe(p, 3, 500))
	if e.Incumbent != 3 || e.Predictions[3].MeetsTarget < .95 {
		t.Errorf("a run of half the target is none: %.2f", e.Predictions[3].MeetsTarget)
	}
	// Being surer never makes a run worth more.
	for _, observed := range [][]Observation{nil, {observe(p, 3, 500)}, {observe(p, 3, 1500)}} {
		p.Confidence = 0
		before := evaluate(t, p, observed...).Predictions
		for _, c := range []float64{.5, .8, .95, .999} {
			p.Confidence = c
			now := evaluate(t, p, observed...)
			for i := range now.Predictions {
				if a, b := now.Predictions[i].Acquisition, before[i].Acquisition; a > b+1e-9 && now.Incumbent >= 0 {
					t.Errorf("confidence %g: candidate %d is worth %g, %g without", c, i, a, b)
				}
				if now.Predictions[i].MeetsTarget != before[i].MeetsTarget {
					t.Errorf("confidence %g changes a probability", c)
				}
			}
		}
	}
	for _, bad := range []float64{-1, .2, 1, math.NaN()} {
		p.Confidence = bad
		if _, err := NewEvidence().Evaluate(p, nil); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("confidence %g: %v", bad, err)
		}
	}
}

func TestWhoTakesWhat(t *testing.T) {
	several := &Problem{Candidates: grid(), Objectives: []Objective{Cost, Runtime}, Target: time.Hour}
	budget := &Problem{Candidates: grid(), Objective: Cost, BudgetUSD: 1}
	sure := &Problem{Candidates: grid(), Objective: Cost, Target: time.Hour, Confidence: .9}
	for _, tt := range []struct {
		method  string
		problem *Problem
		ok      bool
	}{
		{"evidence", several, true}, {"evidence", budget, true}, {"evidence", sure, true},
		{"random", several, true}, {"random", budget, true}, {"random", sure, false},
		{"karasu", several, true}, {"karasu", budget, true}, {"karasu", sure, true},
		{"karasu-trees", several, true}, {"karasu-trees", budget, true}, {"karasu-trees", sure, true},
		{"cherrypick", several, true}, {"cherrypick", budget, true}, {"cherrypick", sure, true},
		{"arrow", several, true}, {"arrow", budget, true}, {"arrow", sure, true},
	} {
		m, err := New(tt.method)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = m.Evaluate(tt.problem, nil); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
}

// TestParetoSearchEndsWithAFront runs a pair and a triple to the end of the space.
func TestParetoSearchEndsWithAFront(t *testing.T) {
	for _, objectives := range [][]Objective{{Cost, Runtime}, {Cost, Energy}, {Cost, Runtime, Carbon}, {Energy, Carbon}} {
		p := &Problem{Candidates: grid(), Objectives: objectives}
		for i := range p.Candidates {
			p.Candidates[i].GramsPerKWh = 300
		}
		m := NewEvidence()
		var observed []Observation
		var e *Evaluation
		for n := 0; ; n++ {
			var err error
			if e, err = m.Evaluate(p, observed); err != nil {
				t.Fatal(err)
			}
			for i, q := range e.Predictions {
				if !(q.Acquisition >= 0) || math.IsInf(q.Acquisition, 0) {
					t.Fatalf("%v: candidate %d is worth %g", objectives, i, q.Acquisition)
				}
			}
			if e.Next < 0 {
				break
			}
			c := p.Candidates[e.Next]
			observed = append(observed, observe(p, e.Next, 3000/(float64(c.Configuration.ScaleOut)+c.Resources.VCPUs)))
		}
		if len(observed) != len(p.Candidates) || len(e.Front) == 0 {
			t.Errorf("%v: %d runs, front %v", objectives, len(observed), e.Front)
		}
		if len(objectives) == 2 && objectives[0] == Energy && len(e.Front) != 1 {
			t.Errorf("carbon is energy times a constant, and the front has %d points", len(e.Front))
		}
		if e.Incumbent != e.Front[0] {
			t.Errorf("%v: incumbent %d, first of the front %d", objectives, e.Incumbent, e.Front[0])
		}
	}
}
