package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model/ensemble"
)

// improvementAt is the definition: the hypervolume with the point less without it.
func improvementAt(offset []float64, t float64, front [][]float64, reference []float64) float64 {
	y := make([]float64, len(offset))
	for k := range y {
		y[k] = offset[k] + t
	}
	return Hypervolume(append(append([][]float64(nil), front...), y), reference) - Hypervolume(front, reference)
}

type lineCase struct {
	offset, reference []float64
	front             [][]float64
	mean, sd, limit   float64
}

func drawLineCase(t *rapid.T) lineCase {
	k := rapid.IntRange(1, MaxObjectives).Draw(t, "objectives")
	coordinate := rapid.Float64Range(-3, 3)
	vector := func(name string) []float64 { return rapid.SliceOfN(coordinate, k, k).Draw(t, name) }
	c := lineCase{offset: vector("offset"), reference: vector("reference")}
	for range rapid.IntRange(0, 7).Draw(t, "points") {
		c.front = append(c.front, vector("point"))
	}
	var front [][]float64
	for _, i := range NonDominated(c.front) {
		front = append(front, c.front[i])
	}
	c.front = front
	c.mean, c.sd = coordinate.Draw(t, "mean"), rapid.Float64Range(.01, 2).Draw(t, "sd")
	c.limit = math.Inf(1)
	if rapid.Bool().Draw(t, "limited") {
		c.limit = coordinate.Draw(t, "limit")
	}
	return c
}

func TestLineIsTheHypervolumeImprovement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLineCase(t)
		l := newLine(c.offset, c.front, c.reference)
		for range 20 {
			at := rapid.Float64Range(-8, 8).Draw(t, "t")
			got, want := l.at(at), improvementAt(c.offset, at, c.front, c.reference)
			if math.Abs(got-want) > 1e-9*(1+want) {
				t.Fatalf("improvement %g at %g, want %g (%+v)", got, at, want, c)
			}
		}
	})
}

// TestExpectedHypervolumeImprovement compares with a fine sum over the line.
func TestExpectedHypervolumeImprovement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLineCase(t)
		l := newLine(c.offset, c.front, c.reference)
		const steps, reach = 20000, 9.
		want, h := 0., 2*reach/steps
		for s := range steps {
			z := -reach + (float64(s)+.5)*h
			if x := c.mean + c.sd*z; x <= c.limit {
				want += h * ensemble.NormalPDF(z) * l.at(x)
			}
		}
		got := l.expected(c.mean, c.sd, c.limit)
		// At the limit the integrand jumps: half a step of it is the sum's own error.
		jump := 0.
		if c.limit < l.from[0] {
			jump = h * l.at(c.limit)
		}
		if math.Abs(got-want) > 1e-5*(1+want)+jump {
			t.Fatalf("expected improvement %g, want %g (%+v)", got, want, c)
		}
	})
}

func TestExpectedHypervolumeImprovementProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLineCase(t)
		e := newLine(c.offset, c.front, c.reference).expected(c.mean, c.sd, c.limit)
		if !(e >= 0) || math.IsInf(e, 0) {
			t.Fatalf("%g (%+v)", e, c)
		}
		// Moving everything moves nothing: of all objectives, and of the runtime.
		by := rapid.Float64Range(-5, 5).Draw(t, "by")
		moved := lineCase{mean: c.mean + by, sd: c.sd, limit: c.limit + by}
		shift := func(v []float64, by float64) (out []float64) {
			for k, x := range v {
				out = append(out, x+by*float64(k+1))
			}
			return out
		}
		moved.reference, moved.offset = shift(c.reference, by), shift(c.offset, by)
		for k := range moved.offset {
			moved.offset[k] -= by
		}
		for _, a := range c.front {
			moved.front = append(moved.front, shift(a, by))
		}
		if m := newLine(moved.offset, moved.front, moved.reference).expected(moved.mean, moved.sd, moved.limit); math.Abs(m-e) > 1e-9*(1+e) {
			t.Fatalf("%g, moved by %g %g (%+v)", e, by, m, c)
		}
		// Nor does the order of objectives or of points matter.
		r := lineCase{}
		for k := len(c.offset) - 1; k >= 0; k-- {
			r.offset, r.reference = append(r.offset, c.offset[k]), append(r.reference, c.reference[k])
		}
		for j := len(c.front) - 1; j >= 0; j-- {
			var a []float64
			for k := len(c.offset) - 1; k >= 0; k-- {
				a = append(a, c.front[j][k])
			}
			r.front = append(r.front, a)
		}
		if m := newLine(r.offset, r.front, r.reference).expected(c.mean, c.sd, c.limit); math.Abs(m-e) > 1e-9*(1+e) {
			t.Fatalf("%g, in another order %g (%+v)", e, m, c)
		}
		// A tighter limit, or one more point on the front, never adds.
		if tight := newLine(c.offset, c.front, c.reference).expected(c.mean, c.sd, c.limit-1); tight > e+1e-9*(1+e) {
			t.Fatalf("%g, under a tighter limit %g", e, tight)
		}
		// What is surely dominated, or beyond the limit, is worth nothing.
		l := newLine(c.offset, c.front, c.reference)
		if z := l.expected(l.from[0]+40*c.sd, c.sd, c.limit); z > 1e-12 {
			t.Fatalf("dominated, and worth %g", z)
		}
	})
}

