package advisor_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// TestStopAfterTheBudget: a run is stopped where it exceeds target or budget, whichever
// is first, and a timeout without a time was stopped there.
func TestStopAfterTheBudget(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ target, budget float64 }{{900, .02}, {0, .02}, {20, .02}} {
		job := fmt.Sprintf("target %g", c.target)
		s := settings(job)
		s.TargetSeconds, s.BudgetUsd = c.target, c.budget
		if _, err := f.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		state, err := f.Report(t.Context(), report(job, "m4.large", 2, 7200, ok))
		if err != nil {
			t.Fatal(err)
		}
		next := state.GetNext()
		price := map[string]float64{"m4.large": .1, "m4.xlarge": .2}
		n := next.GetPrediction().GetConfiguration()
		want := c.budget / price[n.GetMachineType()] / float64(n.GetScaleOut()) * 3600
		if c.target > 0 {
			want = min(want, c.target)
		}
		if got := next.GetStopAfterSeconds(); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: stop %v after %g s, want %g", job, n, got, want)
		}
		if state, err = f.Report(t.Context(), report(job, n.GetMachineType(), n.GetScaleOut(), 0, timeout)); err != nil {
			t.Fatal(err)
		}
		if got := state.GetSteps()[1].GetRun().GetRuntimeSeconds(); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: a timeout without a time is stored with %g s, want %g", job, got, want)
		}
	}
}

// TestHopelessSearchesSayStop: after runs that all miss, a search says that probably none
// keeps to its limits and which comes closest, and still suggests one.
func TestHopelessSearchesSayStop(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		job    string
		change func(*karasuv1.SearchSettings)
		report func(job, machine string, nodes uint32) *karasuv1.ReportRunRequest
		want   bool
	}{
		{"timeouts", func(s *karasuv1.SearchSettings) { s.TargetSeconds = 5 }, func(job, machine string, nodes uint32) *karasuv1.ReportRunRequest {
			return report(job, machine, nodes, 8000/float64(nodes), timeout)
		}, true},
		{"budget", func(s *karasuv1.SearchSettings) { s.BudgetUsd = 1e-9 }, func(job, machine string, nodes uint32) *karasuv1.ReportRunRequest {
			return report(job, machine, nodes, 800/float64(nodes), ok)
		}, true},
		{"near", func(*karasuv1.SearchSettings) {}, func(job, machine string, nodes uint32) *karasuv1.ReportRunRequest {
			return report(job, machine, nodes, 1000, ok)
		}, false},
	} {
		s := settings(c.job)
		s.ScaleOuts = []uint32{2, 4, 6, 8, 10}
		c.change(s)
		state, err := f.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			n := state.GetNext().GetPrediction().GetConfiguration()
			if state, err = f.Report(t.Context(), c.report(c.job, n.GetMachineType(), n.GetScaleOut())); err != nil {
				t.Fatal(err)
			}
		}
		next := state.GetNext()
		if said := strings.HasPrefix(next.GetAdvice(), "probably no candidate"); said != c.want || next.GetStop() != c.want || next.GetPrediction() == nil {
			t.Errorf("%s: stop %v, advice %q, next %v", c.job, next.GetStop(), next.GetAdvice(), next.GetPrediction().GetConfiguration())
		}
	}
}

