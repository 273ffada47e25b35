package ensemble_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/karasu-project/karasu/model/ensemble"
)

func levelConfig() ensemble.Config {
	var c ensemble.Config
	for _, n := range []float64{2, 4, 8, 16} {
		for _, cores := range []float64{2, 4, 8} {
			c.Candidates = append(c.Candidates, ensemble.Point{Nodes: n, CoresPerNode: cores, GiBPerNode: 4 * cores})
		}
	}
	t := ensemble.Trace{Class: ensemble.Same, Workload: "support"}
	for i, q := range c.Candidates[:6] {
		t.Points, t.LogRuntime = append(t.Points, q), append(t.LogRuntime, 6-.3*float64(i))
	}
	c.Supports, c.LevelMean = []ensemble.Trace{t}, 6
	return c
}

// TestBorrowedLevel: a mixture of two levels is, exactly, the two ensembles of one level
// each, weighted by prior share and evidence; with a wrong level only the other is left.
func TestBorrowedLevel(t *testing.T) {
	predict := func(c ensemble.Config, runs []float64) *ensemble.Mixture {
		t.Helper()
		e, err := ensemble.New(ensemble.Default(), c)
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range runs {
			if err := e.Observe(3*i, y, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.ObserveBound(11, 4, 0); err != nil {
			t.Fatal(err)
		}
		m, err := e.Predict()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	runs := []float64{6.4, 6, 5.2}
	for _, level := range []ensemble.Level{{Mean: 5, SD: .6, Share: .8}, {Mean: math.Log(1e-3), SD: .6, Share: .8}, {Mean: math.Log(3e8), SD: .6, Share: .99}} {
		both, own, theirs := levelConfig(), levelConfig(), levelConfig()
		both.Borrowed = &level
		theirs.LevelMean, theirs.LevelSD = level.Mean, level.SD
		m, a, b := predict(both, runs), predict(own, runs), predict(theirs, runs)
		n, share := len(a.Weight), m.BorrowedShare()
		if len(m.Weight) != 2*n {
			t.Fatalf("%d hypotheses, want %d", len(m.Weight), 2*n)
		}
		for h, w := range m.Weight {
			of, total, i := a, 1-share, h
			if m.Borrowed[h] {
				of, total, i = b, share, h-n
			}
			if (h >= n) != m.Borrowed[h] || math.Abs(w-total*of.Weight[i]) > 1e-9 ||
				!floats.EqualApprox(m.Mean[h], of.Mean[i], 1e-9) || !floats.EqualApprox(m.Variance[h], of.Variance[i], 1e-9) {
				t.Fatalf("level %v: hypothesis %d has weight %g, want %g of %g", level, h, w, total, of.Weight[i])
			}
		}
		if wrong := math.Abs(level.Mean-6) > 5; wrong && share > 1e-9 || !wrong && share < .5 {
			t.Errorf("level %v: the borrowed level has %.3g of the weight", level, share)
		}
	}
}

func TestBorrowedLevelIsChecked(t *testing.T) {
	for _, l := range []ensemble.Level{{Mean: math.NaN(), SD: 1, Share: .5}, {SD: 0, Share: .5}, {SD: math.Inf(1), Share: .5}, {SD: 1}, {SD: 1, Share: 1}} {
		c := levelConfig()
		c.Borrowed = &l
		if _, err := ensemble.New(ensemble.Default(), c); !errors.Is(err, ensemble.ErrInvalid) {
			t.Errorf("level %v: error %v, want %v", l, err, ensemble.ErrInvalid)
		}
	}
}
