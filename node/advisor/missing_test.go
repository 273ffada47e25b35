package advisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// labRows are the machine types of an infrastructure of one's own.
const labRows = `cloud,machine_type,vcpus,memory_gib,usd_per_hour,idle_watts,full_watts
lab,small,2,8,0.1,20,60
lab,mid,4,16,0.2,,
lab,noprice,8,32,,,
`

// labCatalog is a catalog with the rows for which keep holds.
func labCatalog(t *testing.T, without ...string) *catalog.Catalog {
	t.Helper()
	var rows []string
	for _, row := range strings.Split(labRows, "\n") {
		drop := false
		for _, name := range without {
			drop = drop || strings.HasPrefix(row, "lab,"+name+",")
		}
		if !drop {
			rows = append(rows, row)
		}
	}
	path := filepath.Join(t.TempDir(), "machines.csv")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load(catalog.Builtin(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func inLab(t *testing.T) fixture {
	return newFixture(t, func(o *advisor.Options) {
		o.Catalog = labCatalog(t)
		o.Lookup = func(infrastructure, name string) (model.Resources, bool, bool) {
			m, err := o.Catalog.Lookup(infrastructure, name)
			return m.Resources, false, err == nil
		}
	})
}

func labSearch(job string, machines ...string) *karasuv1.SearchSettings {
	s := settings(job)
	s.Workload.Infrastructure, s.MachineTypes = "lab", machines
	return s
}

// TestMachineTypesThatAreGone: a machine type that left the catalog stops only the
// searches of which nothing is left, and these say what to do.
func TestMachineTypesThatAreGone(t *testing.T) {
	f := inLab(t)
	for _, s := range []*karasuv1.SearchSettings{labSearch("both", "small", "mid"), labSearch("small only", "small"), labSearch("mid only", "mid"), labSearch("ran", "small")} {
		if _, err := f.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range []string{"both", "ran"} {
		if _, err := f.Report(t.Context(), report(job, "mid", 4, 700, ok)); err != nil {
			t.Fatal(err)
		}
	}
	f.Catalog = labCatalog(t, "mid")
	for _, job := range []string{"both", "ran"} {
		state, err := f.Get(t.Context(), job)
		if err != nil || state.GetCandidates() != 3 || len(state.GetSteps()) != 1 {
			t.Fatalf("%s: %d candidates, %d steps (%v), want the 3 that are left and the run", job, state.GetCandidates(), len(state.GetSteps()), err)
		}
		if notes := strings.Join(state.GetNext().GetNotes(), "\n"); !strings.Contains(notes, "goes on without them: mid") {
			t.Errorf("%s: notes %q do not say what is missing", job, notes)
		}
		if _, err := f.Report(t.Context(), report(job, "small", 8, 600, ok)); err != nil {
			t.Errorf("%s: %v", job, err)
		}
	}
	_, err := f.Get(t.Context(), "mid only")
	if !errors.Is(err, advisor.ErrMachinesGone) || !strings.Contains(err.Error(), "mid") || !strings.Contains(err.Error(), "search delete --job 'mid only'") {
		t.Errorf("error %v, want %v with what to do", err, advisor.ErrMachinesGone)
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 4 {
		t.Fatalf("%d searches (%v), want 4", len(all), err)
	}
	for _, s := range all {
		if job := s.GetSettings().GetWorkload().GetJob(); (job == "small only") != (s.GetProblem() == "") {
			t.Errorf("%s: problem %q", job, s.GetProblem())
		}
	}
	// Nothing was taken away for good.
	f.Catalog = labCatalog(t)
	if state, err := f.Get(t.Context(), "both"); err != nil || state.GetCandidates() != 6 || len(state.GetNext().GetNotes()) != 0 {
		t.Errorf("%d candidates, notes %q (%v) once the type is back", state.GetCandidates(), state.GetNext().GetNotes(), err)
	}
	if err := f.Delete(t.Context(), "mid only"); err != nil {
		t.Error(err)
	}
}

// TestUnpricedTypesAreNoCandidates of a search for cost or under a budget.
func TestUnpricedTypesAreNoCandidates(t *testing.T) {
	f := inLab(t)
	for _, c := range []struct {
		name       string
		change     func(*karasuv1.SearchSettings)
		candidates uint32
	}{
		{"cost", func(*karasuv1.SearchSettings) {}, 3},
		{"runtime", func(s *karasuv1.SearchSettings) { s.Objective = "runtime" }, 6},
		{"runtime on a budget", func(s *karasuv1.SearchSettings) { s.Objective, s.BudgetUsd = "runtime", 1 }, 3},
	} {
		s := labSearch(c.name, "small", "noprice")
		c.change(s)
		state, err := f.Start(t.Context(), s)
		if err != nil || state.GetCandidates() != c.candidates {
			t.Fatalf("%s: %d candidates (%v), want %d", c.name, state.GetCandidates(), err, c.candidates)
		}
		if c.candidates == 6 {
			continue
		}
		if r := state.GetNext().GetRunnerUp(); r.GetConfiguration().GetMachineType() == "noprice" {
			t.Errorf("%s: %v is second best at a cost that nobody knows", c.name, r)
		}
		if state, err = f.Report(t.Context(), report(c.name, "noprice", 2, 100, ok)); err != nil {
			t.Fatal(err)
		}
		if step := state.GetSteps()[0]; !step.GetOutside() || step.Best != nil || step.CostUsd != nil {
			t.Errorf("%s: a run of unknown cost is %v", c.name, step)
		}
		got, err := f.Recommend(t.Context(), s, &karasuv1.Configuration{MachineType: "noprice", ScaleOut: 4})
		if err != nil || got.GetCurrent() == nil {
			t.Fatalf("%s: current %v (%v)", c.name, got.GetCurrent(), err)
		}
		for _, p := range got.GetPredictions() {
			if p.GetConfiguration().GetMachineType() == "noprice" {
				t.Errorf("%s: %v is recommended", c.name, p)
			}
		}
	}
}
