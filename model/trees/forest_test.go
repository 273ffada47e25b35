package trees

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestForestInterpolatesAndDoubts(t *testing.T) {
	var x, y []float64
	for i := range 20 {
		if i < 8 || i > 12 { // nothing is known in between
			x, y = append(x, float64(i)), append(y, math.Abs(float64(i)-10))
		}
	}
	f, err := FitForest(x, 1, y, ForestOptions{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range y {
		if mean, sd := f.Predict(x[i : i+1]); math.Abs(mean-want) > 1e-9 || sd > 1e-9 {
			t.Errorf("at %g: %g ± %g, want %g", x[i], mean, sd, want)
		}
	}
	// Between two rows the trees part at random, and so differ.
	if _, sd := f.Predict([]float64{5.5}); !(sd > .2) {
		t.Errorf("between two rows the spread is %g", sd)
	}
}

func TestForestIsDeterministic(t *testing.T) {
	x, y := []float64{1, 2, 3, 4, 5, 6}, []float64{3, 1, 2, 9, 7, 8}
	at := func(trees int, seed uint64) []float64 {
		f, err := FitForest(x, 1, y, ForestOptions{Trees: trees, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float64, f.Trees())
		f.Add(values, []float64{3.4})
		return values
	}
	if diff := cmp.Diff(at(20, 1), at(40, 1)[:20]); diff != "" {
		t.Errorf("the first trees of a larger forest differ:\n%s", diff)
	}
	if cmp.Equal(at(20, 1), at(20, 2)) {
		t.Error("another seed gives the same trees")
	}
}

func TestForestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []float64
		o    ForestOptions
	}{
		"no rows":  {},
		"shape":    {x: []float64{1, 2}, y: []float64{1}},
		"NaN":      {x: []float64{1}, y: []float64{math.NaN()}},
		"infinite": {x: []float64{math.Inf(-1)}, y: []float64{1}},
		"trees":    {x: []float64{1}, y: []float64{1}, o: ForestOptions{Trees: -1}},
		"split":    {x: []float64{1}, y: []float64{1}, o: ForestOptions{MinSplit: 1}},
	} {
		if _, err := FitForest(c.x, 1, c.y, c.o); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}

// Every prediction is a mean of targets.
func TestForestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(-1e100, 1e100), 2*n, 2*n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-100, 100), n, n).Draw(t, "y")
		o := ForestOptions{Trees: 5, MinSplit: rapid.IntRange(2, 5).Draw(t, "split"), Seed: rapid.Uint64().Draw(t, "seed")}
		f, err := FitForest(x, 2, y, o)
		if err != nil {
			t.Fatal(err)
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range y {
			low, high = min(low, v), max(high, v)
		}
		at := rapid.SliceOfN(rapid.Float64(), 2, 2).Draw(t, "at")
		if mean, sd := f.Predict(at); !(mean >= low-1e-9 && mean <= high+1e-9 && sd >= 0 && sd <= high-low+1e-9) {
			t.Fatalf("%g ± %g of targets from %g to %g", mean, sd, low, high)
		}
	})
}
