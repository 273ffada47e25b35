package gp

import (
	"errors"
	"fmt"
	"math"
)

// Bounds of weights that come from outside. A support model has one input a
// configuration tried; dozens are usual.
const (
	// MaxInputs bounds n; exact inference is O(n^3).
	MaxInputs = 256
	// MaxDimensions bounds d.
	MaxDimensions = 16
)

// Family names the only model that [Weights] describe, and its feature encoding.
const Family = "gp-matern52-ard/1"

// ErrWeights is wrapped by every error about unusable weights.
var ErrWeights = errors.New("unusable model weights")

// Weights are a trained Gaussian process in a form that can be shared: with them
// a peer evaluates the posterior as it is.
type Weights struct {
	// Dimensions is d.
	Dimensions int
	// Inputs is n x d in row-major order, in the family's features.
	Inputs []float64
	// Targets are n log runtimes, standardised to mean 0 and standard deviation 1.
	Targets []float64
	// LengthScales has d entries, in units of the features.
	LengthScales []float64
	// SignalSD and NoiseSD are of the standardised log runtime.
	SignalSD, NoiseSD float64
}

// Validate checks shapes and ranges. It wraps [ErrWeights].
func (w *Weights) Validate() error {
	n, d := len(w.Targets), w.Dimensions
	switch {
	case d < 1 || d > MaxDimensions:
		return fmt.Errorf("%w: %d dimensions, want 1 to %d", ErrWeights, d, MaxDimensions)
	case n < 1 || n > MaxInputs:
		return fmt.Errorf("%w: %d inputs, want 1 to %d", ErrWeights, n, MaxInputs)
	case len(w.Inputs) != n*d:
		return fmt.Errorf("%w: %d input values, want %d x %d", ErrWeights, len(w.Inputs), n, d)
	case len(w.LengthScales) != d:
		return fmt.Errorf("%w: %d length scales, want %d", ErrWeights, len(w.LengthScales), d)
	}
	for _, c := range []struct {
		name     string
		values   []float64
		min, max float64
	}{
		{"input", w.Inputs, -1e3, 1e3},
		{"target", w.Targets, -50, 50},
		{"length scale", w.LengthScales, 1e-3, 1e4},
		{"signal sd", []float64{w.SignalSD}, 1e-3, 1e2},
		{"noise sd", []float64{w.NoiseSD}, 1e-4, 1e2},
	} {
		for _, v := range c.values {
			if math.IsNaN(v) || v < c.min || v > c.max {
				return fmt.Errorf("%w: %s %g, want %g to %g", ErrWeights, c.name, v, c.min, c.max)
			}
		}
	}
	return nil
}
