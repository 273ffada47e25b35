package ensemble

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// integrated is the log probability that both values plus noise exceed their bounds,
// and mean and variance of both given that, by brute force. Values have mean 0.
func integrated(cov [4]float64, bounds, noiseVar [2]float64) (log float64, mean, variance [2]float64) {
	// x = L u with u standard normal, on a grid of u.
	l11 := math.Sqrt(cov[0])
	l21 := cov[2] / l11
	l22 := math.Sqrt(max(cov[3]-l21*l21, 1e-12))
	const reach, step = 9., .05
	var total float64
	var first, second [2]float64
	top := math.Inf(-1)
	pass := func(f func(x [2]float64, log float64)) {
		for u := -reach; u <= reach; u += step {
			for v := -reach; v <= reach; v += step {
				x := [2]float64{l11 * u, l21*u + l22*v}
				log := -.5 * (u*u + v*v)
				for i := range x {
					log += logNormalCDF((x[i] - bounds[i]) / math.Sqrt(noiseVar[i]))
				}
				f(x, log)
			}
		}
	}
	pass(func(_ [2]float64, log float64) { top = max(top, log) })
	pass(func(x [2]float64, log float64) {
		w := math.Exp(log - top)
		total += w
		for i, v := range x {
			first[i] += w * v
			second[i] += w * v * v
		}
	})
	for i := range mean {
		mean[i] = first[i] / total
		variance[i] = second[i]/total - mean[i]*mean[i]
	}
	return top + math.Log(total*step*step/(2*math.Pi)), mean, variance
}

// TestOneBoundIsExact and its posterior at a second point too.
func TestOneBoundIsExact(t *testing.T) {
	for _, tc := range []struct{ variance, other, correlation, bound, noise float64 }{
		{.5, .3, .7, .4, .1}, {.5, .3, .7, 2, .1}, {.5, .3, -.5, -2, .1}, {2, .1, .99, .1, .5}, {.05, 2, .3, 1, .1},
	} {
		cross := tc.correlation * math.Sqrt(tc.variance*tc.other)
		mean, variance := []float64{0, 0}, []float64{tc.variance, tc.other}
		got, err := applyBounds(mean, variance, [][]float64{{tc.variance, cross}}, []float64{0}, []bound{{0, tc.bound, tc.noise * tc.noise}})
		if err != nil {
			t.Fatal(err)
		}
		want, wantMean, wantVariance := integrated([4]float64{tc.variance, cross, cross, tc.other}, [2]float64{tc.bound, -1e3}, [2]float64{tc.noise * tc.noise, 1})
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%+v: log probability %.8f, want %.8f", tc, got, want)
		}
		for i := range mean {
			if math.Abs(mean[i]-wantMean[i]) > 1e-6 || math.Abs(variance[i]-wantVariance[i]) > 1e-6 {
				t.Errorf("%+v: value %d has %.8f ± %.8f, want %.8f ± %.8f", tc, i, mean[i], variance[i], wantMean[i], wantVariance[i])
			}
		}
	}
}

// TestTwoBounds: expectation propagation is close to the truth, also in the tails; least
// where two values are almost one.
func TestTwoBounds(t *testing.T) {
	for _, tc := range []struct {
		cov    [4]float64
		bounds [2]float64
	}{
		{[4]float64{.5, .3, .3, .4}, [2]float64{.2, .3}},
		{[4]float64{.5, .3, .3, .4}, [2]float64{2, -1}},
		{[4]float64{.5, .3, .3, .4}, [2]float64{1.5, 1.5}},
		{[4]float64{1, -.5, -.5, 1}, [2]float64{.5, .5}},
		{[4]float64{.3, .29, .29, .3}, [2]float64{1, .9}},
	} {
		noise := [2]float64{.01, .02}
		mean, variance := []float64{0, 0}, []float64{tc.cov[0], tc.cov[3]}
		rows := [][]float64{{tc.cov[0], tc.cov[1]}, {tc.cov[2], tc.cov[3]}}
		got, err := applyBounds(mean, variance, rows, []float64{0, 0}, []bound{{0, tc.bounds[0], noise[0]}, {1, tc.bounds[1], noise[1]}})
		if err != nil {
			t.Fatal(err)
		}
		want, wantMean, wantVariance := integrated(tc.cov, tc.bounds, noise)
		if math.Abs(got-want) > .03 {
			t.Errorf("%+v: log probability %.5f, want %.5f", tc, got, want)
		}
		for i := range mean {
			sd := math.Sqrt(wantVariance[i])
			if math.Abs(mean[i]-wantMean[i]) > .05*sd || math.Abs(math.Sqrt(variance[i])/sd-1) > .08 {
				t.Errorf("%+v: value %d has %.5f ± %.5f, want %.5f ± %.5f", tc, i, mean[i], math.Sqrt(variance[i]), wantMean[i], sd)
			}
		}
	}
}

