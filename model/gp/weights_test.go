package gp

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWeightsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d")
		x, y := sample(rapid.Uint64().Draw(t, "seed"), n, d)
		g, err := Fit(x, d, y)
		if err != nil {
			t.Fatal(err)
		}
		back, err := FromWeights(g.Weights())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g.Weights(), back.Weights(), approx(1e-9)); diff != "" {
			t.Fatal(diff)
		}
		want, wantVariance, _ := g.Standardised().Posterior(x)
		got, gotVariance, _ := back.Posterior(x)
		if diff := cmp.Diff([][]float64{want, wantVariance}, [][]float64{got, gotVariance}, approx(1e-9)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWeightsAreCopies(t *testing.T) {
	x, y := sample(1, 4, 2)
	g, err := Fit(x, 2, y)
	if err != nil {
		t.Fatal(err)
	}
	w := g.Weights()
	w.Inputs[0], w.Targets[0], w.LengthScales[0] = 99, 9, 9
	x[1] = 77
	if diff := cmp.Diff(w, g.Weights()); diff == "" {
		t.Error("changing the weights changes the process")
	}
	if g.Inputs()[1] == 77 {
		t.Error("changing the observations changes the process")
	}
}

func TestFromWeightsStandardises(t *testing.T) {
	w := &Weights{Dimensions: 1, Inputs: []float64{0, 1, 2}, Targets: []float64{-1, 0, 1}, LengthScales: []float64{1}, SignalSD: 1, NoiseSD: 0.1}
	loud := *w
	loud.Targets = []float64{10, 30, 50}
	a, err := FromWeights(w)
	if err != nil {
		t.Fatal(err)
	}
	b, err := FromWeights(&loud)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Weights(), b.Weights(), approx(1e-12)); diff != "" {
		t.Errorf("loud targets gain by it:\n%s", diff)
	}
}

func TestUnusableWeights(t *testing.T) {
	good := func() *Weights {
		return &Weights{Dimensions: 1, Inputs: []float64{0, 1}, Targets: []float64{-1, 1}, LengthScales: []float64{1}, SignalSD: 1, NoiseSD: 0.1}
	}
	if _, err := FromWeights(good()); err != nil {
		t.Fatal(err)
	}
	if _, err := FromWeights(nil); !errors.Is(err, ErrWeights) {
		t.Errorf("nil: %v, want ErrWeights", err)
	}
	for name, spoil := range map[string]func(w *Weights){
		"empty":            func(w *Weights) { *w = Weights{} },
		"dimensions":       func(w *Weights) { w.Dimensions = 3 },
		"negative":         func(w *Weights) { w.Dimensions = -1 },
		"no targets":       func(w *Weights) { w.Targets = nil },
		"no scales":        func(w *Weights) { w.LengthScales = nil },
		"NaN input":        func(w *Weights) { w.Inputs[0] = math.NaN() },
		"infinite target":  func(w *Weights) { w.Targets[0] = math.Inf(1) },
		"zero length":      func(w *Weights) { w.LengthScales[0] = 0 },
		"NaN signal":       func(w *Weights) { w.SignalSD = math.NaN() },
		"no noise":         func(w *Weights) { w.NoiseSD = 0 },
		"too many inputs":  func(w *Weights) { w.Inputs, w.Targets = make([]float64, 300), make([]float64, 300) },
		"far input":        func(w *Weights) { w.Inputs[1] = 1e9 },
		"too many factors": func(w *Weights) { w.Dimensions, w.Inputs = 1<<62, nil },
	} {
		w := good()
		spoil(w)
		if _, err := FromWeights(w); !errors.Is(err, ErrWeights) {
			t.Errorf("%s: %v, want ErrWeights", name, err)
		}
	}
}

// FuzzFromWeights: whatever a peer sends, the process is refused or is finite.
func FuzzFromWeights(f *testing.F) {
	encode := func(values ...float64) []byte {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	f.Add(1, 2, encode(1, 0.1, 1, 0, 1, -1, 1))
	f.Add(2, 3, encode(100, 1e-4, 1e4, 1e4, 0, 0, 0, 0, 0, 0, 50, -50, 50))
	f.Add(1, 3, encode(1e-3, 1e2, 1e-3, -1e3, 1e3, 0, 50, 50, 50))
	f.Add(1, 1, encode(math.NaN(), 1, 1, 0, 0))
	f.Fuzz(func(t *testing.T, d, n int, data []byte) {
		next := func() float64 {
			if len(data) < 8 {
				return 0.5
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(data))
			data = data[8:]
			return v
		}
		w := &Weights{Dimensions: d, SignalSD: next(), NoiseSD: next()}
		if n < 0 || n > 64 || d < 0 || d > MaxDimensions+1 {
			n, d = 1, 1
		}
		for range d {
			w.LengthScales = append(w.LengthScales, next())
		}
		for range n * d {
			w.Inputs = append(w.Inputs, next())
		}
		for range n {
			w.Targets = append(w.Targets, next())
		}
		g, err := FromWeights(w)
		if err != nil {
			if !errors.Is(err, ErrWeights) {
				t.Fatalf("%v does not wrap ErrWeights", err)
			}
			return
		}
		xs := append(g.Inputs(), make([]float64, g.Dimensions())...)
		mean, variance, err := g.Posterior(xs)
		if err != nil {
			t.Fatal(err)
		}
		_, cov, err := g.Joint(xs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Root(cov); err != nil {
			t.Fatal(err)
		}
		looMean, looVariance := g.LeaveOneOut()
		for _, v := range [][]float64{mean, variance, cov.RawSymmetric().Data, looMean, looVariance, {g.LogEvidence()}} {
			for _, u := range v {
				if math.IsNaN(u) || math.IsInf(u, 0) {
					t.Fatalf("%g leaves the package for %+v", u, w)
				}
			}
		}
		for _, v := range append(variance, looVariance...) {
			if v <= 0 {
				t.Fatalf("variance %g for %+v", v, w)
			}
		}
	})
}
