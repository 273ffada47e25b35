package replay

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
	"github.com/karasu-project/karasu/optimizer/search"
)

func methods() []Method {
	return []Method{
		{"evidence", func() search.Method { return search.NewEvidence() }},
		{"evidence-base", func() search.Method { return search.NewEvidenceWith(ensemble.Base()) }},
		{"karasu", func() search.Method { return search.NewKarasu() }},
		{"cherrypick", func() search.Method { return search.NewCherryPick() }},
		{"random", func() search.Method { return search.NewRandom() }},
	}
}

// TestPrintTable prints the table of docs/search.md. It takes minutes, so it runs
// only where KARASU_REPLAY names the table: scout or c3o. Further settings are
// KARASU_REPLAY_METHODS and KARASU_REPLAY_SCENARIOS (separated by commas),
// KARASU_REPLAY_SEED, KARASU_REPLAY_SETS and KARASU_REPLAY_HIDE (sizes, levels).
func TestPrintTable(t *testing.T) {
	c := Config{Baseline: methods()[3], Methods: methods()[1:2]}
	load := map[string]func(testing.TB) ([]model.Run, []search.Candidate){"scout": scout, "c3o": c3o}[os.Getenv("KARASU_REPLAY")]
	if load == nil {
		t.Skip("KARASU_REPLAY is not set to scout or c3o")
	}
	c.Runs, c.Candidates = load(t)
	if s := os.Getenv("KARASU_REPLAY_METHODS"); s != "" {
		c.Methods = nil
		for _, name := range strings.Split(s, ",") {
			for _, m := range methods() {
				if m.Name == name {
					c.Methods = append(c.Methods, m)
				}
			}
		}
	}
	if s := os.Getenv("KARASU_REPLAY_SCENARIOS"); s != "" {
		for _, name := range strings.Split(s, ",") {
			sc, err := ScenarioByName(name)
			if err != nil {
				t.Fatal(err)
			}
			c.Scenarios = append(c.Scenarios, sc)
		}
	}
	c.Seed, _ = strconv.ParseUint(os.Getenv("KARASU_REPLAY_SEED"), 10, 64)
	c.SeedSets, _ = strconv.Atoi(os.Getenv("KARASU_REPLAY_SETS"))
	c.NoInputSizes = strings.Contains(os.Getenv("KARASU_REPLAY_HIDE"), "sizes")
	c.Centred = strings.Contains(os.Getenv("KARASU_REPLAY_HIDE"), "levels")
	report, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d workloads, %d runs left out, %.0f s\n%s", report.Workloads, report.Skipped, report.WallSeconds, b.String())
}
