package replay

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
)

// powered is the scout table with the catalog's watts and a grid.
func powered(t testing.TB) ([]model.Run, []search.Candidate) {
	t.Helper()
	runs, candidates := scout(t)
	machines := catalog.Builtin()
	for i := range candidates {
		c := &candidates[i]
		m, err := machines.Lookup("aws", c.Configuration.MachineType)
		if err != nil {
			t.Fatal(err)
		}
		c.IdleWatts, c.FullWatts, c.GramsPerKWh = m.IdleWatts, m.FullWatts, 415.75
	}
	return runs, candidates
}

func settings(t testing.TB) Config {
	t.Helper()
	c := Config{Baseline: Method{"cherrypick", func() search.Method { return search.NewCherryPick() }}}
	c.Runs, c.Candidates = powered(t)
	for _, name := range strings.Split(or(os.Getenv("KARASU_REPLAY_METHODS"), "evidence,random"), ",") {
		c.Methods = append(c.Methods, Method{name, func() search.Method {
			m, err := search.New(name)
			if err != nil {
				t.Error(err)
			}
			return m
		}})
	}
	for _, name := range strings.Split(or(os.Getenv("KARASU_REPLAY_SCENARIOS"), "solo,A3,A-all,real1"), ",") {
		s, err := ScenarioByName(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	c.Seed, _ = strconv.ParseUint(os.Getenv("KARASU_REPLAY_SEED"), 10, 64)
	c.SeedSets, _ = strconv.Atoi(os.Getenv("KARASU_REPLAY_SETS"))
	return c
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// TestPrintPareto prints the tables of hypervolume, or with KARASU_REPLAY=calibration
// those of calibration. It takes minutes, so it runs only where KARASU_REPLAY is set
// to pareto, no-target or calibration. Settings are as for TestPrintTable.
func TestPrintPareto(t *testing.T) {
	var b strings.Builder
	switch what := os.Getenv("KARASU_REPLAY"); what {
	case "pareto", "no-target":
		report, err := RunPareto(context.Background(), ParetoConfig{Config: settings(t), NoTarget: what == "no-target"})
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f s\n%s", report.WallSeconds, b.String())
	case "calibration":
		report, err := RunCalibration(context.Background(), settings(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f s\n%s", report.WallSeconds, b.String())
	default:
		t.Skip("KARASU_REPLAY is not set to pareto, no-target or calibration")
	}
}

// someWorkloads are the six of one framework: a third of the table.
func someWorkloads(t testing.TB, names ...string) Config {
	t.Helper()
	c := settings(t)
	var runs []model.Run
	for _, r := range c.Runs {
		if r.Workload.Framework == "spark" {
			runs = append(runs, r)
		}
	}
	c.Runs, c.Scenarios = runs, nil
	for _, name := range names {
		s, err := ScenarioByName(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	return c
}

func TestRunPareto(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector")
	}
	run := func(workers int, objectives [][]search.Objective, scenarios ...string) *ParetoReport {
		c := ParetoConfig{Config: someWorkloads(t, scenarios...), Objectives: objectives}
		c.Workers = workers
		done := 0
		c.Progress = func(n, total int) {
			if done++; n != done || n > total {
				t.Errorf("progress %d of %d after %d", n, total, done)
			}
		}
		r, err := RunPareto(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		r.WallSeconds = 0
		return r
	}
	three := [][]search.Objective{{search.Cost, search.Carbon, search.Runtime}}
	if d := cmp.Diff(run(1, three, "solo"), run(4, three, "solo")); d != "" {
		t.Errorf("depends on the number of workers:\n%s", d)
	}
	report := run(0, nil, "solo", "A3")
	// At 3, 5 and 10 runs: better than a random order, and better with supports.
	rows := map[string][]float64{}
	for _, r := range report.Rows {
		rows[r.Objectives+" "+r.Method+" "+r.Scenario] = r.Hypervolume
	}
	for _, o := range []string{"cost,runtime", "cost,energy"} {
		random, solo, a3 := rows[o+" random solo"], rows[o+" evidence solo"], rows[o+" evidence A3"]
		for _, n := range []int{3, 5, 10} {
			if !(random[n-1] < solo[n-1] && solo[n-1] < a3[n-1] && a3[n-1] <= 1) {
				t.Errorf("%s after %d runs: random %.3f, alone %.3f, with supports %.3f", o, n, random[n-1], solo[n-1], a3[n-1])
			}
		}
	}
}

func TestRunParetoOfPublishedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes under the race detector")
	}
	c := ParetoConfig{Config: someWorkloads(t, "solo", "A3"), Objectives: [][]search.Objective{{search.Cost, search.Runtime}}}
	c.Methods = []Method{c.Baseline, {"karasu", func() search.Method { return search.NewKarasu() }}}
	r, err := RunPareto(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	row := func(method, scenario string) []float64 {
		i := slices.IndexFunc(r.Rows, func(r ParetoRow) bool { return r.Method == method && r.Scenario == scenario })
		return r.Rows[i].Hypervolume
	}
	alone, shared := row("cherrypick", "solo"), row("karasu", "A3")
	if diff := cmp.Diff(alone, row("karasu", "solo")); diff != "" {
		t.Errorf("without supports karasu is not cherrypick:\n%s", diff)
	}
	for _, n := range []int{3, 5} {
		if !(alone[n-1] < shared[n-1] && shared[n-1] <= 1) {
			t.Errorf("after %d runs: alone %.3f, with supports %.3f", n, alone[n-1], shared[n-1])
		}
	}
}

func TestRunCalibration(t *testing.T) {
	c := someWorkloads(t, "solo", "A3")
	c.Methods = c.Methods[:1]
	r, err := RunCalibration(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 3 || r.Rows[2].Scenario != AllScenarios {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for i := range CalibrationBins {
		all := r.Rows[2].All[i]
		if sum := r.Rows[0].All[i].N + r.Rows[1].All[i].N; all.N != sum || all.N == 0 {
			t.Errorf("bin %d: %d predictions, of the rows %d", i, all.N, sum)
		}
		if all.Stated < all.From || all.Stated > all.To || all.Met < 0 || all.Met > 1 {
			t.Errorf("bin %+v", all)
		}
		// A third of the table: within ten points, the whole of it is within five.
		if math.Abs(all.Error()) > .1 {
			t.Errorf("bin %+v is off by %.2f", all, all.Error())
		}
	}
}

func TestWithoutTargetEverythingCompletedIsValid(t *testing.T) {
	c := ParetoConfig{Config: someWorkloads(t, "solo"), Objectives: [][]search.Objective{{search.Cost, search.Carbon, search.Runtime}}, NoTarget: true}
	c.Methods = c.Methods[1:]
	r, err := RunPareto(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Rows[0].Hypervolume; h[0] <= 0 || h[MaxRuns-1] > 1 || h[MaxRuns-1] < h[0] {
		t.Errorf("hypervolume %v", h)
	}
}

// BenchmarkPareto is one suggestion for two and for three objectives with 17 supports
// and four runs, of which the last is new.
func BenchmarkPareto(b *testing.B) {
	c := settings(b)
	real1, err := ScenarioByName("real1")
	if err != nil {
		b.Fatal(err)
	}
	r, _, err := newReplay(context.Background(), &c)
	if err != nil {
		b.Fatal(err)
	}
	baseline := r.outcomes(r.Baseline, nil)
	if err := r.do(context.Background(), baseline); err != nil {
		b.Fatal(err)
	}
	r.collect(baseline)
	w := r.table[0]
	for _, objectives := range [][]search.Objective{{search.Cost}, {search.Cost, search.Energy}, {search.Cost, search.Runtime, search.Carbon}} {
		b.Run(names(objectives), func(b *testing.B) {
			p := w.problem(4, objectives[0])
			if len(objectives) > 1 {
				p.Objectives = objectives
			}
			p.Supports = real1.supports(w, r.table, r.traces[0], seed{})
			m := search.NewEvidence()
			var observed []search.Observation
			for i := 0; len(observed) < 4; i += 15 {
				observed = append(observed, search.Observation{Configuration: w.candidates[i].Configuration, Outcome: w.outcome[i], RuntimeSeconds: math.Exp(w.logRuntime[i])})
			}
			for n := 0; b.Loop(); n++ {
				observed[3].RuntimeSeconds *= 1 + float64(n%2)*1e-3 // so that nothing is remembered
				if _, err := m.Evaluate(p, observed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
