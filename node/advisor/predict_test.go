package advisor_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/wire"
)

// grepSeconds is how long the made-up job takes.
func grepSeconds(cores, gigabytes, length float64, nodes int) float64 {
	return 20 + 12*gigabytes*math.Sqrt(length/100)/cores*4/float64(nodes)
}

// grepRuns are of two sizes, two lengths and three machine types; job names the first.
func grepRuns(job string, sizes ...float64) []model.Run {
	var runs []model.Run
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, gb := range sizes {
		for _, length := range []float64{50, 200} {
			for machine, cores := range map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8} {
				for _, n := range []int{2, 4, 8, 12} {
					start = start.Add(time.Hour)
					runs = append(runs, model.Run{
						Workload: model.Workload{
							Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", Job: job, InputBytes: gb * 1e9,
							Arguments: model.Arguments{{Name: "line_length", Number: length}},
						},
						Configuration:  model.Configuration{MachineType: machine, ScaleOut: n},
						RuntimeSeconds: grepSeconds(cores, gb, length, n), Outcome: model.OK, Start: start,
					})
				}
			}
		}
	}
	return runs
}

// grep is a target that no run is of.
func grep(change func(*karasuv1.PredictionTarget)) *karasuv1.PredictionTarget {
	t := &karasuv1.PredictionTarget{
		Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", InputBytes: 30e9,
		Arguments: wire.FromArguments(model.Arguments{{Name: "line_length", Number: 100}}),
	}
	if change != nil {
		change(t)
	}
	return t
}

func (f fixture) add(t testing.TB, runs []model.Run) {
	t.Helper()
	if _, _, err := f.runs.AddRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
}

func TestPredict(t *testing.T) {
	f := newFixture(t)
	_, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: grep(nil), MachineType: "m4.xlarge", Nodes: 6})
	if !errors.Is(err, advisor.ErrNoModel) || !strings.Contains(err.Error(), "import runs") || !strings.Contains(err.Error(), "peers") {
		t.Errorf("nothing is known: %v", err)
	}
	f.add(t, grepRuns("nightly", 10, 20, 40))
	res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: grep(nil), MachineType: "M4.XLARGE", Nodes: 6})
	if err != nil {
		t.Fatal(err)
	}
	p, b := res.GetPrediction(), res.GetBasis()
	if want := grepSeconds(4, 30, 100, 6); math.Abs(p.GetRuntimeSeconds()/want-1) > .1 {
		t.Errorf("predicted %.0f s, it takes %.0f s", p.GetRuntimeSeconds(), want)
	}
	if !(p.GetRuntimeLowSeconds() < p.GetRuntimeSeconds() && p.GetRuntimeSeconds() < p.GetRuntimeHighSeconds()) {
		t.Errorf("interval %+v", p)
	}
	// Price x nodes x runtime.
	if want := .2 * 6 * p.GetRuntimeSeconds() / 3600; p.CostUsd == nil || math.Abs(p.GetCostUsd()-want) > 1e-9 {
		t.Errorf("cost %v, want %g", p.CostUsd, want)
	}
	if p.GetMachineType() != "m4.xlarge" || b.GetContextRuns() != 0 || b.GetOtherContexts() != 18 || b.GetOtherRuns() != 72 || len(b.GetSources()) != 1 {
		t.Errorf("basis %+v of %s", b, p.GetMachineType())
	}
}

// Runs of the very context count, and a context that is slower than others is known by
// its first run.
func TestPredictFromRunsOfTheContext(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20, 40))
	odd := grepRuns("odd", 30)
	odd = slices.DeleteFunc(odd, func(r model.Run) bool {
		return r.Configuration != model.Configuration{MachineType: "m4.xlarge", ScaleOut: 4} || r.Workload.Arguments[0].Number != 50
	})
	odd[0].RuntimeSeconds *= 2
	f.add(t, odd)
	target := grep(func(m *karasuv1.PredictionTarget) {
		m.Arguments = wire.FromArguments(model.Arguments{{Name: "line_length", Number: 50}})
	})
	res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: target, MachineType: "m4.xlarge", Nodes: 8})
	if err != nil {
		t.Fatal(err)
	}
	if got, usual := res.GetPrediction().GetRuntimeSeconds(), grepSeconds(4, 30, 50, 8); res.GetBasis().GetContextRuns() != 1 || got < 1.5*usual {
		t.Errorf("%d runs of the context, %.0f s where others take %.0f s", res.GetBasis().GetContextRuns(), got, usual)
	}
	// The job alone says as much.
	named, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: &karasuv1.PredictionTarget{Job: "odd"}, MachineType: "m4.xlarge", Nodes: 8})
	if err != nil || named.GetPrediction().GetRuntimeSeconds() != res.GetPrediction().GetRuntimeSeconds() {
		t.Errorf("by the job's name: %v, %v", named, err)
	}
}

