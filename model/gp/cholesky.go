package gp

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// ErrNotPositive means that a matrix is not a covariance, also after jitter.
var ErrNotPositive = errors.New("matrix is not positive definite")

// Jitter is added to a diagonal where a factorisation fails, as a share of its
// mean: first minJitter, then a hundred times more until maxJitter. 1e-10 is
// some rounding errors of an n = 256 factorisation (256 * 2^-52 = 6e-14); past 1e-2
// the matrix was not a covariance.
const (
	minJitter  = 1e-10
	maxJitter  = 1e-2
	jitterStep = 100
)

// cholesky returns the lower factor L of the upper-stored k = L L^T, adding jitter
// where k is singular to working precision. It leaves k alone.
func cholesky(k blas64.Symmetric) (blas64.Triangular, error) {
	var mean float64
	for i := range k.N {
		mean += k.Data[i*k.Stride+i] / float64(k.N)
	}
	if !(mean > 0) || math.IsInf(mean, 0) {
		return blas64.Triangular{}, ErrNotPositive
	}
	for jitter := 0.0; jitter <= maxJitter; jitter = max(minJitter, jitter*jitterStep) {
		work := newSymmetric(k.N)
		for i := range k.N { // the upper triangle, transposed: the result is the lower factor
			for j := i; j < k.N; j++ {
				work.Data[j*work.Stride+i] = k.Data[i*k.Stride+j]
			}
			work.Data[i*work.Stride+i] += jitter * mean
		}
		work.Uplo = blas.Lower
		if t, ok := lapack64.Potrf(work); ok && finite(t) {
			return t, nil
		}
	}
	return blas64.Triangular{}, ErrNotPositive
}

// finite says whether the factor's diagonal is; LAPACK lets infinities through.
func finite(t blas64.Triangular) bool {
	for i := range t.N {
		if v := t.Data[i*t.Stride+i]; math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return false
		}
	}
	return true
}

// logDiagonal returns the sum of the logs of the diagonal: half the log determinant.
func logDiagonal(t blas64.Triangular) float64 {
	var s float64
	for i := range t.N {
		s += math.Log(t.Data[i*t.Stride+i])
	}
	return s
}

// inverse returns (L L^T)^-1, upper triangle.
func inverse(root blas64.Triangular) blas64.Symmetric {
	n := root.N
	eye := blas64.General{Rows: n, Cols: n, Stride: max(n, 1), Data: make([]float64, n*n)}
	for i := range n {
		eye.Data[i*n+i] = 1
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, root, eye)
	inv := newSymmetric(n)
	blas64.Syrk(blas.Trans, 1, eye, 0, inv)
	return inv
}

// Root returns a lower-triangular L with L L^T = cov, up to a jitter on the
// diagonal of at most a hundredth of its mean. L z with standard normal z is a
// sample. It wraps [ErrNotPositive].
func Root(cov *mat.SymDense) (*mat.TriDense, error) {
	t, err := cholesky(cov.RawSymmetric())
	if err != nil {
		return nil, err
	}
	return mat.NewTriDense(t.N, mat.Lower, t.Data), nil
}
