package checkpoint

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMixIsNotAboveItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 8)
		p := drawProblem(t, g)
		p.Bandwidth = 10
		f := Failures{}
		weight := rapid.SampledFrom([]float64{0, .3, .7, 1}).Draw(t, "weight")
		v, err := p.values(g)
		if err != nil {
			t.Fatal(err)
		}
		m := &mixer{v: v, f: f, weight: weight, width: 10, all: g.ByteSeconds(p.HotspotsOnly), lost: f.lost(g.end)}
		everyCut(v, func(in []bool, _, _ float64, _ int) { m.consider(in) })
		got, err := Mix(g, p, f, weight)
		if err != nil {
			t.Fatal(err)
		}
		if got.Score > m.best.Score+1e-9 || got.Bound < m.best.Score-1e-9 {
			t.Fatalf("scores %g, bound %g, the best cut %g", got.Score, got.Bound, m.best.Score)
		}
		if (got.Exact || weight == 0 || weight == 1) && math.Abs(got.Score-m.best.Score) > 1e-7 {
			t.Fatalf("scores %g (exact: %v), the best cut %g", got.Score, got.Exact, m.best.Score)
		}
	})
}

func TestMixOfAWeightThatIsNone(t *testing.T) {
	for _, w := range []float64{-1, 2, math.NaN()} {
		if _, err := Mix(line3(t), Problem{}, Failures{}, w); !errors.Is(err, ErrOption) {
			t.Errorf("weight %g: %v", w, err)
		}
	}
}
