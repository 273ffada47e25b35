package structured

import (
	"errors"
	"math"
	"testing"

	"github.com/karasu-project/karasu/model/runtime"
)

// The extent of weights holds what the model was fitted on, on a grid.
func TestExtentOf(t *testing.T) {
	history := madeUp(9)
	bytes, seconds, argument := newRange(), newRange(), newRange()
	for i, h := range history {
		bytes.add(h.Context.InputBytes)
		argument.add(h.Context.Arguments[0].Number)
		for _, r := range h.Runs {
			seconds.add(r.RuntimeSeconds)
		}
		history[i].Context.Arguments = append(history[i].Context.Arguments, predict.Argument{Name: "zz", Text: "secret text"})
	}
	g, err := New("x", Options{}).Fit(t.Context(), history)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Weights()
	if err != nil {
		t.Fatal(err)
	}
	e, err := ExtentOf(w)
	if err != nil {
		t.Fatal(err)
	}
	outside := func(name string, got, want Range, slack float64) {
		t.Helper()
		if got.Least > want.Least || got.Least < want.Least/slack || got.Largest < want.Largest || got.Largest > want.Largest*slack {
			t.Errorf("%s: %+v around %+v", name, got, want)
		}
	}
	outside("input", e.InputBytes, bytes, math.Exp(sizeGrid))
	outside(e.Arguments[0].Name, e.Arguments[0].Range, argument, math.Exp(sizeGrid))
	if e.InputBytes == bytes {
		t.Error("exact input sizes show")
	}
	if e.Seconds.Least < seconds.Least/2 || e.Seconds.Largest > 2*seconds.Largest {
		t.Errorf("predicts %+v s of %+v", e.Seconds, seconds)
	}
	last := e.Arguments[len(e.Arguments)-1]
	if last.Name != "zz" || !last.Text || last.Range != (Range{}) {
		t.Errorf("text argument: %+v", last)
	}
	if e.Points != w.Sizes[2] || e.ScaleOuts.Least < 1 {
		t.Errorf("%+v", e)
	}
	w.Values = w.Values[1:]
	if _, err := ExtentOf(w); !errors.Is(err, predict.ErrWeights) {
		t.Errorf("of bad weights: %v", err)
	}
}

func newRange() Range { return Range{math.Inf(1), math.Inf(-1)} }

func (r *Range) add(v float64) { r.Least, r.Largest = min(r.Least, v), max(r.Largest, v) }
