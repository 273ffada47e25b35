package gp

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func approx(tolerance float64) cmp.Option { return cmpopts.EquateApprox(tolerance, tolerance) }

func hyper(d int) Hyperparameters {
	h := Hyperparameters{SignalSD: 1.3, NoiseSD: 0.2}
	for k := range d {
		h.LengthScales = append(h.LengthScales, 1+float64(k)/2)
	}
	return h
}

// TestOneObservation checks the posterior against the formula for n = 1.
func TestOneObservation(t *testing.T) {
	h := Hyperparameters{LengthScales: []float64{2}, SignalSD: 1.5, NoiseSD: 0.5}
	g, err := FromWeights(&Weights{Dimensions: 1, Inputs: []float64{1}, Targets: []float64{0}, LengthScales: h.LengthScales, SignalSD: h.SignalSD, NoiseSD: h.NoiseSD})
	if err != nil {
		t.Fatal(err)
	}
	g.y[0], g.alpha[0] = 0.8, 0.8/(1.5*1.5+0.25)
	mean, variance, err := g.Posterior([]float64{2})
	if err != nil {
		t.Fatal(err)
	}
	q := math.Sqrt(5) / 2 // one unit is half a length scale
	k := 1.5 * 1.5 * (1 + q + q*q/3) * math.Exp(-q)
	want := []float64{k * 0.8 / 2.5, 1.5*1.5 - k*k/2.5}
	if diff := cmp.Diff(want, []float64{mean[0], variance[0]}, approx(1e-12)); diff != "" {
		t.Error(diff)
	}
}

func TestPosteriorLimits(t *testing.T) {
	x, y := sample(5, 6, 2)
	h := hyper(2)
	h.NoiseSD = 1e-4
	g, err := Condition(x, 2, y, h)
	if err != nil {
		t.Fatal(err)
	}
	mean, variance, err := g.Posterior(append(append([]float64(nil), x...), 900, -900))
	if err != nil {
		t.Fatal(err)
	}
	offset, scale := g.Scaling()
	if diff := cmp.Diff(append(append([]float64(nil), y...), offset), mean, approx(1e-5)); diff != "" {
		t.Errorf("without noise the mean passes through the values, and far away is theirs:\n%s", diff)
	}
	for i, v := range variance[:6] {
		if v > 1e-5 || v <= 0 {
			t.Errorf("variance at observation %d is %g, want a tiny positive one", i, v)
		}
	}
	if want := math.Pow(scale*h.SignalSD, 2); math.Abs(variance[6]-want) > 1e-9 {
		t.Errorf("variance far away is %g, want the prior's %g", variance[6], want)
	}
}

func TestJointAgreesWithPosterior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, d := rapid.IntRange(1, 10).Draw(t, "n"), rapid.IntRange(1, 10).Draw(t, "m"), rapid.IntRange(1, 3).Draw(t, "d")
		seed := rapid.Uint64().Draw(t, "seed")
		x, y := sample(seed, n, d)
		xs, _ := sample(seed+1, m, d)
		g, err := Condition(x, d, y, hyper(d))
		if err != nil {
			t.Fatal(err)
		}
		mean, variance, err := g.Posterior(xs)
		if err != nil {
			t.Fatal(err)
		}
		jointMean, cov, err := g.Joint(xs)
		if err != nil {
			t.Fatal(err)
		}
		diagonal := make([]float64, m)
		for i := range m {
			diagonal[i] = cov.At(i, i)
		}
		if diff := cmp.Diff([][]float64{mean, variance}, [][]float64{jointMean, diagonal}, approx(1e-9)); diff != "" {
			t.Fatal(diff)
		}
		root, err := Root(cov)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m {
			for j := range m {
				var sum float64
				for k := range m {
					sum += root.At(i, k) * root.At(j, k)
				}
				if math.Abs(sum-cov.At(i, j)) > 1e-6*(1+cov.At(i, i)) {
					t.Fatalf("entry %d, %d of L L^T is %g, of the covariance %g", i, j, sum, cov.At(i, j))
				}
			}
		}
	})
}

// TestLeaveOneOut compares the closed form with leaving one out.
func TestLeaveOneOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 9).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d")
		x, y := sample(rapid.Uint64().Draw(t, "seed"), n, d)
		h := hyper(d)
		z, offset, scale := standardise(y)
		g, err := condition(x, d, z, offset, scale, h)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance := g.LeaveOneOut()
		for i := range n {
			rest := append(append([]float64(nil), x[:i*d]...), x[(i+1)*d:]...)
			others := append(append([]float64(nil), z[:i]...), z[i+1:]...)
			without, err := condition(rest, d, others, offset, scale, h)
			if err != nil {
				t.Fatal(err)
			}
			m, v, err := without.Posterior(x[i*d : (i+1)*d])
			if err != nil {
				t.Fatal(err)
			}
			want := []float64{m[0], v[0] + math.Pow(scale*h.NoiseSD, 2)}
			if diff := cmp.Diff(want, []float64{mean[i], variance[i]}, approx(1e-8)); diff != "" {
				t.Fatalf("without observation %d:\n%s", i, diff)
			}
		}
	})
}

func TestLeaveOneOutOfOneIsThePrior(t *testing.T) {
	g, err := Condition([]float64{1}, 1, []float64{7}, hyper(1))
	if err != nil {
		t.Fatal(err)
	}
	mean, variance := g.LeaveOneOut()
	if diff := cmp.Diff([]float64{7, 1.3*1.3 + 0.2*0.2}, []float64{mean[0], variance[0]}, approx(1e-12)); diff != "" {
		t.Error(diff)
	}
}

