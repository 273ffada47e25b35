package replay

import (
	"context"
	"testing"

	"github.com/karasu-project/karasu/optimizer/search"
)

// TestPublishedMethodsReachTheirLevel: our cherrypick and karasu are at least as good
// as the methods that they stand for, so that a comparison with them is fair. The
// bounds are what an independent implementation of both reached on this protocol.
// Choices made looking at this table: the features, the priors' medians, the margin
// and kind of the initial design, equal shares after one run, and the consensus before.
func TestPublishedMethodsReachTheirLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := Config{
		Baseline: Method{"cherrypick", func() search.Method { return search.NewCherryPick() }},
		Methods:  []Method{{"karasu", func() search.Method { return search.NewKarasu() }}},
		SeedSets: 3,
	}
	c.Runs, c.Candidates = scout(t)
	for _, name := range []string{"solo", "A3"} {
		s, err := ScenarioByName(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	report, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	// Without supports, karasu is cherrypick: optimizer/search tests that.
	for i, bound := range []float64{.583, .401} {
		row := report.Rows[i]
		t.Logf("%s %s: AUC %.3f", row.Method, row.Scenario, row.AUC)
		if row.AUC > bound {
			t.Errorf("%s %s: AUC %.3f, want at most %.3f", row.Method, row.Scenario, row.AUC, bound)
		}
	}
}

// TestTreesAreSound: on a table without metrics trees alone beat a random order.
func TestTreesAreSound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := someWorkloads(t, "solo")
	c.Methods = []Method{
		{"random", func() search.Method { return search.NewRandom() }},
		{"arrow", func() search.Method { return search.NewArrow() }},
	}
	report, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if random, alone := report.Rows[0].AUC, report.Rows[1].AUC; !(alone < random) {
		t.Errorf("AUC %.3f at random, %.3f with trees", random, alone)
	}
}
