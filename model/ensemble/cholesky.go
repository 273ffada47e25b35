package ensemble

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// The matrices here are of the runs of one trace or one search: tens of rows,
// thousands of them a problem. Plain slices and a row-oriented factorisation beat
// a general library at that size.

// ErrNotPositiveDefinite means that a covariance could not be factorised, even
// with a ridge. The nugget and the noise make that unreachable with valid params.
var ErrNotPositiveDefinite = fmt.Errorf("%w: a covariance is not positive definite", ErrInvalid)

// factorize overwrites the lower triangle of the n x n row-major a with its
// Cholesky factor. The upper triangle is left as it is. It returns the sum of the
// logs of the diagonal entries.
func factorize(a []float64, n int) (logDiag float64, err error) {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i {
			other := a[j*n : j*n+j+1]
			row[j] = (row[j] - floats.Dot(row[:j], other[:j])) / other[j]
		}
		v := row[i] - floats.Dot(row[:i], row[:i])
		if !(v > 0) {
			return 0, ErrNotPositiveDefinite
		}
		row[i] = math.Sqrt(v)
		logDiag += math.Log(row[i])
	}
	return logDiag, nil
}

// forward overwrites b with L^-1 b, for the factor l of factorize.
func forward(l []float64, n int, b []float64) {
	for i := range n {
		row := l[i*n : i*n+i+1]
		b[i] = (b[i] - floats.Dot(row[:i], b[:i])) / row[i]
	}
}

// backward overwrites b with L'^-1 b, for the factor l of factorize.
func backward(l []float64, n int, b []float64) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= l[i*n+i]
		floats.AddScaled(b[:i], -b[i], l[i*n:i*n+i])
	}
}

// forwardRows overwrites the n rows of v (each of one length) with L^-1 v.
func forwardRows(l []float64, n int, v [][]float64) {
	for i := range n {
		row := l[i*n : i*n+i+1]
		for j := range i {
			floats.AddScaled(v[i], -row[j], v[j])
		}
		floats.Scale(1/row[i], v[i])
	}
}

// logSumExp of at least one value.
func logSumExp(v []float64) float64 { return floats.LogSumExp(v) }

// softmax overwrites log weights with weights that add up to 1.
func softmax(v []float64) {
	top := floats.Max(v)
	sum := 0.
	for i := range v {
		v[i] = math.Exp(v[i] - top)
		sum += v[i]
	}
	floats.Scale(1/sum, v)
}
