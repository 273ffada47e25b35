package advisor_test

import (
	"context"
	"math"
	"strings"
	"testing"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

func TestGoalsAreChecked(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		name   string
		change func(s *karasuv1.SearchSettings)
		say    string
	}{
		{"objective", func(s *karasuv1.SearchSettings) { s.Objective = "cost,speed" }, `"speed"`},
		{"objective twice", func(s *karasuv1.SearchSettings) { s.Objective = "cost,cost" }, "twice"},
		{"four", func(s *karasuv1.SearchSettings) { s.Objective = "cost,runtime,energy,carbon" }, "at most 3"},
		{"confidence", func(s *karasuv1.SearchSettings) { s.Confidence = 95 }, "below 1: 95"},
		{"confidence of nothing", func(s *karasuv1.SearchSettings) { s.Confidence, s.TargetSeconds = .9, 0 }, "needs a target or a budget"},
		{"budget", func(s *karasuv1.SearchSettings) { s.BudgetUsd = -1 }, "budget"},
		{"budget NaN", func(s *karasuv1.SearchSettings) { s.BudgetUsd = math.NaN() }, "budget"},
		{"region", func(s *karasuv1.SearchSettings) { s.Region = "eu-wst-1" }, "did you mean eu-west-1?"},
		{"method", func(s *karasuv1.SearchSettings) { s.Confidence, s.Method = .9, "random" }, "takes no confidence; use the method evidence"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settings("goals")
			tt.change(s)
			_, err := f.Start(context.Background(), s)
			if err == nil || !strings.Contains(err.Error(), tt.say) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, tt.say)
			}
		})
	}
}

func TestParetoSearchHasAFront(t *testing.T) {
	f := newFixture(t)
	s := settings("pareto")
	s.Objective, s.Region, s.TargetSeconds = " Cost, carbon,runtime", "EU-North-1", 0
	state, err := f.Start(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got := state.GetSettings(); got.GetObjective() != "cost,carbon,runtime" || got.GetRegion() != "eu-north-1" {
		t.Errorf("settings %v", got)
	}
	for _, r := range []struct {
		machine string
		nodes   uint32
		seconds float64
	}{{"m4.large", 2, 1000}, {"m4.xlarge", 4, 300}, {"m4.xlarge", 8, 290}, {"m4.large", 8, 700}} {
		if state, err = f.Report(context.Background(), report("pareto", r.machine, r.nodes, r.seconds, ok)); err != nil {
			t.Fatal(err)
		}
	}
	var front []string
	for i, step := range state.GetFront() {
		front = append(front, step.GetRun().GetConfiguration().GetMachineType())
		if step.CarbonG == nil || step.CostUsd == nil || i > 0 && step.GetCostUsd() < state.GetFront()[i-1].GetCostUsd() {
			t.Errorf("front %v", state.GetFront())
		}
	}
	// 2 x m4.large is cheapest, 8 x m4.xlarge is fastest, 8 x m4.large is beaten in all.
	if len(front) != 3 {
		t.Errorf("front of %v", front)
	}
	if p := state.GetNext().GetPrediction(); p.CarbonG == nil || math.Abs(p.GetCarbonG()-p.GetEnergyWh()*8/1000) > 1e-9 {
		t.Errorf("%g Wh are %g g at 8 g/kWh", p.GetEnergyWh(), p.GetCarbonG())
	}
	if !strings.Contains(state.GetNext().GetReason(), "Pareto front") {
		t.Errorf("reason %q", state.GetNext().GetReason())
	}
}

func TestBudgetAndConfidence(t *testing.T) {
	f := newFixture(t)
	s := settings("budget")
	s.TargetSeconds, s.BudgetUsd = 0, .05
	if _, err := f.Start(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	// 4 x m4.large cost $0.4 an hour: 500 s are $0.056, 400 s $0.044.
	state, err := f.Report(context.Background(), report("budget", "m4.large", 4, 500, ok))
	if err != nil {
		t.Fatal(err)
	}
	if state.GetSteps()[0].GetValid() || state.GetIncumbent() != nil || !strings.Contains(state.GetHint(), "budget of $0.05") {
		t.Errorf("over the budget: valid %v, hint %q", state.GetSteps()[0].GetValid(), state.GetHint())
	}
	if !strings.Contains(state.GetNext().GetReason(), "likely within the budget") {
		t.Errorf("reason %q", state.GetNext().GetReason())
	}
	s = settings("sure")
	s.Confidence = .95
	if _, err := f.Start(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	// Barely within 900 s: not sure. Far within: sure.
	if state, err = f.Report(context.Background(), report("sure", "m4.large", 4, 890, ok)); err != nil {
		t.Fatal(err)
	}
	if state.GetSteps()[0].GetValid() || state.GetIncumbent() != nil || !strings.Contains(state.GetHint(), "95% confidence") {
		t.Errorf("barely: valid %v, hint %q", state.GetSteps()[0].GetValid(), state.GetHint())
	}
	if state, err = f.Report(context.Background(), report("sure", "m4.large", 8, 500, ok)); err != nil {
		t.Fatal(err)
	}
	if !state.GetSteps()[1].GetValid() || state.GetIncumbent().GetConfiguration().GetScaleOut() != 8 {
		t.Errorf("surely: %v", state.GetIncumbent())
	}
	list, err := f.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.GetSettings().GetConfidence() > 0 && (l.GetSteps()[0].GetValid() || !l.GetSteps()[1].GetValid()) {
			t.Errorf("list %v", l.GetSteps())
		}
	}
}
