package replay

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/modeltest"
	stagereplay "github.com/karasu-project/karasu/model/stage/replay"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(modeltest.Data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestPrintPredicted prints plans from predictions, with the edges of broadcasts matched and
// as the data has them, where KARASU_PRINT is set to how many groups are stepped over.
func TestPrintPredicted(t *testing.T) {
	every, err := strconv.Atoi(os.Getenv("KARASU_PRINT"))
	if err != nil {
		t.Skip("set KARASU_PRINT=1 to print the whole table")
	}
	began := time.Now()
	o := stagereplay.Options{Every: every}
	runs, err := stagereplay.ReadHistory(open(t, "stages/history.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictedRuns(t.Context(), "history", Sized(runs), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%+v", r)
	}
	t.Log(time.Since(began))
	for _, matched := range []bool{true, false} {
		read := stagereplay.ReadTPC
		if !matched {
			read = stagereplay.ReadTPCUnmatched
		}
		queries, err := read(open(t, "stages/tpc.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		plans := NewQueryPlans(queries, o)
		if err := stagereplay.LeaveOut(t.Context(), queries, o, plans.Each); err != nil {
			t.Fatal(err)
		}
		for _, r := range plans.Rows("tpc") {
			t.Logf("%v %+v", matched, r)
		}
		t.Log(time.Since(began))
	}
}

func byPlan(rows []PredictedRow) map[string]PredictedRow {
	out := map[string]PredictedRow{}
	for _, r := range rows {
		out[fmt.Sprintf("%g %s", r.Budget, r.Plan)] = r
	}
	return out
}

func TestPlansForRecurringRuns(t *testing.T) {
	runs, err := stagereplay.ReadHistory(open(t, "stages/history.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictedRuns(t.Context(), DataRecurring, Sized(runs), stagereplay.Options{Every: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2*len(PredictedBudgets()) {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Counted < 20 || r.Plan == PlanResolved && (r.MeanRatio < .95 || r.Broken > 0) || r.MeanRatio > 1+1e-9 {
			t.Errorf("%+v", r)
		}
	}
}

// A sixth of the groups with small forests; docs/checkpoint.md has the figures of all.
func TestPlansForUnseenQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("grows forests for some seconds")
	}
	queries, err := stagereplay.ReadTPC(open(t, "stages/tpc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	o := stagereplay.Options{Every: 12, Trees: 16}
	plans := NewQueryPlans(queries, o)
	if err := stagereplay.LeaveOut(t.Context(), queries, o, plans.Each); err != nil {
		t.Fatal(err)
	}
	rows := byPlan(plans.Rows(DataBroadcasts))
	for _, budget := range []string{"-1", "0.5", "0.25", "0.1"} {
		once, resolved := rows[budget+" "+PlanOnce], rows[budget+" "+PlanResolved]
		t.Logf("%+v", once)
		t.Logf("%+v", resolved)
		if resolved.Broken > 0 || resolved.MeanRatio < .7 || resolved.MeanRatio > 1+1e-9 {
			t.Errorf("re-solved: %+v", resolved)
		}
		if budget != "-1" && once.MeanRatio >= resolved.MeanRatio {
			t.Errorf("budget %s: planned once %.3f, re-solved %.3f", budget, once.MeanRatio, resolved.MeanRatio)
		}
	}
}

// What has not happened yet must not be known: with other times and amounts in the stages
// to come, the same is predicted.
func TestPlansKnowNothingOfTheFuture(t *testing.T) {
	queries, err := stagereplay.ReadTPC(open(t, "stages/tpc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first := func(id int) bool { return id < 3 }
	for _, q := range queries[:20] {
		other := q.Job
		other.Graph.Stages = slices.Clone(q.Graph.Stages)
		for i := range other.Graph.Stages {
			if s := &other.Graph.Stages[i]; !first(s.ID) {
				s.StartSeconds, s.EndSeconds, s.TaskSeconds = 1, 2, 3
				s.InputBytes, s.OutputBytes, s.ShuffleReadBytes, s.ShuffleWriteBytes = 4, 5, 6, 7
			}
		}
		for _, finished := range []func(int) bool{nil, first} {
			if diff := cmp.Diff(seen(q.Job, finished), seen(other, finished)); diff != "" {
				t.Errorf("%s:\n%s", q.Name, diff)
			}
		}
	}
}
