package bellamy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomBatch has three contexts of two essential and one or two optional properties.
func randomBatch(r *rand.Rand) (*layout, *batch) {
	l := newLayout(2)
	b := &batch{}
	for range 5 {
		for range propertySize {
			b.properties = append(b.properties, r.Float64())
		}
	}
	b.essential = [][]int{{0, 1}, {2, 1}, {3, 0}}
	b.optional = [][]int{{4}, {4, 2}, {}}
	for c := range 3 {
		for range 3 {
			b.scale = append(b.scale, r.Float64(), r.Float64(), r.Float64())
			b.context = append(b.context, c)
			b.target = append(b.target, 2*r.NormFloat64()) // beyond and within huberDelta
		}
	}
	return &l, b
}

func TestGradientsAreNumeric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l, b := randomBatch(r)
	w := make([]float64, l.total)
	l.initialise(w, span{0, l.total}, r)
	for i := range w {
		w[i] += .1 * r.NormFloat64() // biases, too
	}
	for name, rate := range map[string]float64{"without dropout": 0, "with alpha dropout": .3} {
		t.Run(name, func(t *testing.T) {
			ps := newPass(l, b)
			// The same seed drops the same units.
			loss := func(g []float64) float64 {
				return ps.step(g, w, b, newDropout(rate, rand.New(rand.NewPCG(5, 6))))
			}
			g, scratch := make([]float64, l.total), make([]float64, l.total)
			loss(g)
			nonzero := 0
			for i := range w {
				const h = 1e-5
				v := w[i]
				w[i] = v + h
				up := loss(scratch)
				w[i] = v - h
				down := loss(scratch)
				w[i] = v
				if n := (up - down) / (2 * h); math.Abs(n-g[i]) > 1e-6+1e-4*math.Abs(n) {
					t.Errorf("weight %d: gradient %g, numeric %g", i, g[i], n)
				}
				if g[i] != 0 {
					nonzero++
				}
			}
			if nonzero < l.total*3/4 {
				t.Errorf("only %d of %d gradients are not zero", nonzero, l.total)
			}
		})
	}
}

func TestLayoutHasAboutThousandWeights(t *testing.T) {
	if l := newLayout(5); l.total < 1100 || l.total > 1300 {
		t.Errorf("%d weights", l.total)
	}
}
