package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/optimizer/checkpoint/replay"
)

func TestBenchCheckpoint(t *testing.T) {
	data := filepath.Dir(filepath.Dir(modeltest.Data(t, "stages/tpc.jsonl")))
	env := func(string) string { return "" }
	for _, bad := range [][]string{{"--parts", "guess"}, {"--every", "0"}} {
		if _, _, code := karasu(env, append([]string{"bench", "checkpoint", "--data", data}, bad...)...); code != exitUsage {
			t.Errorf("%v: exit code %d", bad, code)
		}
	}
	if _, stderr, code := karasu(env, "bench", "checkpoint", "--data", t.TempDir()); code != exitUsage {
		t.Errorf("no data: exit code %d: %s", code, stderr)
	}
	if testing.Short() {
		t.Skip("replays public graphs")
	}
	stdout, stderr, code := karasu(env, "bench", "checkpoint", "--data", data, "--every", "40", "--json")
	var report checkpointReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	if len(report.Predictors) == 0 || len(report.Predicted) != 16 || len(report.Restart) == 0 || len(report.Latency) == 0 {
		t.Errorf("%d predictors, %d plans from predictions, %d restarts, %d latencies",
			len(report.Predictors), len(report.Predicted), len(report.Restart), len(report.Latency))
	}
	for _, r := range report.Predicted {
		if r.MeanRatio < 0 || r.MeanRatio > 1+1e-9 || r.Graphs == 0 || r.Plan == replay.PlanResolved && r.Broken > 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range report.Optimality {
		if r.MeanRatio > 1+1e-9 || r.MinRatio < 0 || r.Freed < 0 || r.Freed > 1 {
			t.Errorf("%+v", r)
		}
	}
}
