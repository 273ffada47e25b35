package ensemble

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model/gp"
)

func closeTo(tolerance float64) cmp.Option { return cmpopts.EquateApprox(tolerance, tolerance) }

// process fits f at the points.
func process(t testing.TB, xs []float64, f func(float64) float64) *gp.GP {
	t.Helper()
	y := make([]float64, len(xs))
	for i, x := range xs {
		y[i] = f(x)
	}
	g, err := gp.Fit(xs, 1, y)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func falling(x float64) float64 { return 8 - 0.6*x }
func rising(x float64) float64  { return 2 + 0.6*x }

// valley has its minimum at 4.
func valley(x float64) float64 { return 6 + 0.2*(x-4)*(x-4) }

func rankedSupport(g *gp.GP) RankedSupport {
	_, scale := g.Scaling()
	return RankedSupport{Model: g.Standardised(), Scale: scale}
}

var dense = []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}

func TestRGPEWithoutSupportsIsTheTarget(t *testing.T) {
	target := process(t, []float64{0, 2, 5}, valley)
	r, err := NewRGPE(target, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, wantVariance, _ := target.Posterior(dense)
	got, gotVariance, err := r.Posterior(dense)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{want, wantVariance}, [][]float64{got, gotVariance}); diff != "" {
		t.Errorf("not exactly the target:\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1}, r.Weights()); diff != "" {
		t.Error(diff)
	}
}

func TestRankingWeightsTellGoodFromBad(t *testing.T) {
	target := process(t, []float64{0, 3, 4, 6, 8}, valley)
	good, bad := process(t, dense, valley), process(t, dense, func(x float64) float64 { return -valley(x) })
	w, err := RankingWeights(target, []*gp.GP{bad.Standardised(), good.Standardised()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if w[0] != 0 || w[1] < 0.5 {
		t.Errorf("weights %.3f of (upside down, the same, own): want none for the first, most for the second", w)
	}
}

// TestOwnSamplesAreOutOfSample: a target that interpolates noise must not win over
// a support that ranks most of it right.
func TestOwnSamplesAreOutOfSample(t *testing.T) {
	noise := []float64{0.05, -0.04, 0.03, -0.05, 0.04}
	xs := []float64{0, 2, 4, 6, 8}
	i := -1
	target := process(t, xs, func(x float64) float64 { i++; return falling(x) + noise[i] })
	w, err := RankingWeights(target, []*gp.GP{process(t, dense, falling).Standardised()}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if w[0] < 0.5 {
		t.Errorf("weights %.3f: the support ranks all points right", w)
	}
}

func TestWeightDilutionPrevention(t *testing.T) {
	xs := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	target := process(t, xs, falling)
	supports := []*gp.GP{process(t, dense, falling).Standardised()}
	for range 40 {
		supports = append(supports, process(t, dense, rising).Standardised())
	}
	w, err := RankingWeights(target, supports, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range w[1 : len(w)-1] {
		if v != 0 {
			t.Fatalf("support %d is upside down and has weight %g", i+1, v)
		}
	}
}

func TestOneObservationSharesEqually(t *testing.T) {
	target := process(t, []float64{3}, valley)
	wide, err := gp.Fit([]float64{0, 0, 1, 1}, 2, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		supports []*gp.GP
		want     []float64
	}{
		{"supports", []*gp.GP{process(t, dense, valley).Standardised(), nil, process(t, dense, rising).Standardised()}, []float64{0.5, 0, 0.5, 0}},
		{"no usable support", []*gp.GP{nil, wide}, []float64{0, 0, 1}},
	} {
		w, err := RankingWeights(target, c.supports, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, w, closeTo(1e-12)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestMisranked(t *testing.T) {
	for _, c := range []struct {
		name    string
		f, g, y []float64
		want    int
	}{
		{"same order", []float64{1, 2, 3}, []float64{1, 2, 3}, []float64{5, 6, 7}, 0},
		{"upside down", []float64{3, 2, 1}, []float64{3, 2, 1}, []float64{5, 6, 7}, 6},
		{"one pair", []float64{2, 1, 3}, []float64{2, 1, 3}, []float64{5, 6, 7}, 2},
		{"against the observations, not itself", []float64{5.1, 5.9}, []float64{5, 6}, []float64{5, 6}, 0},
		{"one", []float64{1}, []float64{9}, []float64{1}, 0},
	} {
		if got := misranked(c.f, c.g, c.y); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestRankingWeightsProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shape := rapid.SampledFrom([]func(float64) float64{falling, rising, valley})
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		target := process(t, dense[:n], shape.Draw(rt, "target"))
		var supports []*gp.GP
		for range rapid.IntRange(1, 4).Draw(rt, "supports") {
			from := rapid.IntRange(0, 5).Draw(rt, "from")
			supports = append(supports, process(t, dense[from:from+4], shape.Draw(rt, "support")).Standardised())
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		w, err := RankingWeights(target, supports, seed)
		if err != nil {
			rt.Fatal(err)
		}
		sum := 0.
		for _, v := range w {
			if !(v >= 0 && v <= 1) {
				rt.Fatalf("weight %g", v)
			}
			sum += v
		}
		if math.Abs(sum-1) > 1e-12 {
			rt.Fatalf("weights sum to %g", sum)
		}
		again, _ := RankingWeights(target, supports, seed)
		if diff := cmp.Diff(w, again); diff != "" {
			rt.Fatalf("the same seed gives other weights:\n%s", diff)
		}
		// Permuted supports get permuted weights, units of the target do not matter.
		k := len(supports)
		rotated := append(append([]*gp.GP(nil), supports[1:]...), supports[0])
		other, _ := RankingWeights(target.Standardised(), rotated, seed)
		want := append(append(append([]float64(nil), w[1:k]...), w[0]), w[k])
		if diff := cmp.Diff(want, other, closeTo(1e-9)); diff != "" {
			rt.Fatalf("order or units matter:\n%s", diff)
		}
	})
}

func TestEqualSupportsGetEqualWeights(t *testing.T) {
	g := process(t, dense, valley).Standardised()
	w, err := RankingWeights(process(t, []float64{0, 4, 8}, falling), []*gp.GP{g, g, g}, 9)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(w[0]-w[1]) > 1e-12 || math.Abs(w[1]-w[2]) > 1e-12 {
		t.Errorf("weights %v of three equal supports", w)
	}
}

// TestSupportsBringShapeNotLevel: a support of another level and scale predicts in
// the target's units.
func TestSupportsBringShapeNotLevel(t *testing.T) {
	target := process(t, []float64{1, 2, 3}, falling)
	g := process(t, dense, func(x float64) float64 { return falling(x) - 100 })
	r, err := NewRGPE(target, []RankedSupport{rankedSupport(g)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	mean, variance, err := r.Posterior([]float64{8})
	if err != nil {
		t.Fatal(err)
	}
	w := r.Weights()
	own, ownVariance, _ := target.Posterior([]float64{8})
	want := w[0]*falling(8) + w[1]*own[0]
	if math.Abs(mean[0]-want) > 0.1 {
		t.Errorf("mean %g at 8, want about %g", mean[0], want)
	}
	if v := w[1] * w[1] * ownVariance[0]; variance[0] < v || variance[0] > v+0.1 {
		t.Errorf("variance %g, want about %g", variance[0], v)
	}
}

func TestUnknownAndWildScales(t *testing.T) {
	target := process(t, []float64{0, 4, 8}, falling)
	g := process(t, dense, falling).Standardised()
	for _, scale := range []float64{0, 1e-9, 1e9} {
		r, err := NewRGPE(target, []RankedSupport{{Model: g, Scale: scale}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance, err := r.Posterior(dense)
		if err != nil {
			t.Fatal(err)
		}
		for j := range mean {
			if math.Abs(mean[j]-falling(4)) > 20 || !(variance[j] > 0) {
				t.Errorf("scale %g: posterior (%g, %g)", scale, mean[j], variance[j])
			}
		}
	}
	if got := assumedScale([]float64{5}); got != defaultScale {
		t.Errorf("one run: scale %g, want the assumption %g", got, defaultScale)
	}
}

func TestRGPEErrors(t *testing.T) {
	if _, err := NewRGPE(nil, nil, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("no target: %v, want ErrInvalid", err)
	}
	target := process(t, []float64{0, 4, 8}, falling)
	wide, err := gp.Fit([]float64{0, 0, 1, 1, 2, 2}, 2, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRGPE(target, []RankedSupport{{Model: wide}, rankedSupport(process(t, dense, falling))}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Weights()[0] != 0 {
		t.Error("a support with other features has weight")
	}
	if _, _, err := r.Posterior([]float64{math.NaN()}); !errors.Is(err, ErrInvalid) {
		t.Errorf("NaN: %v, want ErrInvalid", err)
	}
	if _, _, err := r.PosteriorWith(dense, func(int) (m, v []float64, err error) { return []float64{1}, []float64{1}, nil }); !errors.Is(err, ErrInvalid) {
		t.Errorf("short answer: %v, want ErrInvalid", err)
	}
}
