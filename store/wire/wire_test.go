package wire_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

func run() model.Run {
	return model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: "nightly", Dataset: "d", InputBytes: 1e9},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, RuntimeSeconds: 100.5, Outcome: model.Timeout,
		Start:   time.Date(2026, 1, 1, 12, 0, 0, 123e6, time.UTC),
		Metrics: model.Metrics{Disk: &model.Percentiles{P10: 0.1, P50: 0.2, P90: 0.3}},
	}
}

func TestRunRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := run()
		r.Outcome = rapid.SampledFrom([]model.Outcome{model.OK, model.Failed, model.Timeout}).Draw(rt, "outcome")
		r.RuntimeSeconds = rapid.Float64Range(1e-3, 1e8).Draw(rt, "runtime")
		r.Workload.InputBytes = rapid.SampledFrom([]float64{0, 1, 1e9, 1 << 60}).Draw(rt, "input")
		r.Workload.Job = model.NormalizeName(rapid.StringOfN(rapid.RuneFrom([]rune("aé\u0301 /\"%")), 0, 20, -1).Draw(rt, "job"))
		r.Start = time.UnixMilli(rapid.Int64Range(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()).Draw(rt, "start")).UTC()
		if rapid.Bool().Draw(rt, "unknown start") {
			r.Start = time.Time{}
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-z0-9._-]{1,5}"), 0, 5, rapid.ID).Draw(rt, "names") {
			a := model.Argument{Name: name, Number: rapid.Float64Range(-1e18, 1e18).Draw(rt, "number")}
			if rapid.Bool().Draw(rt, "text") {
				a = model.Argument{Name: name, Text: "x" + name}
			}
			r.Workload.Arguments = append(r.Workload.Arguments, a)
		}
		r.Workload.Arguments = r.Workload.Arguments.Normalize()
		m := wire.FromRun(r)
		if m.GetId() != r.ID() {
			rt.Fatalf("ID %s, want %s", m.GetId(), r.ID())
		}
		b, err := proto.Marshal(m)
		if err != nil {
			rt.Fatal(err)
		}
		var again karasuv1.Run
		if err := proto.Unmarshal(b, &again); err != nil {
			rt.Fatal(err)
		}
		got, err := wire.ToRun(&again)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(r, got); d != "" {
			rt.Fatal(d)
		}
		if got.ID() != r.ID() {
			rt.Fatal("another ID")
		}
	})
}

func TestToRunRefuses(t *testing.T) {
	for name, change := range map[string]func(*karasuv1.Run){
		"no workload":       func(m *karasuv1.Run) { m.Workload = nil },
		"no configuration":  func(m *karasuv1.Run) { m.Configuration = nil },
		"huge scale-out":    func(m *karasuv1.Run) { m.Configuration.ScaleOut = math.MaxUint32 },
		"no outcome":        func(m *karasuv1.Run) { m.Outcome = 0 },
		"unknown outcome":   func(m *karasuv1.Run) { m.Outcome = 99 },
		"NaN runtime":       func(m *karasuv1.Run) { m.RuntimeSeconds = math.NaN() },
		"zero runtime":      func(m *karasuv1.Run) { m.RuntimeSeconds = 0 },
		"NaN start":         func(m *karasuv1.Run) { m.StartUnixMillis = math.NaN() },
		"infinite start":    func(m *karasuv1.Run) { m.StartUnixMillis = math.Inf(-1) },
		"start in 1970":     func(m *karasuv1.Run) { m.StartUnixMillis = 1 },
		"NaN input":         func(m *karasuv1.Run) { m.Workload.InputBytes = math.NaN() },
		"no argument value": func(m *karasuv1.Run) { m.Workload.Arguments = []*karasuv1.Argument{{Name: "k"}} },
		"empty argument": func(m *karasuv1.Run) {
			m.Workload.Arguments = []*karasuv1.Argument{{Name: "k", Value: &karasuv1.Argument_Text{Text: " "}}}
		},
		"NaN argument": func(m *karasuv1.Run) {
			m.Workload.Arguments = []*karasuv1.Argument{{Name: "k", Value: &karasuv1.Argument_Number{Number: math.NaN()}}}
		},
		"too many arguments": func(m *karasuv1.Run) { m.Workload.Arguments = make([]*karasuv1.Argument, model.MaxArguments+1) },
		"metrics":            func(m *karasuv1.Run) { m.Metrics.Disk.P10 = math.NaN() },
	} {
		m := wire.FromRun(run())
		change(m)
		if _, err := wire.ToRun(m); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wire.ToRun(nil); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("nil: %v", err)
	}
	if o := wire.FromOutcome(model.Outcome(9)); o != karasuv1.Outcome_OUTCOME_UNSPECIFIED {
		t.Errorf("unknown outcome becomes %v", o)
	}
}
