package replay

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/runtime/bell"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/c3o"
	"github.com/karasu-project/karasu/model/runtime/ernest"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

func allModels() []Model {
	return []Model{
		{Learner: structured.New("default", structured.Options{})},
		{Learner: structured.New("fixed", structured.Options{FixedParams: true})},
		{Learner: structured.New("transfer", structured.Options{NoFamily: true})},
		{Learner: structured.New("transfer-fixed", structured.Options{NoFamily: true, FixedParams: true})},
		{Learner: ernest.Learner{}, Protocols: []string{Full, Filtered, Bell}},
		{Learner: ernest.Learner{Relative: true}, Protocols: []string{Full, Filtered, Bell}},
		{Learner: bell.Learner{}, Protocols: []string{Full, Filtered, Bell}},
		{Learner: c3o.Learner{}, Folds: 10},
		{Learner: bellamy.Learner{Variant: bellamy.PartialUnfreeze}, Folds: 10, Protocols: []string{Full, Filtered, Bell}},
		{Learner: bellamy.Learner{Variant: bellamy.Local}, Folds: 10, Protocols: []string{Full, Filtered, Bell}},
	}
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
// KARASU_REPLAY_MODELS, _JOBS, _CONTEXTS, _DRAWS, _SPLITS and _SEED.
func TestPrintTable(t *testing.T) {
	protocols := os.Getenv("KARASU_REPLAY")
	if protocols == "" {
		t.Skip("KARASU_REPLAY does not name protocols")
	}
	c := Config{Models: allModels(), Protocols: strings.Split(protocols, ",")}
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
}