// TestUnits: values in other units give the same process in those units.
func TestUnits(t *testing.T) {
	x, y := sample(8, 7, 3)
	scaled := make([]float64, len(y))
	for i, v := range y {
		scaled[i] = 3*v - 20
	}
	a, err := Fit(x, 3, y)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Fit(x, 3, scaled)
	if err != nil {
		t.Fatal(err)
	}
	xs, _ := sample(9, 5, 3)
	ma, va, _ := a.Posterior(xs)
	mb, vb, _ := b.Posterior(xs)
	for i := range ma {
		if math.Abs(3*ma[i]-20-mb[i]) > 1e-6 || math.Abs(9*va[i]-vb[i]) > 1e-6 {
			t.Errorf("point %d: (%g, %g) becomes (%g, %g)", i, ma[i], va[i], mb[i], vb[i])
		}
	}
	if diff := cmp.Diff(y, a.Values(), approx(1e-12)); diff != "" {
		t.Errorf("values do not come back:\n%s", diff)
	}
	if diff := cmp.Diff(x, a.Inputs()); diff != "" {
		t.Errorf("inputs do not come back:\n%s", diff)
	}
}

func TestFitIsDeterministic(t *testing.T) {
	x, y := sample(2, 10, 3)
	first, err := Fit(x, 3, y)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Fit(x, 3, y)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Weights(), again.Weights()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestFitLearns: the fit predicts a smooth function of one feature, and tells the
// feature that matters from the one that does not.
func TestFitLearns(t *testing.T) {
	var x, y []float64
	for i := range 24 {
		a, b := float64(i%6), float64((i*7)%5)
		x, y = append(x, a, b), append(y, math.Sin(a))
	}
	g, err := Fit(x, 2, y)
	if err != nil {
		t.Fatal(err)
	}
	if l := g.Hyperparameters().LengthScales; l[0] >= l[1]/2 {
		t.Errorf("length scales %v: the first feature decides, the second does nothing", l)
	}
	mean, _, err := g.Posterior([]float64{2.5, 1.5})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(mean[0]-math.Sin(2.5)) > 0.1 {
		t.Errorf("predicts %g, want %g", mean[0], math.Sin(2.5))
	}
}

func TestDegenerateObservations(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
	}{
		{"one", []float64{1}, []float64{6}},
		{"equal values", []float64{1, 2, 3}, []float64{6, 6, 6}},
		{"equal points", []float64{1, 1, 1}, []float64{5, 6, 7}},
		{"all equal", []float64{1, 1}, []float64{6, 6}},
		{"huge values", []float64{1, 2}, []float64{-1e6, 1e6}},
		{"far apart", []float64{-1e3, 1e3}, []float64{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := Fit(c.x, 1, c.y)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Weights().Validate(); err != nil {
				t.Error(err)
			}
			mean, variance, err := g.Posterior([]float64{0, 1, 500})
			if err != nil {
				t.Fatal(err)
			}
			for i := range mean {
				if math.IsNaN(mean[i]) || math.IsInf(mean[i], 0) || !(variance[i] > 0) || math.IsInf(variance[i], 0) {
					t.Errorf("posterior (%g, %g)", mean[i], variance[i])
				}
			}
		})
	}
}

func TestUnusableInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	many := make([]float64, MaxInputs+1)
	for _, c := range []struct {
		name string
		x    []float64
		d    int
		y    []float64
	}{
		{"nothing", nil, 1, nil},
		{"no dimension", nil, 0, []float64{1}},
		{"too many dimensions", make([]float64, MaxDimensions+1), MaxDimensions + 1, []float64{1}},
		{"too many", many, 1, many},
		{"shape", []float64{1, 2, 3}, 2, []float64{1, 2}},
		{"NaN value", []float64{1}, 1, []float64{nan}},
		{"infinite value", []float64{1}, 1, []float64{-inf}},
		{"NaN coordinate", []float64{nan}, 1, []float64{1}},
		{"infinite coordinate", []float64{inf}, 1, []float64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Fit(c.x, c.d, c.y); !errors.Is(err, ErrInput) {
				t.Errorf("Fit: %v, want ErrInput", err)
			}
			if _, err := Condition(c.x, c.d, c.y, hyper(1)); !errors.Is(err, ErrInput) {
				t.Errorf("Condition: %v, want ErrInput", err)
			}
		})
	}
	g, err := Fit([]float64{1, 2}, 2, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	for _, xs := range [][]float64{nil, {1}, {1, 2, 3}, {1, nan}, {inf, 1}} {
		if _, _, err := g.Posterior(xs); !errors.Is(err, ErrInput) {
			t.Errorf("Posterior(%v): %v, want ErrInput", xs, err)
		}
		if _, _, err := g.Joint(xs); !errors.Is(err, ErrInput) {
			t.Errorf("Joint(%v): %v, want ErrInput", xs, err)
		}
	}
	if _, err := Condition([]float64{1}, 1, []float64{1}, Hyperparameters{LengthScales: []float64{nan}, SignalSD: 1, NoiseSD: 1}); !errors.Is(err, ErrWeights) {
		t.Errorf("NaN length scale: %v, want ErrWeights", err)
	}
}
