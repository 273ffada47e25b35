package predict_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

func TestHistories(t *testing.T) {
	lookup := func(infrastructure, machine string) (model.Resources, bool) {
		return model.Resources{VCPUs: 4, MemoryGiB: 16}, machine == "m4.xlarge" && infrastructure != "lab"
	}
	run := func(infrastructure, machine string, nodes int, bytes, seconds float64, o model.Outcome, arguments ...string) model.Run {
		as, err := model.ParseArguments(arguments)
		if err != nil {
			t.Fatal(err)
		}
		return model.Run{
			Workload:      model.Workload{Infrastructure: infrastructure, Framework: "spark", Algorithm: "grep", Job: "j", InputBytes: bytes, Arguments: as},
			Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes}, RuntimeSeconds: seconds, Outcome: o,
		}
	}
	runs := []model.Run{
		run("aws-emr", "m4.xlarge", 4, 20e9, 100, model.OK, "k=5", "format=text"),
		run("aws-ec2", "m4.xlarge", 4, 0, 80, model.OK, "k=5"),
		run("aws-emr", "m4.xlarge", 8, 20e9, 60, model.OK, "format=text", "k=5"),
		run("aws-emr", "m4.xlarge", 8, 20e9, 61, model.OK, "format=text", "k=6"),
		run("aws-emr", "m4.xlarge", 8, 20e9, 62, model.Failed, "format=text", "k=6"),
		run("aws-emr", "m4.xlarge", 8, 20e9, 62, model.Timeout, "format=text", "k=6"),
		run("aws-emr", "odd.large", 8, 20e9, 62, model.OK),
		run("lab", "m4.xlarge", 8, 20e9, 62, model.OK), run("lab", "m4.xlarge", 9, 20e9, 62, model.OK),
	}
	resources := model.Resources{VCPUs: 4, MemoryGiB: 16}
	format := predict.Argument{Name: "format", Text: "text", Optional: true}
	context := func(environment string, bytes float64, as ...predict.Argument) predict.Context {
		return predict.Context{Environment: environment, MachineType: "m4.xlarge", Resources: resources, InputBytes: bytes, Arguments: as}
	}
	want := []predict.History{
		{Context: context("aws-ec2", predict.Unknown, predict.Argument{Name: "k", Number: 5}), Runs: []predict.Observation{{ScaleOut: 4, RuntimeSeconds: 80}}},
		{Context: context("aws-emr", 20e9, format, predict.Argument{Name: "k", Number: 5}), Runs: []predict.Observation{{ScaleOut: 4, RuntimeSeconds: 100}, {ScaleOut: 8, RuntimeSeconds: 60}}},
		{Context: context("aws-emr", 20e9, format, predict.Argument{Name: "k", Number: 6}), Runs: []predict.Observation{{ScaleOut: 8, RuntimeSeconds: 61}}},
	}
	got, skipped := predict.Histories(runs, lookup)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantSkipped := predict.Skipped{Incomplete: 2, Machines: map[string]int{"aws-emr/odd.large": 1, "lab/m4.xlarge": 2}}
	if d := cmp.Diff(wantSkipped, skipped); d != "" {
		t.Error(d)
	}
	if skipped.Total() != 5 {
		t.Errorf("%d skipped", skipped.Total())
	}
	if err := predict.ValidateHistory(got); err != nil {
		t.Error(err)
	}

	// The order of contexts is their own.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	shuffled, _ := predict.Histories(runs, lookup)
	for i := range got {
		if d := cmp.Diff(got[i].Context, shuffled[i].Context); d != "" {
			t.Error(d)
		}
	}
	if none, skipped := predict.Histories(nil, lookup); len(none) != 0 || skipped.Total() != 0 {
		t.Errorf("of nothing: %v, %v", none, skipped)
	}
}

func TestThin(t *testing.T) {
	var history []predict.History
	for i := range 10 {
		history = append(history, predict.History{Context: predict.Context{InputBytes: float64(i)}})
	}
	var got []float64
	for _, h := range predict.Thin(history, 4) {
		got = append(got, h.Context.InputBytes)
	}
	if d := cmp.Diff([]float64{0, 2, 5, 7}, got); d != "" {
		t.Error(d)
	}
	if n := len(predict.Thin(history, 10)); n != 10 {
		t.Errorf("%d of 10", n)
	}
}
