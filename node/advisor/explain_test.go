package advisor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

func TestUnknownPricesSayWhatToDo(t *testing.T) {
	f := newFixture(t)
	s := settings("job")
	s.Workload.Infrastructure, s.MachineTypes = "gcp", []string{"n2-standard-8"}
	_, err := f.Start(t.Context(), s)
	if !errors.Is(err, search.ErrUnknownPrice) || !strings.HasPrefix(err.Error(), "no candidate") || !strings.Contains(err.Error(), "--objective runtime") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestHintOfOneRun(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		job     string
		report  *karasuv1.ReportRunRequest
		want    string
		stopped bool
	}{
		{"failing", report("failing", "m4.large", 2, 0, failed), "the only run has not been completed", false},
		{"slow", report("slow", "m4.large", 8, 7200, ok), "the only run has not met the target of 15m0s; the closest was 8xm4.large with 2h0m0s", true},
	} {
		if _, err := f.Start(t.Context(), settings(c.job)); err != nil {
			t.Fatal(err)
		}
		state, err := f.Report(t.Context(), c.report)
		if err != nil || state.GetHint() != c.want {
			t.Errorf("hint %q (%v), want %q", state.GetHint(), err, c.want)
		}
		// Where the target is hopeless, a run should not go on for long.
		if next := state.GetNext(); c.stopped != (next.GetStopAfterSeconds() == 900) {
			t.Errorf("%s: stop after %g s at %.2f", c.job, next.GetStopAfterSeconds(), next.GetPrediction().GetProbabilityOfMeetingTarget())
		}
	}
}

func TestReasonSaysWhoseKnowledge(t *testing.T) {
	f := newFixture(t)
	var runs []model.Run
	for i, seconds := range []float64{900, 500, 280, 700, 390} {
		runs = append(runs, model.Run{
			Workload:       model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: "other"},
			Configuration:  model.Configuration{MachineType: []string{"m4.large", "m4.xlarge"}[i/3], ScaleOut: 2 << (i % 3)},
			RuntimeSeconds: seconds, Outcome: model.OK,
		})
	}
	if _, _, err := f.runs.AddRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	state, err := f.Start(t.Context(), settings("job"))
	if err != nil || !strings.Contains(state.GetNext().GetReason(), "% of the weight is knowledge of your own other workloads") {
		t.Errorf("reason %q (%v)", state.GetNext().GetReason(), err)
	}
}
