package wire_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

func execution() model.Execution {
	start := time.Date(2026, 1, 1, 12, 0, 0, 123e6, time.UTC)
	rising := model.Distribution{P10: 1, P50: 2, P90: 3, Max: 4}
	return model.Execution{
		Origin: "spark/app-1/1", Framework: "spark", Version: "3.5.3", ApplicationID: "app-1", Attempt: "1",
		Name: "nightly", User: "jane", Queue: "default", MainClass: "org.example.Main", QuerySignature: "0123456789abcdef",
		Properties: map[string]string{"spark.executor.cores": "4"}, Start: start, End: start.Add(100 * time.Second), EndEstimated: true,
		Outcome: model.OK, Jobs: 3, FailedJobs: 1,
		Cluster: model.Cluster{
			Manager: "yarn", Platform: "emr", MachineType: "m5.xlarge", DriverMachineType: "m5.large", Hosts: 4, MaxExecutors: 8,
			ExecutorCores: 4, ExecutorMemoryBytes: 1 << 30, HostCores: 8, HostMemoryBytes: 2 << 30, CoreSeconds: 3200,
		},
		Executors:  []model.Executor{{ID: "1", Host: "h1", Cores: 4, MemoryBytes: 1 << 30, AddedSeconds: 1, RemovedSeconds: 99, Removed: true, Reason: "idle"}},
		InputBytes: 5e9, Metrics: model.Metrics{CPU: &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.9}},
		Tasks: model.TaskTotals{
			Count: 10, Failed: 1, Killed: 2, Seconds: 50, RunSeconds: 40, CPUSeconds: 30, GCSeconds: 1, OutputBytes: 7,
			ShuffleReadBytes: 8, ShuffleWriteBytes: 9, SpillMemoryBytes: 10, SpillDiskBytes: 11,
			DurationSeconds: rising, GCShare: rising, InputBytesPerTask: rising, OutputBytesPerTask: rising, ShuffleReadPerTask: rising,
			ShuffleWritePerTask: rising, SpillDiskPerTask: rising, PeakExecutionBytesPerTask: rising,
		},
		Graph: &model.StageGraph{Stages: []model.Stage{
			{ID: 0, Name: "map", Details: "map\nat x", Operators: []string{"Scan", "Exchange"}, Query: -1, Tasks: 8, Finished: 8, EndSeconds: 10, Outcome: model.OK, ShuffleWriteBytes: 9},
			{
				ID: 2, Attempt: 1, Name: "reduce", Operators: []string{"Exchange"}, Parents: []int{0}, Query: 0, Tasks: 2, Finished: 1, FailedTasks: 3,
				StartSeconds: 10, EndSeconds: 20, EndEstimated: true, TaskSeconds: 1, RunSeconds: 2, CPUSeconds: 3, GCSeconds: 4, InputBytes: 5, InputRecords: 6,
				OutputBytes: 7, OutputRecords: 8, ShuffleReadBytes: 9, ShuffleReadRecords: 10, ShuffleWriteBytes: 11, ShuffleWriteRecords: 12,
				SpillMemoryBytes: 13, SpillDiskBytes: 14,
			},
		}},
		Quality: model.Quality{Bytes: 1000, Events: 50, BadLines: 1, UnknownEvents: 2, Cut: true, Notes: []string{"odd"}},
	}
}

func TestExecutionRoundTrip(t *testing.T) {
	e := execution()
	m, dropped := wire.FromExecution(e)
	if len(dropped) > 0 {
		t.Errorf("a small execution loses %q", dropped)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again karasuv1.Execution
	if err := proto.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	got, err := wire.ToExecution(&again)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, got); d != "" {
		t.Errorf("after the round trip (-want +got):\n%s", d)
	}
}

// TestLargeExecution keeps the stages of an execution whose call sites are too long.
func TestLargeExecution(t *testing.T) {
	e := execution()
	e.Graph.Stages = nil
	for i := range 3000 {
		e.Graph.Stages = append(e.Graph.Stages, model.Stage{ID: i, Details: strings.Repeat(fmt.Sprint(i%7), 3000) + fmt.Sprint(i), Query: -1})
	}
	m, dropped := wire.FromExecution(e)
	if d := cmp.Diff([]string{"details of stages"}, dropped); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
	if n := proto.Size(m); n > wire.MaxExecution {
		t.Errorf("%d bytes, at most %d", n, wire.MaxExecution)
	}
	got, err := wire.ToExecution(m)
	if err != nil || len(got.Graph.Stages) != 3000 || got.Graph.Stages[5].Details != "" {
		t.Errorf("%d stages, details %.20q (%v)", len(got.Graph.Stages), got.Graph.Stages[5].Details, err)
	}
	if e.Graph.Stages[5].Details == "" {
		t.Error("the execution itself lost its details")
	}
}

func TestHostileExecutions(t *testing.T) {
	for name, damage := range map[string]func(*karasuv1.Execution){
		"nothing":           func(m *karasuv1.Execution) { proto.Reset(m) },
		"origin":            func(m *karasuv1.Execution) { m.Origin = "" },
		"outcome":           func(m *karasuv1.Execution) { m.Outcome = "great" },
		"backwards":         func(m *karasuv1.Execution) { m.EndUnixMillis = m.GetStartUnixMillis() - 1 },
		"no time":           func(m *karasuv1.Execution) { m.StartUnixMillis = math.NaN() },
		"NaN":               func(m *karasuv1.Execution) { m.Tasks.Seconds = math.NaN() },
		"text out of range": func(m *karasuv1.Execution) { m.Graph.Stages[0].Name = 99 },
		"operator":          func(m *karasuv1.Execution) { m.Graph.Stages[0].Operators = []uint32{99} },
		"parent":            func(m *karasuv1.Execution) { m.Graph.Stages[0].Parents = []uint64{7} },
		"huge parent":       func(m *karasuv1.Execution) { m.Graph.Stages[0].Parents = []uint64{math.MaxUint64} },
		"huge tasks":        func(m *karasuv1.Execution) { m.Graph.Stages[0].Tasks = math.MaxUint64 },
		"huge count":        func(m *karasuv1.Execution) { m.Tasks.Count = math.MaxUint64 },
		"long note":         func(m *karasuv1.Execution) { m.Quality.Notes = []string{strings.Repeat("x", 5000)} },
		"cycle":             func(m *karasuv1.Execution) { m.Graph.Stages[0].Parents = []uint64{2} },
	} {
		m, _ := wire.FromExecution(execution())
		damage(m)
		if _, err := wire.ToExecution(m); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%s: error %v, want %v", name, err, model.ErrInvalid)
		}
	}
}

// FuzzExecution takes any bytes for an execution: what passes is valid and stays what
// it is.
func FuzzExecution(f *testing.F) {
	m, _ := wire.FromExecution(execution())
	b, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m karasuv1.Execution
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		e, err := wire.ToExecution(&m)
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("invalid: %v", err)
		}
		again, _ := wire.FromExecution(e)
		got, err := wire.ToExecution(again)
		if err != nil {
			t.Fatalf("not itself again: %v", err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Fatalf("differs:\n%s", d)
		}
	})
}
