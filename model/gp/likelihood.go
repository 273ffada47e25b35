package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// posterior is the log posterior density of the hyper-parameters of a data set, up
// to a constant, as a function of theta = (ln length scale 1..d, ln signal sd, ln
// noise sd). It reuses its buffers: not safe for concurrent use.
type posterior struct {
	d int
	y []float64
	// squares has d blocks of n x n: squared differences of one feature.
	squares [][]float64
	k, r2   blas64.Symmetric
}

func newPosterior(x []float64, d int, y []float64) *posterior {
	n := len(y)
	p := &posterior{d: d, y: y, k: newSymmetric(n), r2: newSymmetric(n)}
	for f := range d {
		s := make([]float64, n*n)
		for i := range n {
			for j := i + 1; j < n; j++ {
				t := x[i*d+f] - x[j*d+f]
				s[i*n+j] = t * t
			}
		}
		p.squares = append(p.squares, s)
	}
	return p
}

// maxTheta bounds the logs of hyper-parameters that are evaluated at all, so that a
// wild step of a line search cannot overflow.
const maxTheta = 30

// evaluate returns the log posterior density at theta and writes its gradient
// (d + 2 entries, RW eq. 5.9 plus the prior's). It returns -Inf, and a zero gradient,
// where the covariance cannot be factorised.
func (p *posterior) evaluate(theta, gradient []float64) float64 {
	n, d := len(p.y), p.d
	clear(gradient)
	for _, t := range theta {
		if !(math.Abs(t) <= maxTheta) {
			return math.Inf(-1)
		}
	}
	signal2, noise2 := math.Exp(2*theta[d]), math.Exp(2*theta[d+1])
	p.fill(theta[:d], signal2, noise2)
	root, err := cholesky(p.k)
	if err != nil {
		return math.Inf(-1)
	}
	alpha := blas64.Vector{N: n, Data: append([]float64(nil), p.y...), Inc: 1}
	blas64.Trsv(blas.NoTrans, root, alpha)
	value := -blas64.Dot(alpha, alpha)/2 - logDiagonal(root)
	blas64.Trsv(blas.Trans, root, alpha)
	p.accumulate(theta[:d], signal2, noise2, inverse(root), alpha.Data, gradient)

	for i, t := range theta {
		prior := hyperPrior(i, d)
		z := (t - prior.mean) / prior.sd
		value -= z * z / 2
		gradient[i] -= z / prior.sd
	}
	if math.IsNaN(value) {
		clear(gradient)
		return math.Inf(-1)
	}
	return value
}

// fill computes squared distances and the covariance with noise, upper triangles.
func (p *posterior) fill(logScales []float64, signal2, noise2 float64) {
	n := len(p.y)
	clear(p.r2.Data)
	for f, l := range logScales {
		w := math.Exp(-2 * l)
		for i, s := range p.squares[f] {
			p.r2.Data[i] += w * s
		}
	}
	for i := range n {
		p.k.Data[i*n+i] = signal2 + noise2
		for j := i + 1; j < n; j++ {
			p.k.Data[i*n+j] = signal2 * matern52(p.r2.Data[i*n+j])
		}
	}
}

// accumulate adds 1/2 tr((alpha alpha^T - K^-1) dK/dtheta) to the gradient.
func (p *posterior) accumulate(logScales []float64, signal2, noise2 float64, inv blas64.Symmetric, alpha, gradient []float64) {
	n, d := len(p.y), p.d
	weights := make([]float64, d)
	for f, l := range logScales {
		weights[f] = math.Exp(-2 * l)
	}
	for i := range n {
		q := alpha[i]*alpha[i] - inv.Data[i*n+i]
		gradient[d] += q * signal2
		gradient[d+1] += q * noise2
		for j := i + 1; j < n; j++ {
			q := alpha[i]*alpha[j] - inv.Data[i*n+j] // counts twice, with the 1/2 once
			gradient[d] += 2 * q * p.k.Data[i*n+j]
			slope := q * signal2 * maternSlope(p.r2.Data[i*n+j])
			for f := range d {
				gradient[f] += slope * weights[f] * p.squares[f][i*n+j]
			}
		}
	}
}
