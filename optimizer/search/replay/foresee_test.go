package replay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/optimizer/search"
)

// foreseeing is a method to which a prediction is told before every evaluation, as the
// daemon does.
type foreseeing struct {
	search.Method
	predicted []predict.Distribution
}

func (f foreseeing) Evaluate(p *search.Problem, observed []search.Observation) (*search.Evaluation, error) {
	q := *p
	if _, err := search.Foresee(&q, f.predicted, observed); err != nil {
		return nil, err
	}
	return f.Method.Evaluate(&q, observed)
}

// foreseen makes up predictions of a workload: what was measured plus an error of its
// own, moved by a factor, and turned upside down or shuffled if it is told so.
func foreseen(w *workload, factor, sign float64, shuffle bool) []predict.Distribution {
	rng := rand.New(rand.NewPCG(1, 2))
	level := mean(w.history().logRuntime)
	out := make([]predict.Distribution, len(w.candidates))
	for i := range out {
		y := w.logRuntime[i]
		if w.outcome[i] == model.Failed {
			y = level
		}
		y = level + sign*(y-level) + math.Log(factor) + .1*rng.NormFloat64()
		out[i] = predict.Distribution{LogMedian: y, Scale: .1, Freedom: 4}
	}
	if shuffle {
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// TestWrongPredictionsAreFoundOut: a right prediction makes searches better, one that is
// off by a factor of five, has the shape upside down or no shape at all makes them at
// most a little worse than searching alone.
func TestWrongPredictionsAreFoundOut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many seconds under the race detector")
	}
	runs, candidates := scout(t)
	workloads, _, err := newTable(runs, candidates)
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{Config: &Config{Objective: search.Cost}}
	auc := func(wrap func(m search.Method, w *workload) search.Method) float64 {
		sum, n := 0., 0.
		for i := 0; i < len(workloads); i += 3 {
			w := workloads[i]
			m := wrap(search.NewEvidence(), w)
			for k := range 2 {
				j := job{seed: seed{1, 0, uint64(i), uint64(k + 1), uint64(k)}, w: w, out: &outcome{}}
				if err := r.search(m, j); err != nil {
					t.Fatal(err)
				}
				for _, ratio := range j.out.ratio {
					sum += (ratio - 1) / MaxRuns
				}
				n++
			}
		}
		return sum / n
	}
	alone := auc(func(m search.Method, _ *workload) search.Method { return m })
	for _, c := range []struct {
		name         string
		factor, sign float64
		shuffle      bool
		limit        float64
	}{
		{"right", 1, 1, false, alone - .05},
		{"level five times too high", 5, 1, false, alone + .05},
		{"level five times too low", .2, 1, false, alone + .05},
		{"shape upside down", 1, -1, false, alone + .05},
		{"shape shuffled", 1, 1, true, alone + .05},
		{"all wrong", 5, -1, true, alone + .05},
	} {
		got := auc(func(m search.Method, w *workload) search.Method {
			return foreseeing{m, foreseen(w, c.factor, c.sign, c.shuffle)}
		})
		t.Logf("%s: AUC %.3f, alone %.3f", c.name, got, alone)
		if got > c.limit {
			t.Errorf("%s: AUC %.3f, alone %.3f", c.name, got, alone)
		}
	}
}
