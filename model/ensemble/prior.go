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

// cov returns the two parts of the covariance of a and b: fixed + s^2 matern.
func (k *shapePrior) cov(a, b []float64) (fixed, matern float64) {
	r2 := 0.
	for i, v := range k.slopeVar {
		fixed += a[i] * b[i] * v
		d := (a[i] - b[i]) * k.invLength[i]
		r2 += d * d
	}
	r := math.Sqrt(r2)
	if r < sameDistance {
		return fixed + k.nuggetVar, 1
	}
	q := math.Sqrt(5) * r
	return fixed, (1 + q + q*q/3) * math.Exp(-q)
}

// sameDistance is the scaled distance below which two points are one configuration.
const sameDistance = 1e-9

// gram holds the two parts of the covariance between two sets of points, a x b in
// row-major order.
type gram struct {
	rows, cols    int
	fixed, matern []float64
}

func (k *shapePrior) gram(a, b [][]float64) gram {
	g := gram{rows: len(a), cols: len(b), fixed: make([]float64, len(a)*len(b)), matern: make([]float64, len(a)*len(b))}
	for i, x := range a {
		for j, y := range b {
			g.fixed[i*g.cols+j], g.matern[i*g.cols+j] = k.cov(x, y)
		}
	}
	return g
}

// symmetric is gram(a, a) at half the work.
func (k *shapePrior) symmetric(a [][]float64) gram {
	n := len(a)
	g := gram{rows: n, cols: n, fixed: make([]float64, n*n), matern: make([]float64, n*n)}
	for i := range n {
		for j := range i + 1 {
			f, m := k.cov(a[i], a[j])
			g.fixed[i*n+j], g.matern[i*n+j] = f, m
			g.fixed[j*n+i], g.matern[j*n+i] = f, m
		}
	}
	return g
}

// at writes fixed + s2*matern + add of row i into dst (cols long).
func (g gram) at(dst []float64, i int, s2, add float64) {
	f, m := g.fixed[i*g.cols:(i+1)*g.cols], g.matern[i*g.cols:(i+1)*g.cols]
	for j := range dst {
		dst[j] = f[j] + s2*m[j] + add
	}
}