func TestPredictBadInput(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20))
	number := func(name string, v float64) *karasuv1.Argument {
		return &karasuv1.Argument{Name: name, Value: &karasuv1.Argument_Number{Number: v}}
	}
	for name, c := range map[string]struct {
		machine string
		nodes   uint32
		change  func(*karasuv1.PredictionTarget)
		want    string
	}{
		"no machine type":        {"", 4, nil, "machine type is missing"},
		"unknown machine type":   {"m4.xlarg", 4, nil, "did you mean m4.xlarge?"},
		"no nodes":               {"m4.xlarge", 0, nil, "nodes must be between 1 and"},
		"too many nodes":         {"m4.xlarge", math.MaxUint32, nil, "nodes must be between 1 and"},
		"missing argument":       {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Arguments = nil }, "lack line_length"},
		"argument twice":         {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Arguments = append(m.Arguments, m.Arguments[0]) }, "line_length is given twice"},
		"argument with two":      {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Arguments = append(m.Arguments, number("line_length", 7)) }, "line_length is given twice"},
		"no number":              {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Arguments[0].Value = &karasuv1.Argument_Text{Text: "long"} }, "must be a number"},
		"not a number":           {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Arguments[0] = number("line_length", math.NaN()) }, "must be a number"},
		"input size":             {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.InputBytes = -5 }, "input size must be"},
		"input size not finite":  {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.InputBytes = math.NaN() }, "input size must be"},
		"unknown job":            {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Job = "other" }, "no stored run"},
		"job of another":         {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Job, m.Algorithm = "nightly", "sort" }, "none on that infrastructure"},
		"unknown infrastructure": {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Infrastructure = "moon" }, "no machine types are known"},
		"no infrastructure":      {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Infrastructure, m.Algorithm = "", "sort" }, "infrastructure is missing"},
		"bad slug":               {"m4.xlarge", 4, func(m *karasuv1.PredictionTarget) { m.Framework = "sp ark" }, "framework may hold only"},
	} {
		_, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: grep(c.change), MachineType: c.machine, Nodes: c.nodes})
		known := errors.Is(err, model.ErrInvalid) || errors.Is(err, catalog.ErrUnknownMachineType) || errors.Is(err, catalog.ErrUnknownInfrastructure)
		if !known || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	// Where only one infrastructure is known, it need not be said; what nobody knows is told.
	res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{MachineType: "m4.xlarge", Nodes: 4, Target: grep(func(m *karasuv1.PredictionTarget) {
		m.Infrastructure, m.InputBytes, m.Arguments = "", 0, append(m.Arguments, number("colour", 3))
	})})
	if err != nil || res.GetTarget().GetInfrastructure() != "aws-ec2" {
		t.Fatalf("%v, %v", res.GetTarget(), err)
	}
	if notes := strings.Join(res.GetBasis().GetNotes(), "; "); !strings.Contains(notes, "input size is not given") || !strings.Contains(notes, "argument colour") || !strings.Contains(notes, "known are line_length") {
		t.Errorf("notes %q", notes)
	}
}

func TestPredictElsewhere(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20))
	res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{
		Target: grep(func(m *karasuv1.PredictionTarget) { m.Infrastructure = "gcp" }), MachineType: "n2-standard-4", Nodes: 4,
	})
	if err != nil || !strings.Contains(strings.Join(res.GetBasis().GetNotes(), "; "), "none of your runs is on gcp") {
		t.Errorf("%v, %v", res.GetBasis().GetNotes(), err)
	}
}