func TestExpectedImprovementIsTheCaseOfOneObjective(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		mean, sd, incumbent, offset, limit := r.NormFloat64(), .1+r.Float64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		m := &ensemble.Mixture{Weight: []float64{1}, Mean: [][]float64{{mean}}, Variance: [][]float64{{sd * sd}}}
		want := expectedImprovement(m, incumbent, []float64{limit}, []float64{offset}, []bool{true})[0]
		got := newLine([]float64{offset}, [][]float64{{incumbent}}, []float64{9}).expected(mean, sd, limit)
		if math.Abs(got-max(want, 0)) > 1e-12 {
			t.Fatalf("%g, want %g", got, want)
		}
	}
}

// TestAgainstMonteCarlo draws runtimes as a user would see them.
func TestAgainstMonteCarlo(t *testing.T) {
	front := [][]float64{{0, 2, 1}, {1, 1, 1.5}, {2, 0, .2}, {.5, 1.5, .1}}
	reference, offset := []float64{3, 3, 2}, []float64{.3, .2, -.4}
	r := rand.New(rand.NewPCG(3, 4))
	for k := 1; k <= MaxObjectives; k++ {
		var f [][]float64
		for _, a := range front {
			f = append(f, a[:k])
		}
		var kept [][]float64
		for _, i := range NonDominated(f) {
			kept = append(kept, f[i])
		}
		const n = 200000
		sum, squares := 0., 0.
		for range n {
			v := 0.
			if x := .2 + .8*r.NormFloat64(); x <= .7 {
				v = improvementAt(offset[:k], x, kept, reference[:k])
			}
			sum, squares = sum+v, squares+v*v
		}
		mean := sum / n
		se := math.Sqrt((squares/n - mean*mean) / n)
		if got := newLine(offset[:k], kept, reference[:k]).expected(.2, .8, .7); math.Abs(got-mean) > 4*se {
			t.Errorf("%d objectives: %g, drawn %g ± %g", k, got, mean, se)
		}
	}
}

func TestHypervolume(t *testing.T) {
	for _, tt := range []struct {
		points    [][]float64
		reference []float64
		want      float64
	}{
		{nil, []float64{1, 1}, 0},
		{[][]float64{{2}, {1}}, []float64{3}, 2},
		{[][]float64{{0, 2}, {1, 1}, {2, 0}}, []float64{3, 3}, 6},
		{[][]float64{{0, 0}, {1, 1}, {5, -9}}, []float64{3, 3}, 9},
		{[][]float64{{0, 0, 0}, {-1, 2, 2}}, []float64{3, 3, 3}, 28},
	} {
		if got := Hypervolume(tt.points, tt.reference); got != tt.want {
			t.Errorf("%v within %v: %g, want %g", tt.points, tt.reference, got, tt.want)
		}
	}
}

func BenchmarkExpectedHypervolumeImprovement(b *testing.B) {
	front := [][]float64{{0, 2}, {.5, 1.4}, {1, 1}, {1.3, .7}, {2, 0}}
	l := newLine([]float64{.3, .2}, front, []float64{3, 3})
	for b.Loop() {
		l.expected(.2, .8, .7)
	}
}
