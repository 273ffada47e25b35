package ernest

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// The solution meets the conditions of Karush, Kuhn and Tucker: no coefficient is
// negative, no gradient of one at zero points downhill, and others have none.
func TestNNLSIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 8).Draw(t, "m"), rapid.IntRange(1, 4).Draw(t, "n")
		number := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-50, 50).Draw(t, "v")) / 10 })
		a, b := make([][]float64, m), make([]float64, m)
		for i := range a {
			a[i], b[i] = rapid.SliceOfN(number, n, n).Draw(t, "row"), number.Draw(t, "b")
		}
		x := NNLS(a, b)
		for j := range n {
			var gradient, size float64
			for i := range m {
				r := -b[i]
				for k := range n {
					r += a[i][k] * x[k]
				}
				gradient += a[i][j] * r
				size += math.Abs(a[i][j] * b[i])
			}
			limit := 1e-5 * (1 + size)
			if x[j] < 0 || gradient < -limit || x[j] > 1e-6 && gradient > limit {
				t.Fatalf("x = %v: gradient %d is %g", x, j, gradient)
			}
		}
	})
}

func TestFitFindsTheCurve(t *testing.T) {
	for name, c := range map[string][Terms]float64{
		"serial and parallel": {30, 400, 0, 0}, "tree": {0, 200, 12, 0}, "all": {10, 300, 5, 2},
	} {
		for _, relative := range []bool{false, true} {
			var runs []predict.Observation
			for x := 2; x <= 12; x += 2 {
				runs = append(runs, predict.Observation{ScaleOut: x, RuntimeSeconds: (&Model{Coefficients: c}).Seconds(x)})
			}
			m, err := Fit(runs, relative)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []int{1, 7, 24} {
				if got, want := m.Seconds(x), (&Model{Coefficients: c}).Seconds(x); math.Abs(got-want) > .01*want {
					t.Errorf("%s, relative %v: at %d nodes %.2f s, want %.2f s", name, relative, x, got, want)
				}
			}
		}
	}
}

func TestConditionErrors(t *testing.T) {
	g, err := Learner{}.Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := predict.Context{MachineType: "m", Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, InputBytes: 1e9}
	if _, err := g.Condition(c, nil); !errors.Is(err, predict.ErrNoRuns) {
		t.Errorf("without runs: %v", err)
	}
	if _, err := g.Condition(c, []predict.Observation{{ScaleOut: 0, RuntimeSeconds: 3}}); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("no nodes: %v", err)
	}
	if _, err := g.Weights(); !errors.Is(err, predict.ErrNotPortable) {
		t.Errorf("weights: %v", err)
	}
}
