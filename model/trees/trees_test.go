package trees

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFitLearnsAnInteraction(t *testing.T) {
	var x, y []float64
	for a := range 8 {
		for b := range 8 {
			x = append(x, float64(a), float64(b))
			v := float64(a)
			if b > 3 && a > 2 {
				v += 20
			}
			y = append(y, v)
		}
	}
	e, err := Fit(x, 2, y, Options{Trees: 300})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range y {
		if got := e.Predict(x[2*i : 2*i+2]); math.Abs(got-want) > .1 {
			t.Errorf("at %v: %.2f, want %.2f", x[2*i:2*i+2], got, want)
		}
	}
}

func TestFitErrors(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []float64
		d    int
		o    Options
	}{
		"no rows":     {nil, nil, 1, Options{}},
		"wrong shape": {[]float64{1, 2, 3}, []float64{1, 2}, 2, Options{}},
		"NaN":         {[]float64{math.NaN()}, []float64{1}, 1, Options{}},
		"infinite":    {[]float64{1}, []float64{math.Inf(1)}, 1, Options{}},
		"rate":        {[]float64{1}, []float64{1}, 1, Options{Rate: 2}},
		"depth":       {[]float64{1}, []float64{1}, 1, Options{Depth: 99}},
	} {
		if _, err := Fit(c.x, c.d, c.y, c.o); !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v, want ErrInput", name, err)
		}
	}
}

// Predictions are means of targets, boosted: they never leave the targets' range by
// more than what repeated fits of residuals add, and training error never grows with
// the number of trees.
func TestFitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2*n, 2*n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-100, 100), n, n).Draw(t, "y")
		leaf := rapid.IntRange(1, 4).Draw(t, "leaf")
		last := math.Inf(1)
		for _, trees := range []int{1, 5, 25} {
			e, err := Fit(x, 2, y, Options{Trees: trees, MinLeaf: leaf})
			if err != nil {
				t.Fatal(err)
			}
			var loss float64
			for i := range y {
				d := e.Predict(x[2*i:2*i+2]) - y[i]
				loss += d * d
			}
			if !(loss <= last*(1+1e-9)+1e-9) {
				t.Fatalf("%d trees have a loss of %g, fewer %g", trees, loss, last)
			}
			last = loss
		}
	})
}
