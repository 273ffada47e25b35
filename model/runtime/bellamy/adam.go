package bellamy

import (
	"math"
	"math/rand/v2"
)

// Constants of Adam (Kingma and Ba, ICLR 2015).
const (
	beta1   = .9
	beta2   = .999
	epsilon = 1e-8
)

// adam updates the weights in one span, with decoupled weight decay (Loshchilov and
// Hutter, ICLR 2019).
type adam struct {
	m, v []float64
	t    int
}

func newAdam(n int) *adam { return &adam{m: make([]float64, n), v: make([]float64, n)} }

func (a *adam) step(w, g []float64, part span, rate, decay float64) {
	a.t++
	c1, c2 := 1-math.Pow(beta1, float64(a.t)), 1-math.Pow(beta2, float64(a.t))
	for i := part.from; i < part.to; i++ {
		a.m[i] = beta1*a.m[i] + (1-beta1)*g[i]
		a.v[i] = beta2*a.v[i] + (1-beta2)*g[i]*g[i]
		w[i] -= rate * (a.m[i]/c1/(math.Sqrt(a.v[i]/c2)+epsilon) + decay*w[i])
	}
}

// initialise draws weights with variance 1/inputs, as SELU wants (LeCun), and zero
// biases, for the given part of the network.
func (l *layout) initialise(w []float64, part span, r *rand.Rand) {
	for _, m := range []struct {
		s      span
		inputs int
	}{
		{l.f1, scaleFeatures}, {l.f1b, 0}, {l.f2, scaleHidden}, {l.f2b, 0},
		{l.g1, propertySize / 4}, {l.g2, codeHidden}, {l.h1, codeSize}, {l.h2, codeHidden},
		{l.z1Scale, scaleOut + l.codes()}, {l.z1Code, scaleOut + l.codes()}, {l.z1b, 0}, {l.z2, headHidden}, {l.z2b, 0},
	} {
		if m.s.from < part.from || m.s.to > part.to {
			continue
		}
		for i := m.s.from; i < m.s.to; i++ {
			w[i] = 0
			if m.inputs > 0 {
				w[i] = r.NormFloat64() / math.Sqrt(float64(m.inputs))
			}
		}
	}
}