func TestSweep(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20, 40))
	sweep := func(change func(*karasuv1.SweepRequest)) (*karasuv1.SweepResponse, error) {
		req := &karasuv1.SweepRequest{Target: grep(nil), Nodes: []uint32{8, 2, 4, 4}, MachineTypes: []string{"m4.large", "m4.xlarge"}}
		change(req)
		return f.Sweep(t.Context(), req)
	}
	res, err := sweep(func(r *karasuv1.SweepRequest) { r.DeadlineSeconds = grepSeconds(4, 30, 100, 8) * 1.3 })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.GetPredictions()); n != 6 {
		t.Errorf("%d predictions, want 2 machine types at 3 numbers of nodes", n)
	}
	a := res.GetAnswer()
	if !a.GetMet() || a.GetConfidence() != .95 || a.GetChoice().GetMachineType() != "m4.xlarge" || a.GetChoice().GetNodes() != 8 || a.GetChoice().GetProbabilityOfMeetingDeadline() < .95 {
		t.Errorf("answer %+v", a)
	}
	if res, err = sweep(func(r *karasuv1.SweepRequest) { r.DeadlineSeconds = 1 }); err != nil || res.GetAnswer().GetMet() || res.GetAnswer().GetChoice() == nil {
		t.Errorf("a deadline that nothing meets: %+v, %v", res.GetAnswer(), err)
	}
	// Without machine types those that the algorithm ran on are taken.
	if res, err = sweep(func(r *karasuv1.SweepRequest) { r.MachineTypes, r.Nodes = nil, nil }); err != nil || len(res.GetPredictions()) != 33 || res.GetAnswer() != nil {
		t.Errorf("%d predictions by default, %v", len(res.GetPredictions()), err)
	}
	for name, c := range map[string]struct {
		change func(*karasuv1.SweepRequest)
		want   string
	}{
		"confidence alone":     {func(r *karasuv1.SweepRequest) { r.Confidence = .9 }, "needs a deadline"},
		"confidence too low":   {func(r *karasuv1.SweepRequest) { r.DeadlineSeconds, r.Confidence = 9, .4 }, "confidence must be at least 0.5"},
		"negative deadline":    {func(r *karasuv1.SweepRequest) { r.DeadlineSeconds = -9 }, "deadline must be above zero"},
		"deadline not a time":  {func(r *karasuv1.SweepRequest) { r.DeadlineSeconds = math.NaN() }, "deadline is not a finite number"},
		"no nodes":             {func(r *karasuv1.SweepRequest) { r.Nodes = []uint32{4, 0} }, "nodes must be between 1 and"},
		"unknown machine type": {func(r *karasuv1.SweepRequest) { r.MachineTypes = []string{"m4.large", "m4.xlarg"} }, "did you mean m4.xlarge?"},
		"too many types":       {func(r *karasuv1.SweepRequest) { r.MachineTypes = make([]string, 65) }, "more than 64"},
	} {
		if _, err := sweep(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// sharedModels are models as peers would share them.
type sharedModels []commons.RuntimeModel

func (m sharedModels) For(_ model.Topic, _ commons.Writer, fits func(*predict.Weights) error) (usable, skipped []commons.RuntimeModel, err error) {
	for _, x := range m {
		if x.Err == nil {
			x.Err = fits(x.Weights)
		}
		if x.Err != nil {
			skipped = append(skipped, x)
			continue
		}
		usable = append(usable, x)
	}
	return usable, skipped, nil
}

// shared is what somebody makes of runs and shares.
func shared(t testing.TB, author string, runs []model.Run) commons.RuntimeModel {
	t.Helper()
	machines := catalog.Builtin()
	histories, _ := predict.Histories(runs, func(infrastructure, name string) (model.Resources, bool) {
		m, err := machines.Lookup(infrastructure, name)
		return m.Resources, err == nil
	})
	g, err := structured.New("x", structured.Options{}).Fit(context.Background(), histories)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	back, err := commons.GeneralOf(w)
	if err != nil {
		t.Fatal(err)
	}
	return commons.RuntimeModel{Topic: runs[0].Workload.Topic(), Author: peer.ID(author), Organisation: author, Weights: w, General: back}
}

func TestPredictFromPeersAlone(t *testing.T) {
	f := newFixture(t)
	elsewhere := shared(t, "elsewhere", grepRuns("x", 10, 40))
	elsewhere.Topic.Infrastructure = "gcp"
	f.RuntimeModels = sharedModels{elsewhere}
	req := &karasuv1.PredictRequest{Target: grep(nil), MachineType: "m4.xlarge", Nodes: 6}
	if _, err := f.Predict(t.Context(), req); !errors.Is(err, advisor.ErrNoModel) || !strings.Contains(err.Error(), "but of gcp") {
		t.Errorf("a model of another infrastructure: %v", err)
	}
	broken := commons.RuntimeModel{Topic: grepRuns("x", 1)[0].Workload.Topic(), Author: "broken", Organisation: "broken", Err: predict.ErrWeights}
	f.RuntimeModels = sharedModels{broken}
	if _, err := f.Predict(t.Context(), req); !errors.Is(err, advisor.ErrNoModel) || !errors.Is(err, predict.ErrWeights) {
		t.Errorf("a model that cannot be used: %v", err)
	}
	f.RuntimeModels = sharedModels{shared(t, "acme", grepRuns("x", 10, 40)), shared(t, "globex", grepRuns("x", 20, 60)), broken, elsewhere}
	res, err := f.Predict(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.GetPrediction().GetRuntimeSeconds(), grepSeconds(4, 30, 100, 6); math.Abs(got/want-1) > .1 {
		t.Errorf("predicted %.0f s, it takes %.0f s", got, want)
	}
	sum := 0.
	for _, s := range res.GetBasis().GetSources() {
		sum += s.GetShare()
		if (s.GetProblem() == "") != (s.GetShare() > 0) || s.GetOrigin() != "peer" {
			t.Errorf("source %+v", s)
		}
	}
	if len(res.GetBasis().GetSources()) != 3 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("sources %+v", res.GetBasis().GetSources())
	}
	// What the peers' models need is named; asked alone there is nothing.
	none := &karasuv1.PredictRequest{Target: grep(func(m *karasuv1.PredictionTarget) { m.Arguments = nil }), MachineType: "m4.xlarge", Nodes: 6}
	if _, err := f.Predict(t.Context(), none); !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), "line_length") {
		t.Errorf("a missing argument: %v", err)
	}
	req.Target.Solo = true
	if _, err := f.Predict(t.Context(), req); !errors.Is(err, advisor.ErrNoModel) || !strings.Contains(err.Error(), "--solo") {
		t.Errorf("alone: %v", err)
	}
}

