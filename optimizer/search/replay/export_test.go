package replay

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// TestSpellIsWhatIsReplayed plays the exported searches with the baseline's own picks
// and gets the baseline's own figures.
func TestSpellIsWhatIsReplayed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector")
	}
	c := smallConfig()
	c.Methods, c.Details = []Method{c.Baseline}, true
	solo, err := ScenarioByName("solo")
	if err != nil {
		t.Fatal(err)
	}
	c.Scenarios = []Scenario{solo}
	report, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	spelt, err := Spell(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	ratios := report.Rows[0].Ratios
	if len(spelt.Searches) != len(ratios) || len(ratios) != len(report.Rows[0].Seconds) {
		t.Fatalf("%d searches spelt, %d replayed, %d timed", len(spelt.Searches), len(ratios), len(report.Rows[0].Seconds))
	}
	for i, s := range spelt.Searches {
		if len(s.Design) != designRuns {
			t.Fatalf("search %d starts with %v", i, s.Design)
		}
		best, found := math.Inf(1), math.Inf(1)
		for _, v := range s.ValidCost {
			if v != nil {
				best = min(best, *v)
			}
		}
		for n, k := range s.Design {
			if s.ValidCost[k] != nil {
				found = min(found, *s.ValidCost[k])
			}
			want := spelt.NothingValid
			if !math.IsInf(found, 1) {
				want = found / best
			}
			if math.Abs(ratios[i][n]-want) > 1e-12 {
				t.Errorf("search %d, run %d: ratio %g, as spelt %g", i, n+1, ratios[i][n], want)
			}
		}
		for k, o := range s.Outcome {
			if (s.LogRuntime[k] == nil) != (o == model.Failed.String()) || s.ValidCost[k] != nil && o != model.OK.String() {
				t.Errorf("search %d, candidate %d: %s, runtime %v, cost %v", i, k, o, s.LogRuntime[k], s.ValidCost[k])
			}
		}
	}
	// The small table's types have prices and no watts.
	var names []search.Objective
	for o, offsets := range spelt.Searches[0].LogOffset {
		names = append(names, o)
		if len(offsets) != len(spelt.Searches[0].Features) {
			t.Errorf("%d offsets of %s", len(offsets), o)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff([]search.Objective{search.Cost, search.Runtime}, names); d != "" {
		t.Error(d)
	}
}

// TestDetailsOfFronts: the details of every search are there where they are asked for,
// in the order of the exported searches, and their mean is the row.
func TestDetailsOfFronts(t *testing.T) {
	c := smallConfig()
	c.Methods, c.SeedSets, c.Workers = []Method{{"random", func() search.Method { return search.NewRandom() }}}, 1, 1
	solo, err := ScenarioByName("solo")
	if err != nil {
		t.Fatal(err)
	}
	c.Scenarios = []Scenario{solo}
	for _, details := range []bool{false, true} {
		c.Details = details
		report, err := RunPareto(context.Background(), ParetoConfig{Config: c, Objectives: [][]search.Objective{{search.Cost, search.Runtime}}})
		if err != nil {
			t.Fatal(err)
		}
		row := report.Rows[0]
		if !details {
			if row.Volumes != nil || row.Seconds != nil {
				t.Error("details that nobody asked for")
			}
			continue
		}
		if len(row.Volumes) != row.Searches || len(row.Seconds) != row.Searches {
			t.Fatalf("details of %d and %d of %d searches", len(row.Volumes), len(row.Seconds), row.Searches)
		}
		for n := range MaxRuns {
			sum := 0.
			for i := range row.Volumes {
				sum += row.Volumes[i][n]
				if row.Seconds[i][n] < 0 {
					t.Errorf("search %d, run %d took %g s", i, n+1, row.Seconds[i][n])
				}
			}
			if want := row.Hypervolume[n]; math.Abs(sum/float64(row.Searches)-want) > 1e-12 {
				t.Errorf("run %d: mean %g, want %g", n+1, sum/float64(row.Searches), want)
			}
		}
	}
}
