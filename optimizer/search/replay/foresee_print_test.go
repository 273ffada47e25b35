package replay

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
	"github.com/karasu-project/karasu/optimizer/search"
)

// described gives a workload the arguments that c3o puts into the data set's name.
func described(w model.Workload) model.Workload {
	for _, pair := range strings.Fields(w.Dataset) {
		name, value, _ := strings.Cut(pair, "=")
		if v, err := strconv.ParseFloat(value, 64); err == nil && name != "data_size_MB" {
			w.Arguments = append(w.Arguments, model.Argument{Name: name, Number: v})
		}
	}
	return w.Normalize()
}

// predictedFromOthers predicts a workload's candidates from all runs of its algorithm on
// other data; nil where there are none.
func predictedFromOthers(t *testing.T, w *workload, runs []model.Run, candidates []search.Candidate) []predict.Distribution {
	t.Helper()
	var others []model.Run
	for _, r := range runs {
		if r.Workload.Topic() == w.Topic() && r.Workload.Dataset != w.Dataset {
			r.Workload = described(r.Workload)
			others = append(others, r)
		}
	}
	histories, _ := predict.Histories(others, func(_, machine string) (model.Resources, bool) {
		i := slices.IndexFunc(candidates, func(c search.Candidate) bool { return c.Configuration.MachineType == machine })
		return candidates[i].Resources, true
	})
	if len(histories) == 0 {
		return nil
	}
	g, err := structured.New("default", structured.Options{}).Fit(t.Context(), histories)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]predict.Distribution, len(w.candidates))
	for i, c := range w.candidates {
		p, err := g.Condition(predict.ContextOf(described(w.Workload), c.Configuration.MachineType, c.Resources), nil)
		if err != nil {
			t.Fatal(err)
		}
		if out[i], err = p.Predict(c.Configuration.ScaleOut); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestPrintForeseen prints what predictions from other data of the same algorithm are
// worth to searches, alone and beside that data's runs, as docs/predict.md says. It runs
// only where KARASU_REPLAY is "foresee".
func TestPrintForeseen(t *testing.T) {
	if os.Getenv("KARASU_REPLAY") != "foresee" {
		t.Skip(`KARASU_REPLAY is not "foresee"`)
	}
	full, err := ScenarioByName("A-full")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []struct {
		name string
		read func(testing.TB) ([]model.Run, []search.Candidate)
		// every so many workloads, with as many searches each
		every, searches int
	}{{"scout", scout, 1, 5}, {"c3o", c3o, 3, 2}} {
		runs, candidates := table.read(t)
		workloads, _, err := newTable(runs, candidates)
		if err != nil {
			t.Fatal(err)
		}
		r := &replay{Config: &Config{Objective: search.Cost}, table: workloads, traces: [][][]trace{make([][]trace, len(workloads))}}
		sum, n := map[string]float64{}, 0.
		for i := 0; i < len(workloads); i += table.every {
			w := workloads[i]
			predicted := predictedFromOthers(t, w, runs, candidates)
			if predicted == nil || len(w.candidates) < minConfigurations {
				continue
			}
			n++
			methods := map[string]search.Method{"": search.NewEvidence()}
			methods[" and prediction"] = foreseeing{search.NewEvidence(), predicted}
			for name, m := range methods {
				for _, s := range []*Scenario{nil, &full} {
					key := "alone" + name
					if s != nil {
						key = "others' runs" + name
					}
					for k := range table.searches {
						j := job{seed: seed{1, 0, uint64(i), uint64(k), uint64(k)}, w: w, out: &outcome{}, scenario: s}
						if err := r.search(m, j); err != nil {
							t.Fatal(err)
						}
						for _, ratio := range j.out.ratio {
							sum[key] += (ratio - 1) / MaxRuns / float64(table.searches)
						}
					}
				}
			}
		}
		for _, key := range []string{"alone", "alone and prediction", "others' runs", "others' runs and prediction"} {
			t.Logf("%s, %.0f workloads, %s: AUC %.3f", table.name, n, key, sum[key]/n)
		}
	}
}
