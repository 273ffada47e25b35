package advisor_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// fixture is an advisor over real databases.
type fixture struct {
	*advisor.Advisor
	runs *private.DB
}

// newFixture opens one; change may replace some of the options.
func newFixture(t testing.TB, change ...func(*advisor.Options)) fixture {
	t.Helper()
	runs, err := private.OpenDB(t.TempDir(), private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runs.Close() })
	shared, err := commons.OpenDB(t.TempDir(), commons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Close() })
	machines := catalog.Builtin()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := advisor.Options{
		Organisation: "acme", Runs: runs, Commons: shared, RuntimeModels: commons.NewRuntimeModels(shared), Catalog: machines,
		Lookup: func(infrastructure, name string) (model.Resources, bool, bool) {
			m, err := machines.Lookup(infrastructure, name)
			return m.Resources, true, err == nil
		},
		Pseudonyms: share.NewPseudonymizer(make([]byte, 32)),
		Join:       func(context.Context, model.Topic) {},
		Now: func() time.Time {
			now = now.Add(time.Second)
			return now
		},
	}
	for _, f := range change {
		f(&o)
	}
	a, err := advisor.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{a, runs}
}

func settings(job string) *karasuv1.SearchSettings {
	return &karasuv1.SearchSettings{
		Workload:      &karasuv1.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: job},
		TargetSeconds: 900, MachineTypes: []string{"m4.large", "m4.xlarge"}, ScaleOuts: []uint32{2, 4, 8},
	}
}

func report(job, machine string, nodes uint32, seconds float64, outcome karasuv1.Outcome) *karasuv1.ReportRunRequest {
	return &karasuv1.ReportRunRequest{
		Job: job, Configuration: &karasuv1.Configuration{MachineType: machine, ScaleOut: nodes},
		RuntimeSeconds: seconds, Outcome: outcome,
	}
}

const (
	ok      = karasuv1.Outcome_OUTCOME_OK
	failed  = karasuv1.Outcome_OUTCOME_FAILED
	timeout = karasuv1.Outcome_OUTCOME_TIMEOUT
)

func TestSearchToTheEnd(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"evidence", "karasu", "karasu-trees", "cherrypick", "arrow", "random"} {
		s := settings("job-" + method)
		s.Method = method
		state, err := f.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		tried := map[model.Configuration]bool{}
		for !state.GetNext().GetExhausted() {
			c, err := wire.ToConfiguration(state.GetNext().GetPrediction().GetConfiguration())
			if err != nil {
				t.Fatal(err)
			}
			if tried[c] {
				t.Fatalf("%s suggests %s twice", method, c)
			}
			tried[c] = true
			seconds := 4000 / float64(c.ScaleOut)
			if state, err = f.Report(t.Context(), report(s.Workload.Job, c.MachineType, uint32(c.ScaleOut), seconds, ok)); err != nil {
				t.Fatal(err)
			}
		}
		if len(tried) != 6 {
			t.Errorf("%s tried %d of 6 candidates", method, len(tried))
		}
		// 500 s at 8 nodes is the only scale-out within the target; m4.large costs half.
		best, err := wire.ToConfiguration(state.GetIncumbent().GetConfiguration())
		if err != nil || best != (model.Configuration{MachineType: "m4.large", ScaleOut: 8}) {
			t.Errorf("%s: incumbent %s (%v), want 8xm4.large", method, best, err)
		}
		last := state.GetSteps()[5]
		if want := 0.1 * 8 * 500 / 3600; last.Best == nil || math.Abs(last.GetBest()-want) > 1e-9 {
			t.Errorf("%s: best cost %v, want %g", method, last.Best, want)
		}
		sum := 0.0
		for _, w := range state.GetWeights() {
			sum += w.GetShare()
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("%s: weights add up to %g", method, sum)
		}
	}
}

