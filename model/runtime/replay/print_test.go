package replay

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// allModels adds parts of the default, which reports do not show, to [Models].
func allModels() []Model {
	return append(Models(),
		Model{Learner: structured.New("fixed", structured.Options{FixedParams: true})},
		Model{Learner: structured.New("transfer", structured.Options{NoFamily: true})})
}

// tables reads the public measurements or skips the test.
func tables(tb testing.TB) (c3o, bell []Table) {
	tb.Helper()
	dir := filepath.Dir(modeltest.Data(tb, "c3o"))
	c3o, err := LoadC3O(dir)
	if err != nil {
		tb.Fatal(err)
	}
	if bell, err = LoadBell(dir); err != nil {
		tb.Fatal(err)
	}
	return c3o, bell
}

// TestPrintTable prints the tables of docs/predict.md. It takes minutes, so it runs
// only where KARASU_REPLAY names protocols, separated by commas. Further settings are
// KARASU_REPLAY_MODELS, _JOBS, _CONTEXTS, _DRAWS, _SPLITS,
// _SEED and _JSON, a file for the report.
func TestPrintTable(t *testing.T) {
	protocols := os.Getenv("KARASU_REPLAY")
	if protocols == "" {
		t.Skip("KARASU_REPLAY does not name protocols")
	}
	c := Config{Models: Models(), Protocols: strings.Split(protocols, ",")}
	c.C3O, c.Bell = tables(t)
	if s := os.Getenv("KARASU_REPLAY_MODELS"); s != "" {
		c.Models = nil
		for _, name := range strings.Split(s, ",") {
			for _, m := range allModels() {
				if m.Learner.Name() == name {
					c.Models = append(c.Models, m)
				}
			}
		}
	}
	if s := os.Getenv("KARASU_REPLAY_JOBS"); s != "" {
		other := func(t Table) bool { return !slices.Contains(strings.Split(s, ","), t.Job) }
		c.C3O, c.Bell = slices.DeleteFunc(c.C3O, other), slices.DeleteFunc(c.Bell, other)
	}
	for name, p := range map[string]*int{"CONTEXTS": &c.Contexts, "DRAWS": &c.Draws, "SPLITS": &c.Splits} {
		*p, _ = strconv.Atoi(os.Getenv("KARASU_REPLAY_" + name))
	}
	c.Seed, _ = strconv.ParseUint(os.Getenv("KARASU_REPLAY_SEED"), 10, 64)
	report, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	if path := os.Getenv("KARASU_REPLAY_JSON"); path != "" {
		j, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, j, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