// TestBoundsOfAMixture: a bound reweighs hypotheses by the probability that each gave
// it, one far below all of them changes nothing, and of many the order does not count.
func TestBoundsOfAMixture(t *testing.T) {
	t1, t2, _ := vectorTraces()
	c := Config{Candidates: scoutPoints()[:20], LevelMean: 6, Supports: []Trace{t1, t2}}
	ensemble := func() *Ensemble {
		e, err := New(Default(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Observe(3, 6.5, 0); err != nil {
			t.Fatal(err)
		}
		return e
	}
	observe := func(e *Ensemble, point int, y float64) {
		if err := e.ObserveBound(point, y, 0); err != nil {
			t.Fatal(err)
		}
	}
	before, e := predict(t, ensemble()), ensemble()
	observe(e, 7, 7.5)
	after, want := predict(t, e), make([]float64, len(before.Weight))
	for h, w := range before.Weight {
		want[h] = math.Log(w) + logNormalCDF((before.Mean[h][7]-7.5)/math.Sqrt(before.Variance[h][7]+.01))
	}
	softmax(want)
	for h, w := range after.Weight {
		if math.Abs(w-want[h]) > 1e-9 {
			t.Fatalf("hypothesis %d weighs %.10f, want %.10f", h, w, want[h])
		}
	}
	if a, b := before.MeanAt(7), after.MeanAt(7); !(b > a) {
		t.Errorf("mean %g, given a bound of 7.5 %g", a, b)
	}

	e = ensemble()
	observe(e, 7, -20)
	idle := predict(t, e)
	for i := range c.Candidates {
		if a, b := before.MeanAt(i), idle.MeanAt(i); math.Abs(a-b) > 1e-9 {
			t.Fatalf("a bound that says nothing moves candidate %d from %g to %g", i, a, b)
		}
	}

	at, y := []int{7, 0, 12, 7, 19}, []float64{7, 9, 6, 7.2, 5}
	one, other := ensemble(), ensemble()
	for k := range at {
		observe(one, at[k], y[k])
		observe(other, at[len(at)-1-k], y[len(at)-1-k])
	}
	a, b := predict(t, one), predict(t, other)
	for i := range c.Candidates {
		m1, v1 := a.Moments(i)
		m2, v2 := b.Moments(i)
		if math.Abs(m1-m2) > 1e-6 || math.Abs(v1-v2) > 1e-6 {
			t.Errorf("candidate %d: %g ± %g in one order, %g ± %g in another", i, m1, v1, m2, v2)
		}
	}
	one.Reset()
	if err := one.Observe(3, 6.5, 0); err != nil {
		t.Fatal(err)
	}
	if m := predict(t, one).MeanAt(7); m != before.MeanAt(7) {
		t.Error("Reset keeps bounds")
	}
}

// TestBoundsAreStable anywhere, with many of them, repeated and contradicted.
func TestBoundsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Candidates: scoutPoints()[:12], LevelMean: rapid.Float64Range(-5, 18).Draw(t, "level")}
		for range rapid.IntRange(0, 2).Draw(t, "supports") {
			tr := genTrace(t, c.Candidates)
			for range tr.Points {
				tr.Bound = append(tr.Bound, rapid.Bool().Draw(t, "bound"))
			}
			c.Supports = append(c.Supports, tr)
		}
		e, err := New(Default(), c)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 30).Draw(t, "runs") {
			observe := e.Observe
			if rapid.Bool().Draw(t, "stopped") {
				observe = e.ObserveBound
			}
			if err := observe(rapid.IntRange(0, 11).Draw(t, "at"), rapid.Float64Range(-20, 25).Draw(t, "y"), 0); err != nil {
				t.Fatal(err)
			}
		}
		m, total := predict(t, e), 0.
		for h, w := range m.Weight {
			total += w
			for i := range c.Candidates {
				if !(w >= 0) || math.IsNaN(m.Mean[h][i]) || math.IsInf(m.Mean[h][i], 0) || !(m.Variance[h][i] > 0) {
					t.Fatalf("hypothesis %d: weight %g mean %g variance %g", h, w, m.Mean[h][i], m.Variance[h][i])
				}
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("weights add up to %g", total)
		}
	})
}

// TestBoundInASupport: one that its other runs foretell says nothing, a higher one
// raises the shape there, and no more than a runtime as long would at least.
func TestBoundInASupport(t *testing.T) {
	points := scoutPoints()
	shape := func(at int, log float64, bounded bool) float64 {
		t1, _, _ := vectorTraces()
		t1.Points, t1.LogRuntime = append(t1.Points, points[at]), append(t1.LogRuntime, log)
		t1.Bound = make([]bool, len(t1.Points))
		t1.Bound[len(t1.Bound)-1] = bounded
		if !bounded && log == 0 {
			t1.Points, t1.LogRuntime, t1.Bound = t1.Points[:4], t1.LogRuntime[:4], nil
		}
		e, err := New(Default(), Config{Candidates: points, LevelMean: 6, Supports: []Trace{t1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range e.families {
			if q, ok := f.shape.(*supportShape); ok && q.k == 0 {
				return q.mu[at]
			}
		}
		t.Fatal("no support")
		return 0
	}
	const at = 0 // 4 x c.large, the slowest
	without := shape(at, 0, false)
	if low := shape(at, 4, true); math.Abs(low-without) > .02 {
		t.Errorf("a low bound moves the shape from %g to %g", without, low)
	}
	exact, high := shape(at, 9, false), shape(at, 9, true)
	if !(high > without+.2 && math.Abs(high-exact) < .5) {
		t.Errorf("shape %g without, %g with a high bound, %g with a runtime as high", without, high, exact)
	}
}
