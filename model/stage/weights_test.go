package stage

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func sharedWeights(tb testing.TB) (*General, *Weights) {
	tb.Helper()
	g, err := Fit(tb.Context(), queries(40), Options{Trees: 20})
	if err != nil {
		tb.Fatal(err)
	}
	w, err := g.Weights()
	if err != nil {
		tb.Fatal(err)
	}
	return g, w
}

func TestWeightsPredictLikeTheModel(t *testing.T) {
	g, w := sharedWeights(t)
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{"secret", "Acme", "Scan", "q1"} {
		if strings.Contains(string(text), private) {
			t.Errorf("weights hold %q", private)
		}
	}
	var read Weights
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	peer, err := FromWeights(&read)
	if err != nil {
		t.Fatal(err)
	}
	job := queries(41)[40]
	want, err := g.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := peer.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got.Stages {
		if e := math.Abs(p.TaskSeconds.LogMedian - want.Stages[i].TaskSeconds.LogMedian); e > 1 {
			t.Errorf("stage %d: task time %g s, its own model says %g s", i, p.TaskSeconds.Median(), want.Stages[i].TaskSeconds.Median())
		}
	}
	again, err := peer.Weights()
	if err != nil || again != &read {
		t.Errorf("weights of weights: %v, %v", again, err)
	}
}

// An operator of one's own counts as one of the rest: no leaf tells its name.
func TestOperators(t *testing.T) {
	for name, public := range map[string]bool{
		"HashAggregateExec": true, "HashAggregate": true, "Scan parquet": true, "Exchange": true,
		"AcmeSecretExec": false, "": false, "Scanner": false,
	} {
		if got := operatorOf(name) < len(publicOperators); got != public {
			t.Errorf("%q is public: %v, want %v", name, got, public)
		}
	}
	seen := make(map[uint64]string)
	for _, o := range publicOperators {
		h := operatorHash(o)
		if seen[h] != "" {
			t.Errorf("%q and %q have one hash", o, seen[h])
		}
		seen[h] = o
	}
}

func TestWeightsOfFewerOperators(t *testing.T) {
	_, w := sharedWeights(t)
	// A sender that knows one operator fewer has every later feature one place lower.
	cut := len(w.Operators) - 1
	w.Operators = w.Operators[:cut]
	for i := range w.Forests {
		for k, f := range w.Forests[i].Features {
			if int(f) > planFeatures+cut {
				w.Forests[i].Features[k]--
			}
		}
	}
	for k, f := range w.End.Features {
		if int(f) > planFeatures+cut {
			w.End.Features[k]--
		}
	}
	older, err := FromWeights(w)
	if err != nil {
		t.Fatal(err)
	}
	_, w = sharedWeights(t)
	same, err := FromWeights(w)
	if err != nil {
		t.Fatal(err)
	}
	job := queries(1)[0]
	a, err := older.PredictStarted(job)
	if err != nil {
		t.Fatal(err)
	}
	b, err := same.PredictStarted(job)
	if err != nil {
		t.Fatal(err)
	}
	if a.Stages[2] != b.Stages[2] {
		t.Errorf("an older sender's weights say %+v, want %+v", a.Stages[2], b.Stages[2])
	}
}

func TestWeightsErrors(t *testing.T) {
	for name, change := range map[string]func(*Weights){
		"family":   func(w *Weights) { w.Family = "other" },
		"jobs":     func(w *Weights) { w.Jobs = 0 },
		"forests":  func(w *Weights) { w.Forests = w.Forests[1:] },
		"operator": func(w *Weights) { w.Operators[0] = 1 },
		"feature":  func(w *Weights) { w.Forests[0].Features[0] = 9999 },
		"late":     func(w *Weights) { w.Forests[1].Features[0] = int32(width(atStart)) }, // of another forest
		"cut":      func(w *Weights) { w.Forests[0].Features = w.Forests[0].Features[:3] },
		"leaf":     func(w *Weights) { f := w.Forests[0]; f.Values[len(f.Values)-1] = 1e6 },
		"factor":   func(w *Weights) { w.Forests[0].Factor = math.NaN() },
		"none":     func(w *Weights) { w.Forests[0] = WeightForest{} },
		"shift":    func(w *Weights) { w.Shift = 7 },
		"nodes":    func(w *Weights) { w.End.Features = make([]int32, MaxNodes+1) },
	} {
		t.Run(name, func(t *testing.T) {
			_, w := sharedWeights(t)
			change(w)
			if _, err := FromWeights(w); !errors.Is(err, ErrWeights) {
				t.Errorf("%v, want ErrWeights", err)
			}
		})
	}
	if _, err := FromWeights(nil); !errors.Is(err, ErrWeights) {
		t.Errorf("nil: %v", err)
	}
	_, newer := sharedWeights(t)
	newer.Operators = append(newer.Operators, 7)
	if _, err := FromWeights(newer); !errors.Is(err, ErrNewer) {
		t.Errorf("an operator of a newer version: %v, want ErrNewer", err)
	}
	few := queries(folds)
	for i := range few { // jobs enough, but one stage each
		few[i].Graph.Stages = few[i].Graph.Stages[:1]
	}
	for _, jobs := range [][]Job{queries(folds - 1), few} {
		g, err := Fit(t.Context(), jobs, Options{Trees: 5})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Weights(); !errors.Is(err, ErrNoHistory) {
			t.Errorf("weights of %d jobs: %v", len(jobs), err)
		}
	}
}

// Whatever the weights hold, they are refused or predict finite amounts.
func FuzzFromWeights(f *testing.F) {
	leaf := `{"Trees":1,"Features":[-1],"Values":[2],"Factor":1,"Floor":0.1}`
	operators := `"Operators":[]`
	f.Add(`{"Family":"stage-trees/1",` + operators + `,"Jobs":1,"Stages":1,"Forests":[` + leaf + `,{},{},{},{},{}]}`)
	f.Add(`{"Family":"stage-trees/1",` + operators + `,"Jobs":5,"Stages":9,"Blend":1,"Forests":[` + strings.Repeat(leaf+",", 5) + leaf + `],"End":` + leaf + `}`)
	f.Add(`{"Family":"stage-trees/1","Jobs":1,"Stages":1,"Forests":[{"Trees":1,"Features":[0,-1,-1],"Values":[0.5,1,2]},{},{},{},{},{}]}`)
	f.Add(`{}`)
	job := queries(1)[0]
	f.Fuzz(func(t *testing.T, text string) {
		var w Weights
		if json.Unmarshal([]byte(text), &w) != nil {
			return
		}
		g, err := FromWeights(&w)
		if err != nil {
			if !errors.Is(err, ErrWeights) {
				t.Fatal(err)
			}
			return
		}
		for _, finished := range []func(int) bool{nil, func(id int) bool { return id < 2 }} {
			forecast, err := g.Predict(job, finished)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range forecast.Stages {
				for _, v := range []float64{p.Duration.Quantile(.9), p.TaskSeconds.Quantile(.9), p.OutputBytes.Quantile(.9), p.StartSeconds, p.EndSeconds} {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
						t.Fatalf("prediction %+v", p)
					}
				}
			}
		}
	})
}
