package replay

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

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
