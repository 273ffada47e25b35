package ensemble

import "math"

// shapePrior is the Gaussian process prior of the shape of log runtime:
//
//	mean  sum_d b_d x_d
//	cov   sum_d sigma_d^2 x_d x'_d + s^2 Matérn52(|x-x'|/l) + nugget^2 [x = x']
//
// The part that depends on s is kept apart, so that one pass over the points
// serves all s.
type shapePrior struct {
	slopeMean, slopeVar, invLength []float64
	nuggetVar                      float64
}

func newShapePrior(p *Params, d int) *shapePrior {
	k := &shapePrior{
		slopeMean: make([]float64, d), slopeVar: make([]float64, d), invLength: make([]float64, d),
		nuggetVar: p.NuggetSD * p.NuggetSD,
	}
	for i := range d {
		sd, length := p.ExtraSlopeSD, p.ExtraLengthScale
		if i < baseFeatures {
			k.slopeMean[i], sd, length = p.SlopeMean[i], p.SlopeSD[i], p.LengthScale
		}
		k.slopeVar[i], k.invLength[i] = sd*sd, 1/length
	}
	return k
}

// mean of the shape at x (centred features).
func (k *shapePrior) mean(x []float64) float64 {
	m := 0.
	for i, b := range k.slopeMean {
		m += b * x[i]
	}
	return m
}

// covRow writes the two parts of the covariance, fixed + s^2 matern, of a and each of b,
// which are displaced by -shift in the first feature, into a row of len(b).
func (k *shapePrior) covRow(g gram, a []float64, b [][]float64, shift float64) {
	d := len(a)
	var small [16]float64
	room := small[:]
	if 2*d > len(room) {
		room = make([]float64, 2*d)
	}
	weighted, moved := room[:d], room[d:2*d]
	copy(moved, a)
	moved[0] += shift
	for i, v := range k.slopeVar {
		weighted[i] = a[i] * v
	}
	for j, y := range b {
		fixed, r2 := -weighted[0]*shift, 0.
		for i, v := range y {
			fixed += weighted[i] * v
			d := (moved[i] - v) * k.invLength[i]
			r2 += d * d
		}
		if r2 < sameDistance*sameDistance {
			g.fixed[j], g.matern[j] = fixed+k.nuggetVar, 1
			continue
		}
		q := math.Sqrt(5 * r2)
		g.fixed[j], g.matern[j] = fixed, (1+q+q*q/3)*math.Exp(-q)
	}
}

// variance is the fixed part of the variance at x.
func (k *shapePrior) variance(x []float64) float64 {
	v := k.nuggetVar
	for i, w := range k.slopeVar {
		v += w * x[i] * x[i]
	}
	return v
}

// sameDistance is the scaled distance below which two points are one configuration.
const sameDistance = 1e-9

// gram holds the two parts of the covariance between two sets of points, a x b in
// row-major order.
type gram struct {
	rows, cols    int
	fixed, matern []float64
}

// at writes fixed + s2*matern + add of row i into dst (cols long).
func (g gram) at(dst []float64, i int, s2, add float64) {
	f, m := g.fixed[i*g.cols:(i+1)*g.cols], g.matern[i*g.cols:(i+1)*g.cols]
	for j := range dst {
		dst[j] = f[j] + s2*m[j] + add
	}
}
