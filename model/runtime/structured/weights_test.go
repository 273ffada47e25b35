package structured

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karasu-project/karasu/model/runtime"
)

func fitted(tb testing.TB, contexts int) *General {
	tb.Helper()
	g, err := New("x", Options{}).Fit(context.Background(), madeUp(contexts))
	if err != nil {
		tb.Fatal(err)
	}
	return g.(*General)
}

func TestWeightsPredictAlmostAsTheModel(t *testing.T) {
	all := madeUp(24)
	g, err := New("x", Options{}).Fit(context.Background(), all[1:])
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromWeights(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for _, h := range all[:1] {
		for _, known := range [][]predict.Observation{nil, h.Runs[:1]} {
			a, errA := g.Condition(h.Context, known)
			b, errB := back.Condition(h.Context, known)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			for _, x := range []int{2, 6, 12} {
				p, errP := a.Predict(x)
				q, errQ := b.Predict(x)
				if errP != nil || errQ != nil {
					t.Fatal(errP, errQ)
				}
				worst = max(worst, math.Abs(p.LogMedian-q.LogMedian))
			}
		}
	}
	if worst > .1 {
		t.Errorf("predictions from weights are off by %.3f of ln(runtime)", worst)
	}
	again, err := back.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, again); diff != "" {
		t.Errorf("weights of weights differ:\n%s", diff)
	}
}