// A recommendation before the first run rests on a prediction where there is one, and
// says so; reported runs of the searched job are no part of it.
func TestSearchBeginsWithAPrediction(t *testing.T) {
	f := newFixture(t)
	f.RuntimeModels = sharedModels{shared(t, "acme", grepRuns("x", 10, 20, 40))}
	s := &karasuv1.SearchSettings{
		Workload: &karasuv1.Workload{
			Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", Job: "mine", InputBytes: 30e9,
			Arguments: wire.FromArguments(model.Arguments{{Name: "line_length", Number: 100}}),
		},
		MachineTypes: []string{"m4.large", "m4.xlarge", "m4.2xlarge"}, ScaleOuts: []uint32{2, 4, 8, 12},
	}
	rec, err := f.Recommend(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !rec.GetLevelKnown() || !strings.Contains(rec.GetBasis(), "a prediction of its runtimes from 1 peer model") || strings.Contains(rec.GetBasis(), "guessed") {
		t.Errorf("basis %q", rec.GetBasis())
	}
	if i := slices.IndexFunc(rec.GetWeights(), func(w *karasuv1.Weight) bool { return w.GetOrigin() == "prediction" }); i < 0 || rec.GetWeights()[i].GetWorkload() != "" {
		t.Errorf("weights %+v", rec.GetWeights())
	}
	for _, p := range rec.GetPredictions() {
		cores := map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8}[p.GetConfiguration().GetMachineType()]
		want := grepSeconds(cores, 30, 100, int(p.GetConfiguration().GetScaleOut()))
		if r := p.GetRuntimeSeconds() / want; r < .7 || r > 1.4 {
			t.Errorf("%dx%s: %.0f s recommended, it takes %.0f s", p.GetConfiguration().GetScaleOut(), p.GetConfiguration().GetMachineType(), p.GetRuntimeSeconds(), want)
		}
	}
	// What is missing for a prediction is said, and a search goes on without.
	bare := &karasuv1.SearchSettings{Workload: &karasuv1.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", InputBytes: 30e9}, MachineTypes: s.MachineTypes, ScaleOuts: s.ScaleOuts}
	if rec, err = f.Recommend(t.Context(), bare, nil); err != nil || !strings.Contains(rec.GetBasis(), "Runtimes are not predicted: arguments lack line_length") {
		t.Errorf("without the argument: %q, %v", rec.GetBasis(), err)
	}
	bare.Workload.InputBytes = 0
	if rec, err = f.Recommend(t.Context(), bare, nil); err != nil || !strings.Contains(rec.GetBasis(), "neither the job's input size nor an argument") {
		t.Errorf("without a description: %q, %v", rec.GetBasis(), err)
	}
	state, err := f.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		c, err := wire.ToConfiguration(state.GetNext().GetPrediction().GetConfiguration())
		if err != nil {
			t.Fatal(err)
		}
		cores := map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8}[c.MachineType]
		if state, err = f.Report(t.Context(), report("mine", c.MachineType, uint32(c.ScaleOut), grepSeconds(cores, 30, 100, c.ScaleOut), ok)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(state.GetNext().GetReason(), "a prediction of the job's runtimes") {
		t.Errorf("reason %q", state.GetNext().GetReason())
	}
}

// The model follows the runs, and one fit serves all who ask at once.
func TestModelFollowsTheRuns(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20))
	req := &karasuv1.PredictRequest{Target: grep(nil), MachineType: "m4.xlarge", Nodes: 6}
	runs := func() uint32 {
		answers := make(chan uint32)
		for range 4 {
			go func() {
				res, err := f.Predict(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				answers <- res.GetBasis().GetOtherRuns()
			}()
		}
		var last uint32
		for range 4 {
			last = <-answers
		}
		return last
	}
	if n := runs(); n != 48 {
		t.Errorf("%d runs, want 48", n)
	}
	f.add(t, grepRuns("nightly", 40))
	if n := runs(); n != 72 {
		t.Errorf("%d runs after another import, want 72", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Predict(ctx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up: %v", err)
	}
}
