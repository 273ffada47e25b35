package gp

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestRootFallsBackToJitter(t *testing.T) {
	ones := mat.NewSymDense(3, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1})
	for _, c := range []struct {
		name string
		cov  *mat.SymDense
		// tolerance of L L^T
		tolerance float64
	}{
		{"regular", mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1}), 1e-12},
		{"singular", ones, 1e-8},
		{"negative by rounding", mat.NewSymDense(2, []float64{1, 1 + 1e-7, 1 + 1e-7, 1}), 1e-5},
		{"zero variance", mat.NewSymDense(2, []float64{1, 0, 0, 0}), 1e-8},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := mat.DenseCopyOf(c.cov)
			l, err := Root(c.cov)
			if err != nil {
				t.Fatal(err)
			}
			var product mat.Dense
			product.Mul(l, l.T())
			if !mat.EqualApprox(&product, c.cov, c.tolerance) {
				t.Errorf("L L^T = %v", mat.Formatted(&product))
			}
			if !mat.Equal(before, c.cov) {
				t.Error("the argument changed")
			}
		})
	}
}

func TestRootRefuses(t *testing.T) {
	for name, cov := range map[string]*mat.SymDense{
		"negative":   mat.NewSymDense(1, []float64{-1}),
		"zero":       mat.NewSymDense(2, make([]float64, 4)),
		"indefinite": mat.NewSymDense(2, []float64{1, 2, 2, 1}),
		"NaN":        mat.NewSymDense(2, []float64{1, math.NaN(), math.NaN(), 1}),
		"infinite":   mat.NewSymDense(2, []float64{math.Inf(1), 0, 0, 1}),
	} {
		if _, err := Root(cov); !errors.Is(err, ErrNotPositive) {
			t.Errorf("%s: %v, want ErrNotPositive", name, err)
		}
	}
}