// A text that all contexts have changes nothing, although it does not travel.
func TestWeightsWithATextArgument(t *testing.T) {
	predictions := func(text bool) []float64 {
		all := madeUp(13)
		if text {
			for i := range all {
				all[i].Context.Arguments = append(all[i].Context.Arguments, predict.Argument{Name: "format", Text: "parquet"})
			}
		}
		g, err := New("x", Options{}).Fit(context.Background(), all[1:])
		if err != nil {
			t.Fatal(err)
		}
		w, err := g.Weights()
		if err != nil {
			t.Fatal(err)
		}
		back, err := FromWeights(w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := back.Condition(all[0].Context, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out []float64
		for _, x := range []int{2, 6, 12} {
			d, err := p.Predict(x)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, d.LogMedian, d.Scale)
		}
		return out
	}
	if d := cmp.Diff(predictions(false), predictions(true), cmpopts.EquateApprox(0, 2e-3)); d != "" {
		t.Error(d)
	}
}

// A peer's model whose logarithm of an argument counts takes a zero all the same.
func TestWeightsTakeAZeroArgument(t *testing.T) {
	w, err := fitted(t, 9).Weights()
	if err != nil {
		t.Fatal(err)
	}
	g, err := FromWeights(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	target := madeUp(1)[0].Context
	target.Arguments[0].Number = 0
	p, err := g.Condition(target, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Predict(4)
	if err != nil || d.Median() < 20 || d.Median() > 400 {
		t.Errorf("%g s, error %v", d.Median(), err)
	}
}

func TestFromWeightsRefuses(t *testing.T) {
	good, err := fitted(t, 9).Weights()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(w *predict.Weights){
		"NaN":              func(w *predict.Weights) { w.Values[len(w.Values)-1] = math.NaN() },
		"infinite":         func(w *predict.Weights) { w.Values[3] = math.Inf(1) },
		"too short":        func(w *predict.Weights) { w.Values = w.Values[:len(w.Values)-1] },
		"too long":         func(w *predict.Weights) { w.Values = append(w.Values, 1) },
		"family":           func(w *predict.Weights) { w.Family = "other/1" },
		"sizes":            func(w *predict.Weights) { w.Sizes[2]++ },
		"more sizes":       func(w *predict.Weights) { w.Sizes = append(w.Sizes, 1) },
		"negative size":    func(w *predict.Weights) { w.Sizes[2] = -1 },
		"constant":         func(w *predict.Weights) { w.Values[0] = 1e5 },
		"zero constant":    func(w *predict.Weights) { w.Values[0] = 0 },
		"no noise":         func(w *predict.Weights) { w.Values[len(w.Values)-1] = 0 },
		"runtime":          func(w *predict.Weights) { w.Values[len(w.Values)-2] = 1e3 },
		"of 700 years":     func(w *predict.Weights) { w.Values[len(w.Values)-2] = 24 },
		"of microseconds":  func(w *predict.Weights) { w.Values[len(w.Values)-2] = -12 },
		"less than a byte": func(w *predict.Weights) { w.Values[numParams] = -29 },
		"above an EiB":     func(w *predict.Weights) { w.Values[numParams+1] = 29 },
		"scale-out":        func(w *predict.Weights) { w.Values[len(w.Values)-3] = 0 },
		"no contexts":      func(w *predict.Weights) { w.Contexts = 0 },
		"argument twice":   func(w *predict.Weights) { w.Arguments = append(w.Arguments, w.Arguments[0]) },
		"nameless":         func(w *predict.Weights) { w.Arguments[0].Name = "" },
		"sizes reversed":   func(w *predict.Weights) { w.Values[numParams] = 9 },
		"argument reverse": func(w *predict.Weights) { w.Values[numParams+4] = 1e5 },
	} {
		w := *good
		w.Values, w.Sizes = append([]float64(nil), good.Values...), append([]int(nil), good.Sizes...)
		w.Arguments = append([]predict.WeightArgument(nil), good.Arguments...)
		spoil(&w)
		if _, err := FromWeights(&w, Options{}); !errors.Is(err, predict.ErrWeights) {
			t.Errorf("%s: error %v, want ErrWeights", name, err)
		}
	}
	if _, err := FromWeights(nil, Options{}); !errors.Is(err, predict.ErrWeights) {
		t.Errorf("none: error %v, want ErrWeights", err)
	}
}

// Weights that are in range but turned upside down, or made up, are found out by the
// kernel: nobody has to have run anything for that.
func TestFromWeightsRefusesImpossiblePoints(t *testing.T) {
	good, err := fitted(t, 12).Weights()
	if err != nil {
		t.Fatal(err)
	}
	stride := pointValues + len(good.Arguments)
	first := int(numParams) + sizeValues + argumentValues*len(good.Arguments) + stride - 2
	var mean, n float64
	for i := first; i < len(good.Values); i += stride {
		mean += good.Values[i]
		n++
	}
	mean /= n
	r := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func(v float64) float64{
		"inverted": func(v float64) float64 { return 2*mean - v },
		"random":   func(float64) float64 { return mean + 2*r.NormFloat64() },
	} {
		w := *good
		w.Values = append([]float64(nil), good.Values...)
		for i := first; i < len(w.Values); i += stride {
			w.Values[i] = change(w.Values[i])
		}
		if _, err := FromWeights(&w, Options{}); !errors.Is(err, predict.ErrWeights) {
			t.Errorf("%s: error %v, want ErrWeights", name, err)
		}
	}
}

// An inverted model of a job that hardly gets faster with more nodes shows by the
// input's size.
func TestInvertedFlatModelIsRefused(t *testing.T) {
	history := madeUp(12)
	for i, h := range history {
		for j, r := range h.Runs {
			history[i].Runs[j].RuntimeSeconds = 20 * math.Pow(h.Context.InputBytes/1e9, .4) * math.Pow(float64(r.ScaleOut), -.08)
		}
	}
	g, err := New("x", Options{}).Fit(t.Context(), history)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromWeights(w, Options{}); err != nil {
		t.Fatal(err)
	}
	per := pointValues + len(w.Arguments)
	for i := range w.Sizes[2] {
		v := &w.Values[len(w.Values)-i*per-2]
		*v = 9 - *v
	}
	if _, err := FromWeights(w, Options{}); !errors.Is(err, predict.ErrWeights) || !strings.Contains(err.Error(), "fall with the input's size") {
		t.Errorf("got %v", err)
	}
}

// FuzzFromWeights overwrites a part of honest weights: whatever is accepted must
// predict finite runtimes.
func FuzzFromWeights(f *testing.F) {
	good, err := fitted(f, 9).Weights()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, uint8(0))
	f.Add(uint16(len(good.Values)-3), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x40}, uint8(1))
	target := madeUp(1)[0].Context
	f.Fuzz(func(t *testing.T, at uint16, raw []byte, size uint8) {
		w := *good
		w.Values = append([]float64(nil), good.Values...)
		w.Sizes = append([]int(nil), good.Sizes...)
		for i := int(at); i < len(w.Values) && len(raw) >= 8; i, raw = i+1, raw[8:] {
			w.Values[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw))
		}
		w.Sizes[int(size)%3] += int(size) / 3
		g, err := FromWeights(&w, Options{})
		if err != nil {
			if !errors.Is(err, predict.ErrWeights) {
				t.Fatalf("error %v is not ErrWeights", err)
			}
			return
		}
		p, err := g.Condition(target, []predict.Observation{{ScaleOut: 4, RuntimeSeconds: 100}})
		if err != nil {
			if !errors.Is(err, predict.ErrNumeric) {
				t.Fatalf("condition: %v", err)
			}
			return
		}
		d, err := p.Predict(8)
		if err == nil && (math.IsNaN(d.LogMedian) || math.IsInf(d.Quantile(.9), 0)) {
			t.Fatalf("prediction %+v", d)
		}
	})
}

// No point of the weights is a row of the history: neither its input size nor its
// arguments are those of a context.
func TestWeightsHoldNoContextOfTheHistory(t *testing.T) {
	g := fitted(t, 12)
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromWeights(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range back.virtual.size {
		for _, c := range g.rows.contexts {
			if math.Abs(s-c.size) < 1e-9 {
				t.Errorf("point %d has the input size of a context", i)
			}
		}
	}
	for _, a := range w.Arguments {
		if a.Name != "iterations" && a.Name != "mode" {
			t.Errorf("weights name %q", a.Name)
		}
	}
}