func TestReportedRunsArePrivateRuns(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("job")); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*karasuv1.ReportRunRequest{
		report("job", "m4.large", 2, 1000, ok), report("job", "m4.large", 4, 0, failed), report("job", "M4.XLARGE", 2, 0, timeout),
	} {
		if _, err := f.Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := f.runs.Runs(t.Context(), private.Filter{Job: "job"})
	if err != nil || len(runs) != 3 {
		t.Fatalf("%d private runs (%v), want 3", len(runs), err)
	}
	if got := runs[2]; got.RuntimeSeconds != 900 || got.Configuration.MachineType != "m4.xlarge" {
		t.Errorf("a timeout without a runtime was stored as %+v, want the target and the catalog's spelling", got)
	}
	// A new search for the same workload starts from them.
	if err := f.Delete(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	state, err := f.Start(t.Context(), settings("job"))
	if err != nil || len(state.GetSteps()) != 3 {
		t.Errorf("%d steps after a restart of the search (%v), want 3", len(state.GetSteps()), err)
	}
	if !strings.Contains(state.GetHint(), "none of 3 runs met the target") {
		t.Errorf("hint %q does not say that nothing is feasible", state.GetHint())
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("there")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Report(t.Context(), report("there", "m4.large", 2, 10, ok)); err != nil {
		t.Fatal(err)
	}
	start := func(change func(*karasuv1.SearchSettings)) func() error {
		return func() error {
			s := settings("new")
			change(s)
			_, err := f.Start(t.Context(), s)
			return err
		}
	}
	reporting := func(r *karasuv1.ReportRunRequest) func() error {
		return func() error { _, err := f.Report(t.Context(), r); return err }
	}
	for _, c := range []struct {
		name string
		do   func() error
		want error
		text string
	}{
		{"no job", start(func(s *karasuv1.SearchSettings) { s.Workload.Job = " " }), model.ErrInvalid, "job"},
		{"bad slug", start(func(s *karasuv1.SearchSettings) { s.Workload.Framework = "a/b" }), model.ErrInvalid, "framework"},
		{"negative target", start(func(s *karasuv1.SearchSettings) { s.TargetSeconds = -1 }), model.ErrInvalid, "target"},
		{"target NaN", start(func(s *karasuv1.SearchSettings) { s.TargetSeconds = math.NaN() }), model.ErrInvalid, "target"},
		{"objective", start(func(s *karasuv1.SearchSettings) { s.Objective = "fame" }), model.ErrInvalid, "objective"},
		{"method", start(func(s *karasuv1.SearchSettings) { s.Method = "guess" }), model.ErrInvalid, "method"},
		{"unknown machine", start(func(s *karasuv1.SearchSettings) { s.MachineTypes = []string{"m4.xlrage"} }), catalog.ErrUnknownMachineType, "m4.xlarge"},
		{"unknown infrastructure", start(func(s *karasuv1.SearchSettings) { s.Workload.Infrastructure = "moon" }), catalog.ErrUnknownInfrastructure, "moon"},
		{"zero nodes", start(func(s *karasuv1.SearchSettings) { s.ScaleOuts = []uint32{0} }), model.ErrInvalid, "scale-out"},
		{"twice", start(func(s *karasuv1.SearchSettings) { s.Workload.Job = "there" }), advisor.ErrExists, "there"},
		{"unknown search", reporting(report("nowhere", "m4.large", 2, 1, ok)), advisor.ErrNotFound, "nowhere"},
		{"report twice", reporting(report("there", "m4.large", 2, 10, ok)), advisor.ErrRepeated, "--repeat"},
		{"report NaN", reporting(report("there", "m4.large", 4, math.NaN(), ok)), model.ErrInvalid, "runtime"},
		{"report infinity", reporting(report("there", "m4.large", 4, math.Inf(1), ok)), model.ErrInvalid, "runtime"},
		{"report negative", reporting(report("there", "m4.large", 4, -1, ok)), model.ErrInvalid, "runtime"},
		{"report zero", reporting(report("there", "m4.large", 4, 0, ok)), model.ErrInvalid, "runtime"},
		{"report no outcome", reporting(report("there", "m4.large", 4, 1, 0)), model.ErrInvalid, "outcome"},
		{"report unknown machine", reporting(report("there", "x9.huge", 4, 1, ok)), catalog.ErrUnknownMachineType, "x9.huge"},
	} {
		err := c.do()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}
	state, err := f.Get(t.Context(), "there")
	if err != nil || len(state.GetSteps()) != 1 {
		t.Errorf("%d steps after the refusals (%v), want 1", len(state.GetSteps()), err)
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d searches after the refusals (%v), want 1", len(all), err)
	}
}

func TestJobNamesAreOneInBothUnicodeForms(t *testing.T) {
	f := newFixture(t)
	composed, decomposed := "caf\u00e9-\u65e5\u672c\u8a9e", "cafe\u0301-\u65e5\u672c\u8a9e"
	if _, err := f.Start(t.Context(), settings(composed)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), decomposed); err != nil {
		t.Errorf("the decomposed name does not find the search: %v", err)
	}
}

func TestRecommend(t *testing.T) {
	f := newFixture(t)
	s := settings("")
	got, err := f.Recommend(t.Context(), s, &karasuv1.Configuration{MachineType: "m5.large", ScaleOut: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetLevelKnown() {
		t.Error("the level is said to be known, with no run of anything")
	}
	if c := got.GetCurrent().GetConfiguration(); c.GetMachineType() != "m5.large" || c.GetScaleOut() != 3 {
		t.Errorf("the current configuration is %v, want 3xm5.large", c)
	}
	if len(got.GetPredictions()) != 5 || !strings.Contains(got.GetBasis(), "0 own runs") {
		t.Errorf("%d predictions on basis %q, want 5 and a word on how little is known", len(got.GetPredictions()), got.GetBasis())
	}
	for _, p := range got.GetPredictions() {
		if !(p.GetRuntimeLowSeconds() < p.GetRuntimeSeconds() && p.GetRuntimeSeconds() < p.GetRuntimeHighSeconds()) || p.CostUsd == nil {
			t.Errorf("prediction %v", p)
		}
	}
}

func TestClaims(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("job")); err != nil {
		t.Fatal(err)
	}
	seen := map[model.Configuration]bool{}
	for range 6 {
		s, err := f.Next(t.Context(), "job", true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.ToConfiguration(s.GetPrediction().GetConfiguration())
		if err != nil || seen[c] {
			t.Fatalf("claimed %s twice (%v)", c, err)
		}
		seen[c] = true
	}
	if s, err := f.Next(t.Context(), "job", true); err != nil || !s.GetExhausted() {
		t.Errorf("a seventh of six candidates was claimed: %v, %v", s, err)
	}
	abandon := report("job", "m4.large", 4, 0, 0)
	abandon.Abandon = true
	state, err := f.Report(t.Context(), abandon)
	if err != nil || len(state.GetClaims()) != 5 || len(state.GetSteps()) != 0 {
		t.Fatalf("%d claims and %d steps after giving one up (%v), want 5 and 0", len(state.GetClaims()), len(state.GetSteps()), err)
	}
	if _, err := f.Report(t.Context(), abandon); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("giving up what is not claimed: error %v, want %v", err, model.ErrInvalid)
	}
	if state, err = f.Report(t.Context(), report("job", "m4.large", 2, 100, ok)); err != nil || len(state.GetClaims()) != 4 {
		t.Errorf("%d claims after a report (%v), want 4", len(state.GetClaims()), err)
	}
	next, err := wire.ToConfiguration(state.GetNext().GetPrediction().GetConfiguration())
	if err != nil || next != (model.Configuration{MachineType: "m4.large", ScaleOut: 4}) {
		t.Errorf("next is %s (%v), want the one that was given up", next, err)
	}
}

// TestKnownTypesAreCandidates: a default space holds the machine types that others ran
// the algorithm on, and runs of the same algorithm say how long the job takes.
func TestKnownTypesAreCandidates(t *testing.T) {
	f := newFixture(t)
	var runs []model.Run
	for n := range 4 {
		runs = append(runs, model.Run{
			Workload:       model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: "other"},
			Configuration:  model.Configuration{MachineType: "r4.xlarge", ScaleOut: 2 + 2*n},
			RuntimeSeconds: 2000 / float64(1+n), Outcome: model.OK,
		})
	}
	if _, _, err := f.runs.AddRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	s := settings("job")
	s.MachineTypes, s.ScaleOuts = nil, nil
	state, err := f.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range state.GetSettings().GetConfigurations() {
		if c.GetMachineType() == "r4.xlarge" {
			found++
		}
	}
	if found != len(catalog.DefaultScaleOuts()) {
		t.Errorf("%d candidates on the known machine type, want %d", found, len(catalog.DefaultScaleOuts()))
	}
	// Where the target is absurd, or there is none, the prediction is that of the runs:
	// minutes.
	for _, target := range []float64{1, 360_000, 0} {
		s.TargetSeconds = target
		got, err := f.Recommend(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !got.GetLevelKnown() {
			t.Errorf("target %g s: four runs of the same algorithm do not make the level known", target)
		}
		for _, p := range got.GetPredictions() {
			if p.GetRuntimeSeconds() < 20 || p.GetRuntimeSeconds() > 20_000 {
				t.Errorf("target %g s: a runtime of %g s is predicted", target, p.GetRuntimeSeconds())
			}
		}
	}
}
