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

// maxCoordinate bounds inputs in size; features are logarithms.
const maxCoordinate = 1e3

// bounds of a number, both ends included.
type bounds struct{ min, max float64 }

func (b bounds) clamp(v float64) float64 { return min(max(v, b.min), b.max) }

var (
	inputBounds  = bounds{-maxCoordinate, maxCoordinate}
	targetBounds = bounds{-50, 50}
	lengthBounds = bounds{1e-3, 1e4}
	signalBounds = bounds{1e-3, 1e2}
	noiseBounds  = bounds{1e-4, 1e2}
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
		name   string
		values []float64
		bounds
	}{
		{"input", w.Inputs, inputBounds},
		{"target", w.Targets, targetBounds},
		{"length scale", w.LengthScales, lengthBounds},
		{"signal sd", []float64{w.SignalSD}, signalBounds},
		{"noise sd", []float64{w.NoiseSD}, noiseBounds},
	} {
		for _, v := range c.values {
			if math.IsNaN(v) || v < c.min || v > c.max {
				return fmt.Errorf("%w: %s %g, want %g to %g", ErrWeights, c.name, v, c.min, c.max)
			}
		}
	}
	return nil
}

// Weights returns the process in its shared form. Offset and scale are not part of
// it: they say how long the workload takes.
func (g *GP) Weights() *Weights {
	w := g.weights()
	w.Inputs = append([]float64(nil), w.Inputs...)
	w.Targets = append([]float64(nil), w.Targets...)
	w.LengthScales = append([]float64(nil), w.LengthScales...)
	return w
}

// weights shares memory with g.
func (g *GP) weights() *Weights {
	return &Weights{
		Dimensions: g.d, Inputs: g.x, Targets: g.y,
		LengthScales: g.h.LengthScales, SignalSD: g.h.SignalSD, NoiseSD: g.h.NoiseSD,
	}
}

// FromWeights returns the process that the weights describe, with offset 0 and
// scale 1. Targets that are not standardised, as no honest peer sends them, are
// standardised. It copies the weights. It wraps [ErrWeights], and never panics,
// whoever made them.
func FromWeights(w *Weights) (*GP, error) {
	if w == nil {
		return nil, fmt.Errorf("%w: none", ErrWeights)
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	h := Hyperparameters{LengthScales: w.LengthScales, SignalSD: w.SignalSD, NoiseSD: w.NoiseSD}
	g, err := Condition(w.Inputs, w.Dimensions, w.Targets, h)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWeights, err)
	}
	return g.Standardised(), nil
}
