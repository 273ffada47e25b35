package gp

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"pgregory.net/rapid"
)

func TestGradientMatchesNumeric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d")
		x, y := sample(rapid.Uint64().Draw(t, "seed"), n, d)
		z, _, _ := standardise(y)
		p := newPosterior(x, d, z)
		theta := make([]float64, d+2)
		for i := range theta {
			theta[i] = rapid.Float64Range(-1.5, 1.5).Draw(t, "theta")
		}
		got := make([]float64, d+2)
		p.evaluate(theta, got)
		unused := make([]float64, d+2)
		want := fd.Gradient(nil, func(th []float64) float64 { return p.evaluate(th, unused) }, theta,
			&fd.Settings{Formula: fd.Central, Step: 1e-5})
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Fatalf("entry %d of the gradient at %v: got %g, numerically %g", i, theta, got[i], want[i])
			}
		}
	})
}

func TestPosteriorDensityIsEvidencePlusPrior(t *testing.T) {
	x, y := sample(3, 9, 3)
	z, offset, scale := standardise(y)
	p := newPosterior(x, 3, z)
	unused := make([]float64, 5)
	difference := func(theta []float64) float64 {
		g, err := condition(x, 3, z, offset, scale, fromTheta(theta))
		if err != nil {
			t.Fatal(err)
		}
		prior := 0.0
		for i, v := range theta {
			q := hyperPrior(i, 3)
			prior -= (v - q.mean) * (v - q.mean) / q.sd / q.sd / 2
		}
		return p.evaluate(theta, unused) - g.LogEvidence() - prior
	}
	a, b := difference([]float64{0, 1, 2, 0.3, -2}), difference([]float64{1, 0.5, 1.5, -0.2, -1})
	if math.Abs(a-b) > 1e-9 {
		t.Errorf("log density minus log evidence minus log prior is no constant: %g and %g", a, b)
	}
}

func TestEvaluateRefusesOverflow(t *testing.T) {
	x, y := sample(1, 4, 1)
	p := newPosterior(x, 1, y)
	g := []float64{1, 1, 1}
	for _, theta := range [][]float64{{math.NaN(), 0, 0}, {0, 900, 0}, {-900, 0, 0}, {0, 0, math.Inf(1)}} {
		if v := p.evaluate(theta, g); !math.IsInf(v, -1) {
			t.Errorf("density at %v is %g, want -Inf", theta, v)
		}
		for _, v := range g {
			if v != 0 {
				t.Errorf("gradient at %v is %v, want zero", theta, g)
			}
		}
	}
}

func TestFitIsAStationaryMaximum(t *testing.T) {
	for seed := range uint64(20) {
		x, y := sample(seed, 8, 3)
		g, err := Fit(x, 3, y)
		if err != nil {
			t.Fatal(err)
		}
		p := newPosterior(x, 3, g.y)
		h := g.Hyperparameters()
		theta := []float64{math.Log(h.LengthScales[0]), math.Log(h.LengthScales[1]), math.Log(h.LengthScales[2]), math.Log(h.SignalSD), math.Log(h.NoiseSD)}
		gradient := make([]float64, 5)
		best := p.evaluate(theta, gradient)
		for i, v := range gradient {
			if math.Abs(v) > 1e-2 {
				t.Errorf("seed %d: entry %d of the gradient at the optimum is %g", seed, i, v)
			}
		}
		for _, start := range starts {
			at := make([]float64, 5)
			for i := range at {
				q := hyperPrior(i, 3)
				at[i] = q.mean + start[min(max(i-2, 0), 2)]*q.sd
			}
			if v := p.evaluate(at, gradient); v > best {
				t.Errorf("seed %d: density %g at a start exceeds %g at the optimum", seed, v, best)
			}
		}
	}
}
