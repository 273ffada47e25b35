package structured

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/karasu-project/karasu/model/runtime"
)

// jitters are tried on the diagonal in turn, as shares of its mean, where a
// covariance is singular to working precision. Amplitudes of 3 against noise of 0.01
// make condition numbers of 1e7, far from that.
var jitters = []float64{0, 1e-10, 1e-7, 1e-4}

// cholesky returns the lower factor of the n x n covariance in the lower triangle
// of k, row-major. It leaves k alone. It wraps [predict.ErrNumeric].
func cholesky(k []float64, n int) (blas64.Triangular, error) {
	var mean float64
	for i := range n {
		mean += k[i*n+i] / float64(n)
	}
	work := blas64.Symmetric{N: n, Stride: max(n, 1), Data: make([]float64, n*n), Uplo: blas.Lower}
	for _, j := range jitters {
		copy(work.Data, k)
		for i := range n {
			work.Data[i*n+i] += j * mean
		}
		if t, ok := lapack64.Potrf(work); ok && finite(t) {
			return t, nil
		}
	}
	return blas64.Triangular{}, predict.ErrNumeric
}

// finite says whether the factor's diagonal is; LAPACK lets infinities through.
func finite(t blas64.Triangular) bool {
	for i := range t.N {
		if v := t.Data[i*t.Stride+i]; !(v > 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// logDiagonal returns half the log determinant.
func logDiagonal(t blas64.Triangular) float64 {
	var s float64
	for i := range t.N {
		s += math.Log(t.Data[i*t.Stride+i])
	}
	return s
}

// forward replaces v by L^-1 v.
func forward(t blas64.Triangular, v []float64) {
	blas64.Trsv(blas.NoTrans, t, blas64.Vector{N: t.N, Data: v, Inc: 1})
}

// backward replaces v by L^-T v.
func backward(t blas64.Triangular, v []float64) {
	blas64.Trsv(blas.Trans, t, blas64.Vector{N: t.N, Data: v, Inc: 1})
}

// inverse returns (L L^T)^-1, lower triangle.
func inverse(t blas64.Triangular) []float64 {
	n := t.N
	eye := blas64.General{Rows: n, Cols: n, Stride: max(n, 1), Data: make([]float64, n*n)}
	for i := range n {
		eye.Data[i*n+i] = 1
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, t, eye)
	inv := blas64.Symmetric{N: n, Stride: max(n, 1), Data: make([]float64, n*n), Uplo: blas.Lower}
	blas64.Syrk(blas.Trans, 1, eye, 0, inv)
	return inv.Data
}
