package main

import (
	"bytes"
	"strings"
	"testing"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

func TestReasonsOfARecommendation(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	predict := func(machine string, seconds, usd, kept float64) *karasuv1.Prediction {
		return &karasuv1.Prediction{
			Configuration:  &karasuv1.Configuration{MachineType: machine, ScaleOut: 4},
			RuntimeSeconds: seconds, RuntimeLowSeconds: seconds / 2, RuntimeHighSeconds: 2 * seconds,
			CostUsd: v(usd), ProbabilityOfMeetingTarget: v(kept),
		}
	}
	settings := &karasuv1.SearchSettings{Objective: "cost", BudgetUsd: 1}
	first, second := predict("m4.large", 600, .40, .9), predict("r4.large", 660, .50, .8)
	r := &karasuv1.RecommendResponse{
		LevelKnown: true, Predictions: []*karasuv1.Prediction{first, second}, Current: predict("m4.2xlarge", 300, 1.60, .3),
		WithoutOthers: second, Best: v(.50),
		Next: &karasuv1.Suggestion{Prediction: second, ExpectedImprovement: .1, Advice: "one more run is expected to save 10%"},
	}
	print := func() string {
		var b bytes.Buffer
		printReasons(&b, settings, r)
		return b.String()
	}
	for _, want := range []string{
		"first          4xm4.large: 10m0s, $0.400 (80%: $0.200 to $0.800)\n",
		"runner-up      4xr4.large: runtime x 1.10, cost x 1.25, 80% likely within limits\n",
		"now            4xm4.2xlarge: runtime x 0.50, cost x 4.00, 30% likely within limits; the first saves about $1.20 a run (75%)\n",
		"alone          4xr4.large: runtime x 1.10",
		"one more run   4xr4.large is expected to save about $0.048 a run (10%). Go on: one more run is expected to save 10%.\n",
	} {
		if got := print(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	r.WithoutOthers, r.Current.CostUsd = first, v(.30)
	for _, want := range []string{"alone          the same", "that is $0.100 less a run than the first"} {
		if got := print(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// Amounts mean nothing while nothing says how long the job takes.
	r.LevelKnown, r.Best = false, nil
	if got := print(); strings.Contains(got, "$") {
		t.Errorf("amounts in\n%s", got)
	}
	r.Predictions = nil
	if got := print(); got != "" {
		t.Errorf("without predictions: %s", got)
	}
}
