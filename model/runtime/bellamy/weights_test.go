package bellamy

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// history is of a job with serial and parallel work by input size.
func history(contexts int) []predict.History {
	var out []predict.History
	for i := range contexts {
		size := 4 + 3*float64(i*5%11)
		h := predict.History{Context: predict.Context{
			Environment: "e", MachineType: []string{"m4.large", "c4.large"}[i%2],
			Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, InputBytes: size * 1e9,
			Arguments: []predict.Argument{{Name: "k", Number: float64(i%3) / 2}, {Name: "note", Text: "abc", Optional: true}},
		}}
		for _, x := range []int{2, 4, 8, 12} {
			h.Runs = append(h.Runs, predict.Observation{ScaleOut: x, RuntimeSeconds: 20 + size*30/float64(x)*(1+float64(i%2))})
		}
		out = append(out, h)
	}
	return out
}

func pretrained(tb testing.TB) *General {
	tb.Helper()
	g, err := Learner{}.Fit(context.Background(), history(5))
	if err != nil {
		tb.Fatal(err)
	}
	return g.(*General)
}

func TestWeightsComeBack(t *testing.T) {
	g := pretrained(t)
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromWeights(w, FullUnfreeze)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, again); diff != "" {
		t.Errorf("weights differ:\n%s", diff)
	}
	h := history(6)[5]
	for _, v := range Variants {
		a, errA := g.With(v).Condition(h.Context, h.Runs[:2])
		b, errB := back.With(v).Condition(h.Context, h.Runs[:2])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		p, errA := a.Predict(6)
		q, errB := b.Predict(6)
		if errA != nil || errB != nil || p != q {
			t.Errorf("%s: %v and %v, %v and %v", v, p, q, errA, errB)
		}
	}
}

// Every variant meets the runs that it is tuned to.
func TestFineTuningMeetsTheRuns(t *testing.T) {
	g, h := pretrained(t), history(6)[5]
	for i := range h.Runs {
		h.Runs[i].RuntimeSeconds *= 1.5
	}
	local, err := Learner{Variant: Local}.Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variants {
		var m predict.General = g.With(v)
		limit := .15
		if v == Local {
			m = local
		}
		if v == PartialUnfreeze || v == FullUnfreeze {
			limit = .2
		}
		p, err := m.Condition(h.Context, h.Runs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range h.Runs {
			d, err := p.Predict(r.ScaleOut)
			if err != nil {
				t.Fatal(err)
			}
			if e := math.Abs(d.Median()/r.RuntimeSeconds - 1); e > limit {
				t.Errorf("%s: error of %.2f at %d nodes", v, e, r.ScaleOut)
			}
		}
	}
	if _, err := local.Condition(h.Context, nil); !errors.Is(err, predict.ErrNoRuns) {
		t.Errorf("local without runs: %v", err)
	}
	if _, err := local.Weights(); !errors.Is(err, predict.ErrNotPortable) {
		t.Errorf("weights of local: %v", err)
	}
}

func TestMissingEssentialIsNamed(t *testing.T) {
	g, h := pretrained(t), history(1)[0]
	h.Context.Arguments = nil
	if _, err := g.Condition(h.Context, nil); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	h.Context.Arguments = []predict.Argument{{Name: "k", Number: 1}}
	if _, err := g.Condition(h.Context, nil); err != nil {
		t.Errorf("without the optional one: %v", err)
	}
}

func TestEncodeNumber(t *testing.T) {
	for v, bits := range map[float64][]int{0: {}, 1: {0}, 6: {1, 2}, .0003: {0, 1}, -2: {1}, 1e30: nil} {
		e := encodeNumber(v)
		if len(e) != propertySize || e[0] != 1 {
			t.Fatalf("%g: %v", v, e)
		}
		if bits == nil {
			continue
		}
		want := make([]float64, propertySize)
		want[0] = 1
		for _, b := range bits {
			want[propertySize-1-b] = 1
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%g:\n%s", v, diff)
		}
	}
}

func FuzzFromWeights(f *testing.F) {
	good, err := pretrained(f).Weights()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, int16(0))
	f.Add(uint16(7), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, int16(-1))
	target := history(1)[0]
	f.Fuzz(func(t *testing.T, at uint16, raw []byte, size int16) {
		w := *good
		w.Values = append([]float64(nil), good.Values...)
		w.Sizes = []int{good.Sizes[0] + int(size)}
		for i := int(at); i < len(w.Values) && len(raw) >= 8; i, raw = i+1, raw[8:] {
			w.Values[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw))
		}
		g, err := FromWeights(&w, PartialUnfreeze)
		if err != nil {
			if !errors.Is(err, predict.ErrWeights) {
				t.Fatalf("error %v is not ErrWeights", err)
			}
			return
		}
		p, err := g.Condition(target.Context, target.Runs[:1])
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
