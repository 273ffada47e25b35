package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func row(t *testing.T, rows []Row, data, target, model string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Data == data && r.Target == target && r.Model == model {
			return r
		}
	}
	t.Fatalf("no row of %s, %s, %s", data, target, model)
	return Row{}
}

// Every 16th group is left out, with small forests; docs/checkpoint.md has the figures of
// all. Limits leave room for the few queries.
func TestTPC(t *testing.T) {
	if testing.Short() {
		t.Skip("grows forests for some seconds")
	}
	rows, err := TPC(t.Context(), queriesOf(t), Options{Every: 16, Trees: 24, ChosenOnly: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data, target, model string
		median, r2          float64
	}{
		{tpcSubmission, duration, forestModel, .70, .50},
		{tpcStart, duration, forestModel, .60, .60},
		{tpcStart, taskTime, forestModel, .60, .80},
		{tpcStart, output, forestModel, 1, .40},
		{tpcSubmission, end, stackedModel, .30, .40},
		{tpcStart, end, schedule0Model, .15, .80},
	} {
		if r := row(t, rows, c.data, c.target, c.model); r.MedianAPE > c.median || r.R2Log < c.r2 {
			t.Errorf("%+v, want a median of at most %g and R2 of at least %g", r, c.median, c.r2)
		}
	}
}

func TestHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("predicts some thousand stages")
	}
	rows, err := History(t.Context(), readHistory(t), Options{Every: 4})
	if err != nil {
		t.Fatal(err)
	}
	chosen := row(t, rows, history, duration, recurringModel)
	if chosen.MedianAPE > .10 || chosen.R2Log < .97 {
		t.Errorf("%+v, want a median of at most .10", chosen)
	}
	for _, target := range []string{start, end} {
		if r := row(t, rows, history, target, recurringModel); r.MedianAPE > .03 {
			t.Errorf("%+v, want at most .03 of the job's length", r)
		}
	}
	for _, r := range rows {
		if r.Target == duration && r.Model != recurringModel && r.MedianAPE <= chosen.MedianAPE {
			t.Errorf("%s is better than the chosen model: %+v", r.Model, r)
		}
	}
}

// The same queries on few and many cores, in the test path without public data.
func TestTPCIsDeterministic(t *testing.T) {
	var lines strings.Builder
	for _, name := range []string{"q1", "q2a", "q2b", "q3", "q4", "q5", "q6", "q7", "q8", "q9"} {
		lines.WriteString(strings.ReplaceAll(tpcLine, "tpch100_14b", name) + "\n")
	}
	queries, err := ReadTPC(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	replayed := func() []Row {
		rows, err := TPC(t.Context(), queries, Options{Trees: 8}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	first := replayed()
	if diff := cmp.Diff(first, replayed()); diff != "" {
		t.Errorf("a second replay differs:\n%s", diff)
	}
	// All queries are alike, so whatever learns from the others is right.
	if r := row(t, first, tpcStart, duration, forestModel); r.MAPE > .05 || r.Stages != 30 {
		t.Errorf("%+v, want no error on 30 stages", r)
	}
}
