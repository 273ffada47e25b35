package model

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestExecutionValidate(t *testing.T) {
	start := time.Date(2024, 2, 13, 18, 58, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, want string
		change     func(*Execution)
	}{
		{"whole", "", func(*Execution) {}},
		{"no stages", "", func(e *Execution) { e.Graph = nil }},
		{"still running", "", func(e *Execution) { e.Outcome = 0 }},
		{"rounded end", "", func(e *Execution) { e.End = start.Add(3619 * time.Millisecond); e.Executors[0].RemovedSeconds = 3.619 }},
		{"no origin", "origin is missing", func(e *Execution) { e.Origin = "" }},
		{"framework", "framework may hold only", func(e *Execution) { e.Framework = "Apache Spark" }},
		{"control character", "user holds a control character", func(e *Execution) { e.User = "a\x00" }},
		{"no start", "start is not between", func(e *Execution) { e.Start = time.Time{} }},
		{"backwards", "runtime must be between 0", func(e *Execution) { e.End = start.Add(-time.Second) }},
		{"executor after the end", `executor "1": time must run forward`, func(e *Execution) { e.Executors[0].RemovedSeconds = 61 }},
		{"input", "input size must be finite", func(e *Execution) { e.InputBytes = math.NaN() }},
		{"percentiles", "task percentiles must rise", func(e *Execution) { e.Tasks.GCShare = Distribution{P50: 2} }},
		{"machine type", "machine type may hold only", func(e *Execution) { e.Cluster.MachineType = "m4 large" }},
		{"hosts", "cluster size must be between", func(e *Execution) { e.Cluster.Hosts = -1 }},
		{"graph", "stage 0 attempt 0: GC time", func(e *Execution) { e.Graph.Stages[0].GCSeconds = -1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := Execution{Origin: "spark/app-1", Framework: "spark", Start: start, End: start.Add(time.Minute), Outcome: OK,
				Executors: []Executor{{ID: "1", Cores: 4, RemovedSeconds: 60}}, Graph: &StageGraph{Stages: []Stage{{}}}}
			tc.change(&e)
			err := e.Validate()
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, ErrInvalid)):
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
}