// TestClaimedIsNotTried: candidates that are only under way are not said to have been tried.
func TestClaimedIsNotTried(t *testing.T) {
	f := newFixture(t)
	s := settings("job")
	s.ScaleOuts = []uint32{2}
	if _, err := f.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var claimed []model.Configuration
	for range 2 {
		n, err := f.Next(t.Context(), "job", true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.ToConfiguration(n.GetPrediction().GetConfiguration())
		if err != nil {
			t.Fatal(err)
		}
		claimed = append(claimed, c)
	}
	n, err := f.Next(t.Context(), "job", true)
	if err != nil || !n.GetExhausted() || n.GetStop() || !strings.Contains(n.GetReason(), "2 runs under way") {
		t.Errorf("%v (%v), want a word on the two that are under way", n, err)
	}
	// Taking a report back restores its claim.
	c := claimed[0]
	if _, err := f.Report(t.Context(), report("job", c.MachineType, uint32(c.ScaleOut), 500, ok)); err != nil {
		t.Fatal(err)
	}
	if state, _, err := f.Undo(t.Context(), "job"); err != nil || len(state.GetClaims()) != 2 {
		t.Errorf("%d claims after the report was taken back (%v), want 2", len(state.GetClaims()), err)
	}
	state, err := f.Get(t.Context(), "job")
	if err != nil || len(state.GetClaims()) != 2 || len(state.GetSteps()) != 0 {
		t.Errorf("%d claims and %d steps are stored (%v), want 2 and 0", len(state.GetClaims()), len(state.GetSteps()), err)
	}
}

// TestNoProbabilityOfNothing: without a word on how long a job takes, the chance of
// meeting a target would only repeat the target.
func TestNoProbabilityOfNothing(t *testing.T) {
	f := newFixture(t)
	got, err := f.Recommend(t.Context(), settings(""), &karasuv1.Configuration{MachineType: "m4.large", ScaleOut: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(got.GetPredictions(), got.GetCurrent(), got.GetNext().GetPrediction()) {
		if p.ProbabilityOfMeetingTarget != nil {
			t.Errorf("%v is said to be %g likely", p.GetConfiguration(), p.GetProbabilityOfMeetingTarget())
		}
	}
	state, err := f.Start(t.Context(), settings("job"))
	if err != nil || state.GetNext().GetPrediction().ProbabilityOfMeetingTarget != nil || strings.Contains(state.GetNext().GetReason(), "likely") {
		t.Errorf("before a run: %v (%v)", state.GetNext(), err)
	}
	if state, err = f.Report(t.Context(), report("job", "m4.large", 2, 1000, ok)); err != nil || state.GetNext().GetPrediction().ProbabilityOfMeetingTarget == nil {
		t.Errorf("after a run no probability is stated (%v)", err)
	}
}

// TestRunsOutsideTheSpace teach and are not the best so far.
func TestRunsOutsideTheSpace(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("job")); err != nil {
		t.Fatal(err)
	}
	state, err := f.Report(t.Context(), report("job", "r4.large", 2, 300, ok))
	if err != nil {
		t.Fatal(err)
	}
	if step := state.GetSteps()[0]; !step.GetOutside() || step.Best != nil || len(state.GetFront()) != 0 || !strings.Contains(state.GetHint(), "no candidates") {
		t.Errorf("step %v, front %v, hint %q", step, state.GetFront(), state.GetHint())
	}
	if state, err = f.Report(t.Context(), report("job", "m4.large", 4, 800, ok)); err != nil || state.GetSteps()[1].GetBest() != state.GetSteps()[1].GetObjective() {
		t.Errorf("the first candidate's run is not the best so far: %v (%v)", state.GetSteps(), err)
	}
}

// TestOnlyConfidenceIsMissing: a run that kept to the limits is not called a near miss.
func TestOnlyConfidenceIsMissing(t *testing.T) {
	f := newFixture(t)
	s := settings("job")
	s.Confidence = .95
	if _, err := f.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	state, err := f.Report(t.Context(), report("job", "m4.large", 8, 880, ok))
	if err != nil || !strings.Contains(state.GetHint(), "8xm4.large with 14m40s kept to the target, but another run would only with") {
		t.Errorf("hint %q (%v)", state.GetHint(), err)
	}
}

// TestIncumbentThatFailedOnce: it stays, with a remark.
func TestIncumbentThatFailedOnce(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("job")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Report(t.Context(), report("job", "m4.large", 8, 500, ok)); err != nil {
		t.Fatal(err)
	}
	again := report("job", "m4.large", 8, 0, failed)
	again.Repeat = true
	state, err := f.Report(t.Context(), again)
	if err != nil || state.GetIncumbent().GetConfiguration().GetScaleOut() != 8 || !strings.Contains(strings.Join(state.GetNext().GetNotes(), "\n"), "no result in 1 of its 2 runs") {
		t.Errorf("incumbent %v, notes %q (%v)", state.GetIncumbent(), state.GetNext().GetNotes(), err)
	}
}

// TestDesignPointsSaySo: their reason claims no gain.
func TestDesignPointsSaySo(t *testing.T) {
	f := newFixture(t)
	s := settings("job")
	s.Method = "cherrypick"
	state, err := f.Start(t.Context(), s)
	if err != nil || !strings.Contains(state.GetNext().GetReason(), "a point of the initial design") {
		t.Errorf("reason %q (%v)", state.GetNext().GetReason(), err)
	}
	if state, err = f.Report(t.Context(), report("job", "m4.large", 8, 500, ok)); err != nil || strings.Contains(state.GetNext().GetReason(), "lower the best") {
		t.Errorf("reason %q (%v)", state.GetNext().GetReason(), err)
	}
}
