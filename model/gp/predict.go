package gp

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// minVariance is the smallest posterior variance that is reported, as a share of
// the signal's: what rounding may leave of 1 - 1.
const minVariance = 1e-12

// Posterior returns the mean and the variance of the function (without noise) at m
// points, xs being m x d in row-major order, in the units of the values
// (RW eq. 2.25 and 2.26). It wraps [ErrInput].
func (g *GP) Posterior(xs []float64) (mean, variance []float64, err error) {
	mean, v, err := g.project(xs)
	if err != nil {
		return nil, nil, err
	}
	m, s2 := v.Cols, g.h.SignalSD*g.h.SignalSD
	variance = make([]float64, m)
	for j := range m {
		variance[j] = s2
	}
	for i := range v.Rows {
		for j, t := range v.Data[i*v.Stride : i*v.Stride+m] {
			variance[j] -= t * t
		}
	}
	for j := range m {
		mean[j] = g.offset + g.scale*mean[j]
		variance[j] = g.scale * g.scale * max(variance[j], minVariance*s2)
	}
	return mean, variance, nil
}

// Joint returns the mean and the m x m covariance of the function (without noise)
// at m points, xs being m x d in row-major order, in the units of the values. It is
// what samples are drawn from, with [Root]. It wraps [ErrInput].
func (g *GP) Joint(xs []float64) (mean []float64, cov *mat.SymDense, err error) {
	mean, v, err := g.project(xs)
	if err != nil {
		return nil, nil, err
	}
	m := v.Cols
	c := newSymmetric(m)
	g.h.covariance(c, xs, g.d)
	blas64.Syrk(blas.Trans, -1, v, 1, c)
	s2 := g.scale * g.scale
	for i := range m {
		mean[i] = g.offset + g.scale*mean[i]
		c.Data[i*m+i] = max(c.Data[i*m+i], minVariance*g.h.SignalSD*g.h.SignalSD)
		for j := i; j < m; j++ {
			c.Data[i*m+j] *= s2
		}
	}
	return mean, mat.NewSymDense(m, c.Data), nil
}

// project returns the standardised posterior mean at m points and V = L^-1 K(x, xs),
// n x m, which is what the data take from the prior covariance: V^T V.
func (g *GP) project(xs []float64) (mean []float64, v blas64.General, err error) {
	if len(xs) == 0 || len(xs)%g.d != 0 {
		return nil, v, fmt.Errorf("%w: %d coordinates, want a multiple of %d", ErrInput, len(xs), g.d)
	}
	if err := checkPoints(xs); err != nil {
		return nil, v, err
	}
	v = g.h.cross(g.x, xs, g.d)
	mean = make([]float64, v.Cols)
	blas64.Gemv(blas.Trans, 1, v, blas64.Vector{N: v.Rows, Data: g.alpha, Inc: 1}, 0, blas64.Vector{N: v.Cols, Data: mean, Inc: 1})
	blas64.Trsm(blas.Left, blas.NoTrans, 1, g.root, v)
	return mean, v, nil
}

// LeaveOneOut returns, for each of the n observations, mean and variance of its
// value as the process predicts it from the n - 1 others with the same
// hyper-parameters, noise included, in the units of the values (RW eq. 5.12, after
// Sundararajan and Keerthi). With one observation it is the prior.
func (g *GP) LeaveOneOut() (mean, variance []float64) {
	n := len(g.y)
	inv := inverse(g.root)
	mean, variance = make([]float64, n), make([]float64, n)
	for i := range n {
		d := inv.Data[i*inv.Stride+i]
		mean[i] = g.offset + g.scale*(g.y[i]-g.alpha[i]/d)
		variance[i] = g.scale * g.scale / d
	}
	return mean, variance
}
