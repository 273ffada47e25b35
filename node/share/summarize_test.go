package share_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
)

var pseudonyms = share.NewPseudonymizer([]byte("0123456789abcdef0123456789abcdef"))

// machines knows two public types and one of the organisation's own.
func machines(_, name string) (model.Resources, bool, bool) {
	switch name {
	case "m4.large":
		return model.Resources{VCPUs: 2, MemoryGiB: 8}, true, true
	case "m4.xlarge":
		return model.Resources{VCPUs: 4, MemoryGiB: 16}, true, true
	case "rack7-secret-host":
		return model.Resources{VCPUs: 32, MemoryGiB: 256}, false, true
	}
	return model.Resources{}, false, false
}

func workload() model.Workload {
	return model.Workload{
		Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank",
		Job: "nightly-revenue", Dataset: "s3://acme/customers", InputBytes: 1 << 34,
	}
}

func run(machine string, nodes int, seconds float64, outcome model.Outcome) model.Run {
	return model.Run{
		Workload: workload(), Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes},
		RuntimeSeconds: seconds, Outcome: outcome,
	}
}

func TestSummarize(t *testing.T) {
	group := share.GroupRuns([]model.Run{
		run("m4.xlarge", 8, 100, model.OK),
		run("m4.xlarge", 8, 400, model.OK),
		run("m4.xlarge", 8, 10, model.Failed),
		run("m4.large", 4, 800, model.Timeout),
		run("m4.large", 2, 0, model.Failed),
		run("unheard-of", 2, 50, model.OK),
	})
	if len(group) != 1 {
		t.Fatalf("%d groups, want 1", len(group))
	}
	got, ok := share.Summarize(group[0], pseudonyms, machines)
	if !ok {
		t.Fatal("no summary")
	}
	level := (math.Log(200) + math.Log(800)) / 2
	want := model.Summary{
		Topic:     model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank"},
		Pseudonym: pseudonyms.Workload(workload()), InputSizeLog2: 34, ExactInputBytes: 1 << 34, Absolute: true, Level: level,
		Points: []model.Point{
			{Configuration: model.Configuration{MachineType: "m4.large", ScaleOut: 2}, Resources: model.Resources{VCPUs: 2, MemoryGiB: 8}, Failed: 1},
			{Configuration: model.Configuration{MachineType: "m4.large", ScaleOut: 4}, Resources: model.Resources{VCPUs: 2, MemoryGiB: 8}, LogRuntime: math.Log(800) - level, Timeout: 1},
			{Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, LogRuntime: math.Log(200) - level, OK: 2, Failed: 1},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("our own summary does not pass validation: %v", err)
	}
}

func TestSummarizeHidesOwnMachineNames(t *testing.T) {
	group := share.GroupRuns([]model.Run{run("rack7-secret-host", 2, 50, model.OK)})
	got, _ := share.Summarize(group[0], pseudonyms, machines)
	if name := got.Points[0].Configuration.MachineType; name == "rack7-secret-host" || len(name) != len("custom-")+12 {
		t.Errorf("machine type leaves as %q", name)
	}
	if got.Points[0].Resources.VCPUs != 32 {
		t.Errorf("resources were lost: %+v", got.Points[0].Resources)
	}
}

func TestSummaryIsCentredAndInvariantToScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		scale := rapid.Float64Range(0.01, 100).Draw(t, "scale")
		var runs, scaled []model.Run
		for i := range n {
			s := rapid.Float64Range(1, 1e5).Draw(t, "seconds")
			runs = append(runs, run("m4.large", i+1, s, model.OK))
			scaled = append(scaled, run("m4.large", i+1, s*scale, model.OK))
		}
		a, _ := share.Summarize(share.GroupRuns(runs)[0], pseudonyms, machines)
		b, _ := share.Summarize(share.GroupRuns(scaled)[0], pseudonyms, machines)
		sum := 0.0
		for _, p := range a.Points {
			sum += p.LogRuntime
		}
		if math.Abs(sum) > 1e-9 {
			t.Errorf("log runtimes add up to %g, want 0", sum)
		}
		if diff := cmp.Diff(a.Points, b.Points, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("the shape depends on the level:\n%s", diff)
		}
	})
}

func TestPseudonymNeedsTheSecret(t *testing.T) {
	other := share.NewPseudonymizer([]byte("another secret of an organisation"))
	if pseudonyms.Workload(workload()) == other.Workload(workload()) {
		t.Error("two secrets give one pseudonym")
	}
	w := workload()
	w.Dataset = "s3://acme/customers-2"
	if pseudonyms.Workload(workload()) == pseudonyms.Workload(w) {
		t.Error("two workloads have one pseudonym")
	}
}
