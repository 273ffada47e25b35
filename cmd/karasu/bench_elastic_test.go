package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
)

func TestBenchElastic(t *testing.T) {
	env := func(string) string { return "" }
	for _, bad := range [][]string{
		{"--parts", "guess"}, {"--seeds", "0"}, {"--seed", "0"},
		{}, // no data there
	} {
		stdout, stderr, code := karasu(env, append([]string{"bench", "elastic", "--data", t.TempDir()}, bad...)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d: %s", bad, code, stderr)
		}
	}
	data := filepath.Dir(modeltest.Data(t, "tensorflow"))
	for _, bad := range [][]string{{"--arms", "luck"}, {"--loads", "0"}, {"--loads", "NaN"}} {
		if _, stderr, code := karasu(env, append([]string{"bench", "elastic", "--data", data, "--parts", "simulation"}, bad...)...); code != exitUsage || !strings.Contains(stderr, "must be") && !strings.Contains(stderr, "want one of") {
			t.Errorf("%v: exit code %d: %s", bad, code, stderr)
		}
	}
	if testing.Short() {
		t.Skip("plays simulations")
	}
	stdout, stderr, code := karasu(env, "bench", "elastic", "--data", data, "--seeds", "2", "--loads", "0.6", "--arms", "manual,karasu-peers", "--json")
	var report elasticReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	if len(report.Model) < 300 || len(report.Rows) != 2 || len(report.Comparisons) != 2 || report.DecisionMS == nil || report.DecisionMS.Joint <= 0 {
		t.Errorf("%d rows of the model, simulations %+v, decisions %+v", len(report.Model), report.Report, report.DecisionMS)
	}
	for _, r := range report.Rows {
		if i := r.Intervals["jct_median"]; !(i.Low <= r.JCTMedian && r.JCTMedian <= i.High && r.JCTMedian > 0) {
			t.Errorf("%s: %g h is not in %+v", r.Arm, r.JCTMedian, i)
		}
	}
	stdout, _, code = karasu(env, "bench", "elastic", "--data", data, "--parts", "model,decisions")
	if code != exitOK || !strings.Contains(stdout, "smallest 3") || !strings.Contains(stdout, "ms for one job") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}
