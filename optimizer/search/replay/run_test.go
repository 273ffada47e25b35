package replay

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// smallTable is three workloads, two of them siblings, on twelve configurations.
func smallTable() ([]model.Run, []search.Candidate) {
	var runs []model.Run
	var candidates []search.Candidate
	for _, cores := range []float64{2, 4} {
		for _, nodes := range []int{1, 2, 4, 8, 16, 32} {
			machine := map[float64]string{2: "small", 4: "big"}[cores]
			candidates = append(candidates, search.Candidate{
				Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes},
				Resources:     model.Resources{VCPUs: cores, MemoryGiB: 4 * cores}, USDPerHour: cores / 10,
			})
		}
	}
	for k, w := range []model.Workload{
		{Framework: "spark", Algorithm: "sort", Dataset: "large"}, {Framework: "spark", Algorithm: "sort", Dataset: "little"}, {Framework: "flink", Algorithm: "grep", Dataset: "text"},
	} {
		w.Infrastructure = "lab"
		for i, c := range candidates {
			r := model.Run{Workload: w, Configuration: c.Configuration, Outcome: model.OK}
			total := float64(c.Configuration.ScaleOut) * c.Resources.VCPUs
			r.RuntimeSeconds = 20 + float64(300*(k+1))/total + total/4
			switch i {
			case 0:
				r.Outcome = model.Timeout
			case 6:
				r.Outcome, r.RuntimeSeconds = model.Failed, 0
			}
			runs = append(runs, r)
		}
	}
	return runs, candidates
}

func smallConfig() Config {
	c := Config{Baseline: methods()[3], Methods: []Method{methods()[0], methods()[4]}, SeedSets: 2, Seed: 5}
	c.Runs, c.Candidates = smallTable()
	return c
}

func TestRunDoesNotDependOnWorkers(t *testing.T) {
	var reports [2]*Report
	for i, workers := range []int{1, 7} {
		c := smallConfig()
		c.Workers = workers
		last, calls := 0, 0
		c.Progress = func(done, total int) {
			calls++
			if done != last+1 || done > total {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if calls == 0 {
			t.Error("no progress was reported")
		}
		r.WallSeconds = 0
		reports[i] = r
	}
	if d := cmp.Diff(reports[0], reports[1]); d != "" {
		t.Errorf("one worker and seven differ: %s", d)
	}
}

func TestReportRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector")
	}
	r, err := Run(context.Background(), smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2*len(Scenarios()) || r.Workloads != 3 {
		t.Fatalf("%d rows of %d workloads", len(r.Rows), r.Workloads)
	}
	for _, row := range r.Rows {
		if row.Searches != 2*3*5*Repeats {
			t.Errorf("%s %s: %d searches", row.Method, row.Scenario, row.Searches)
		}
		sum := 0.
		for n := range MaxRuns {
			sum += (row.Mean[n] - 1) / MaxRuns
			if n > 0 && (row.Mean[n] > row.Mean[n-1] || row.Found[n] < row.Found[n-1] || row.Spent[n] < row.Spent[n-1]) {
				t.Errorf("%s %s gets worse at run %d: %v %v", row.Method, row.Scenario, n+1, row.Mean, row.Found)
			}
			if row.Mean[n] < 1 || row.Mean[n] > NothingValid {
				t.Errorf("%s %s: mean %g", row.Method, row.Scenario, row.Mean[n])
			}
		}
		if math.Abs(sum-row.AUC) > 1e-9 {
			t.Errorf("%s %s: AUC %g, want %g", row.Method, row.Scenario, row.AUC, sum)
		}
	}
	solo, hard := r.Row("evidence", "solo"), r.Row("evidence", "hard1")
	if d := cmp.Diff(solo.Mean, hard.Mean); d != "" {
		t.Errorf("unrelated supports change the search: %s", d)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields struct {
		Rows []map[string]any `json:"rows"`
		Wall *float64         `json:"wall_seconds"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"method", "scenario", "searches", "mean", "median", "found", "auc", "runs_to_10pct"} {
		if _, ok := fields.Rows[0][name]; !ok {
			t.Errorf("the JSON of a row has no %q", name)
		}
	}
	if fields.Wall == nil {
		t.Error("the JSON has no wall_seconds")
	}
}

func TestRunRefuses(t *testing.T) {
	c := smallConfig()
	c.Runs = c.Runs[:3]
	if _, err := Run(context.Background(), c); !errors.Is(err, ErrTooLittle) {
		t.Errorf("three runs: error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, smallConfig()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	if _, err := ScenarioByName("A4"); !errors.Is(err, ErrUnknownScenario) {
		t.Errorf("unknown scenario: error %v", err)
	}
}

func TestCorruptedKeepsWhatItSays(t *testing.T) {
	y := []float64{1, 2, 4, 9}
	for k := range uint64(20) {
		got := corrupted(trace{logRuntime: y}, seed{base: k}.stream("x")).logRuntime
		if math.Abs(mean(got)-mean(y)) > 1e-12 {
			t.Errorf("mean %g, want %g", mean(got), mean(y))
		}
	}
	if d := cmp.Diff([]float64{1, 2, 4, 9}, y); d != "" {
		t.Errorf("the original changed: %s", d)
	}
}

// TestEvidenceReachesItsTargets replays a part of the table of docs/search.md. The
// bounds are the published table of the method with room for the seeds, which
// alone move a figure by .03.
func TestEvidenceReachesItsTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := Config{Baseline: methods()[3], Methods: methods()[:1], Seed: 1}
	c.Runs, c.Candidates = scout(t)
	bounds := map[string]float64{"solo": .42, "A3": .24, "hard1": .42, "mis100": .46}
	for _, name := range []string{"solo", "A3", "hard1", "mis100"} {
		s, err := ScenarioByName(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if !(row.AUC <= bounds[row.Scenario]) {
			t.Errorf("%s: AUC %.3f, want at most %.2f", row.Scenario, row.AUC, bounds[row.Scenario])
		}
	}
	if a3 := r.Row("evidence", "A3"); !(a3.StopRuns <= 4.7 && a3.StopRatio <= 1.13) {
		t.Errorf("A3 stops after %.1f runs at %.3f, want at most 4.7 at 1.13", a3.StopRuns, a3.StopRatio)
	}
}
