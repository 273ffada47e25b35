package main

import (
	"encoding/json"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

func TestBenchPareto(t *testing.T) {
	table := modeltest.Data(t, "scout/scout.csv")
	env := func(string) string { return "" }
	stdout, stderr, code := karasu(env, "bench", "pareto", "--runs", table, "--methods", "random", "--scenarios", "solo", "--seeds", "1", "--objectives", "cost,carbon;cost,runtime,energy", "--json")
	var report replay.ParetoReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	if len(report.Rows) != 2 || report.Rows[1].Objectives != "cost,runtime,energy" || report.Rows[1].Searches != 270 {
		t.Errorf("rows %+v", report.Rows)
	}
	for _, bad := range [][]string{{"--objectives", "cost"}, {"--region", "eu-wst-1"}, {"--methods", "guess"}, {"--scenarios", "D4"}} {
		if _, _, code := karasu(env, append([]string{"bench", "pareto", "--runs", table}, bad...)...); code != exitUsage {
			t.Errorf("%v: exit code %d", bad, code)
		}
	}
}

func TestBenchCalibration(t *testing.T) {
	table := modeltest.Data(t, "scout/scout.csv")
	stdout, stderr, code := karasu(func(string) string { return "" }, "bench", "calibration", "--runs", table, "--methods", "random", "--scenarios", "solo", "--seeds", "1", "--json")
	var report replay.CalibrationReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	if len(report.Rows) != 2 || report.Rows[1].Scenario != replay.AllScenarios || len(report.Rows[1].All) != replay.CalibrationBins {
		t.Errorf("rows %+v", report.Rows)
	}
}
