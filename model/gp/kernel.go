package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

var sqrt5 = math.Sqrt(5)

// matern52 is the Matern kernel with nu = 5/2 and unit variance (RW eq. 4.17) of
// the squared distance r2 in length scales.
func matern52(r2 float64) float64 {
	q := sqrt5 * math.Sqrt(r2)
	return (1 + q + q*q/3) * math.Exp(-q)
}

// maternSlope is -2 times the derivative of [matern52] by r2. The derivative of
// the kernel by ln(length scale k) is maternSlope(r2) * (difference k / scale k)^2.
func maternSlope(r2 float64) float64 {
	q := sqrt5 * math.Sqrt(r2)
	return 5. / 3 * (1 + q) * math.Exp(-q)
}

// distance2 is the squared distance of two points in length scales.
func (h *Hyperparameters) distance2(a, b []float64) float64 {
	var r2 float64
	for k, l := range h.LengthScales {
		t := (a[k] - b[k]) / l
		r2 += t * t
	}
	return r2
}

// covariance writes the prior covariance of the n points x (n x d) into dst,
// upper triangle, without noise.
func (h *Hyperparameters) covariance(dst blas64.Symmetric, x []float64, d int) {
	n, s2 := dst.N, h.SignalSD*h.SignalSD
	for i := range n {
		dst.Data[i*dst.Stride+i] = s2
		for j := i + 1; j < n; j++ {
			dst.Data[i*dst.Stride+j] = s2 * matern52(h.distance2(x[i*d:i*d+d], x[j*d:j*d+d]))
		}
	}
}

// cross returns the n x m prior covariance of the points a (n x d) and b (m x d).
func (h *Hyperparameters) cross(a, b []float64, d int) blas64.General {
	n, m, s2 := len(a)/d, len(b)/d, h.SignalSD*h.SignalSD
	c := blas64.General{Rows: n, Cols: m, Stride: max(m, 1), Data: make([]float64, n*m)}
	for i := range n {
		for j := range m {
			c.Data[i*m+j] = s2 * matern52(h.distance2(a[i*d:i*d+d], b[j*d:j*d+d]))
		}
	}
	return c
}

// newSymmetric returns a zero n x n matrix of which the upper triangle counts.
func newSymmetric(n int) blas64.Symmetric {
	return blas64.Symmetric{N: n, Stride: max(n, 1), Data: make([]float64, n*n), Uplo: blas.Upper}
}
