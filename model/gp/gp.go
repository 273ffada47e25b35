// Package gp is an exact Gaussian process on log runtimes, small and
// deterministic: a Matern-5/2 kernel with one length scale a feature (ARD),
// Gaussian noise and a constant mean.
//
// It is for tens of observations: the profiling runs of one workload. [Fit]
// finds the hyper-parameters, [Condition] takes them as given, [TrainSupport]
// turns what a workload may share into [Weights], and [FromWeights] evaluates the
// weights that a peer sent. Everything that comes from outside is checked, and
// no method of this package returns a NaN or an infinity.
//
// The family of shared weights ("gp-matern52-ard/1": kernel, standardisation and
// [Features]) stays as it is; another one gets another name.
//
// Sources: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
// cited as RW below, by equation.
package gp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// ErrInput is wrapped by every error about observations or query points.
var ErrInput = errors.New("unusable input of a Gaussian process")

// Hyperparameters of a process on standardised values.
type Hyperparameters struct {
	// LengthScales has d entries, in units of the features.
	LengthScales []float64
	// SignalSD is the prior standard deviation of the function, NoiseSD that of one
	// observation around it; in standard deviations of the values.
	SignalSD, NoiseSD float64
}

// GP is a Gaussian process conditioned on n observations at points of d features.
// It is immutable and safe for concurrent use.
type GP struct {
	// d features, x is n x d in row-major order, y the n standardised values.
	d    int
	x, y []float64
	h    Hyperparameters
	// value = offset + scale * standardised value.
	offset, scale float64
	// root is the lower Cholesky factor of K + NoiseSD^2 I, alpha its solution for y
	// (RW algorithm 2.1).
	root  blas64.Triangular
	alpha []float64
	// evidence is the log marginal likelihood of y.
	evidence float64
}

// Condition returns the process with given hyper-parameters after n observations:
// x is n x d in row-major order, y has n values (log runtimes), which are
// standardised here. It copies its arguments. n is at most [MaxInputs], d at most
// [MaxDimensions].
func Condition(x []float64, d int, y []float64, h Hyperparameters) (*GP, error) {
	if err := checkObservations(x, d, y); err != nil {
		return nil, err
	}
	z, offset, scale := standardise(y)
	return condition(x, d, z, offset, scale, h)
}

// condition takes standardised values. It copies x and h.
func condition(x []float64, d int, z []float64, offset, scale float64, h Hyperparameters) (*GP, error) {
	h.LengthScales = append([]float64(nil), h.LengthScales...)
	g := &GP{d: d, x: append([]float64(nil), x...), y: z, h: h, offset: offset, scale: scale}
	if err := g.weights().Validate(); err != nil {
		return nil, err
	}
	n := len(z)
	k := newSymmetric(n)
	g.h.covariance(k, g.x, d)
	for i := range n {
		k.Data[i*n+i] += h.NoiseSD * h.NoiseSD
	}
	var err error
	if g.root, err = cholesky(k); err != nil {
		return nil, fmt.Errorf("covariance of %d observations: %w", n, err)
	}
	g.alpha = append([]float64(nil), z...)
	v := blas64.Vector{N: n, Data: g.alpha, Inc: 1}
	blas64.Trsv(blas.NoTrans, g.root, v)
	quadratic := blas64.Dot(v, v)
	blas64.Trsv(blas.Trans, g.root, v)
	g.evidence = -quadratic/2 - logDiagonal(g.root) - float64(n)/2*math.Log(2*math.Pi) // RW eq. 2.30
	return g, nil
}

// Len returns n, the number of observations.
func (g *GP) Len() int { return len(g.y) }

// Dimensions returns d, the number of features.
func (g *GP) Dimensions() int { return g.d }

// Hyperparameters returns a copy of the hyper-parameters.
func (g *GP) Hyperparameters() Hyperparameters {
	h := g.h
	h.LengthScales = append([]float64(nil), h.LengthScales...)
	return h
}

// LogEvidence returns the log marginal likelihood of the standardised values
// (RW eq. 2.30).
func (g *GP) LogEvidence() float64 { return g.evidence }

// Scaling returns the mean and the standard deviation that were taken out of the
// values: value = offset + scale * standardised value.
func (g *GP) Scaling() (offset, scale float64) { return g.offset, g.scale }

// Standardised returns the same process in units of the standardised values, that
// is with offset 0 and scale 1. It shares memory with g.
func (g *GP) Standardised() *GP {
	s := *g
	s.offset, s.scale = 0, 1
	return &s
}

// Values returns a copy of the n observed values in the units of g.
func (g *GP) Values() []float64 {
	y := make([]float64, len(g.y))
	for i, z := range g.y {
		y[i] = g.offset + g.scale*z
	}
	return y
}

// Inputs returns a copy of the n x d observed points in row-major order.
func (g *GP) Inputs() []float64 { return append([]float64(nil), g.x...) }

// minScale is the smallest standard deviation that is taken out of values: below
// it they are equal for every purpose (0.0001% of a runtime).
const minScale = 1e-6

// standardise returns (y - offset) / scale with mean 0 and standard deviation 1
// (over n, not n - 1). Equal values and a single one get scale 1.
func standardise(y []float64) (z []float64, offset, scale float64) {
	n := float64(len(y))
	for _, v := range y {
		offset += v / n
	}
	for _, v := range y {
		scale += (v - offset) * (v - offset) / n
	}
	if scale = math.Sqrt(scale); scale < minScale {
		scale = 1
	}
	z = make([]float64, len(y))
	for i, v := range y {
		z[i] = (v - offset) / scale
	}
	return z, offset, scale
}

// maxValue bounds observed values in size. They are logarithms.
const maxValue = 1e6

func checkObservations(x []float64, d int, y []float64) error {
	n := len(y)
	switch {
	case d < 1 || d > MaxDimensions:
		return fmt.Errorf("%w: %d dimensions, want 1 to %d", ErrInput, d, MaxDimensions)
	case n < 1 || n > MaxInputs:
		return fmt.Errorf("%w: %d observations, want 1 to %d", ErrInput, n, MaxInputs)
	case len(x) != n*d:
		return fmt.Errorf("%w: %d input values, want %d x %d", ErrInput, len(x), n, d)
	}
	for _, v := range y {
		if !(math.Abs(v) <= maxValue) {
			return fmt.Errorf("%w: value %g, want within ±%g", ErrInput, v, float64(maxValue))
		}
	}
	return checkPoints(x)
}

// checkPoints bounds coordinates as [Weights.Validate] does.
func checkPoints(x []float64) error {
	for _, v := range x {
		if !(math.Abs(v) <= maxCoordinate) {
			return fmt.Errorf("%w: coordinate %g, want within ±%g", ErrInput, v, float64(maxCoordinate))
		}
	}
	return nil
}
