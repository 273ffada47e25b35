package predict

import (
	"fmt"
	"math"
)

// Bounds of weights, which may come from anybody.
const (
	MaxWeights = 16384
	MaxSizes   = 64
	MaxSize    = 1 << 20
	// MaxWeight bounds every number in size. Weights are of order one, inputs are
	// logarithms.
	MaxWeight = 1e6
)

// Weights are a general model in a form that can be shared: small whole numbers
// that say how long the parts are, and one flat list of numbers. They name
// arguments, which are the algorithm's, and nothing else: no job, data set, user or
// machine.
type Weights struct {
	// Family names model and feature encoding with its version, such as
	// "structured-points/1".
	Family string
	// Arguments that the model knows, in its order.
	Arguments []WeightArgument
	Sizes     []int
	Values    []float64
	// Contexts and Runs that the model was trained on.
	Contexts, Runs int
}

// WeightArgument describes an argument of the algorithm.
type WeightArgument struct {
	Name     string
	Text     bool
	Optional bool
}

// Validate checks sizes and ranges, not what a family makes of them. It wraps
// [ErrWeights].
func (w *Weights) Validate() error {
	switch {
	case w == nil:
		return fmt.Errorf("%w: none", ErrWeights)
	case w.Family == "" || len(w.Family) > MaxText:
		return fmt.Errorf("%w: family name has %d bytes, want 1 to %d", ErrWeights, len(w.Family), MaxText)
	case len(w.Arguments) > MaxArguments:
		return fmt.Errorf("%w: %d arguments, want at most %d", ErrWeights, len(w.Arguments), MaxArguments)
	case len(w.Sizes) > MaxSizes:
		return fmt.Errorf("%w: %d sizes, want at most %d", ErrWeights, len(w.Sizes), MaxSizes)
	case len(w.Values) == 0 || len(w.Values) > MaxWeights:
		return fmt.Errorf("%w: %d values, want 1 to %d", ErrWeights, len(w.Values), MaxWeights)
	case w.Contexts < 1 || w.Contexts > MaxSize || w.Runs < w.Contexts || w.Runs > 1<<30:
		return fmt.Errorf("%w: of %d contexts and %d runs", ErrWeights, w.Contexts, w.Runs)
	}
	seen := make(map[string]bool, len(w.Arguments))
	for _, a := range w.Arguments {
		if a.Name == "" || len(a.Name) > MaxText || seen[a.Name] {
			return fmt.Errorf("%w: argument name %.40q is empty, too long or given twice", ErrWeights, a.Name)
		}
		seen[a.Name] = true
	}
	for _, s := range w.Sizes {
		if s < 0 || s > MaxSize {
			return fmt.Errorf("%w: size %d, want 0 to %d", ErrWeights, s, MaxSize)
		}
	}
	for i, v := range w.Values {
		if !(math.Abs(v) <= MaxWeight) {
			return fmt.Errorf("%w: value %d is %g, want within ±%g", ErrWeights, i, v, float64(MaxWeight))
		}
	}
	return nil
}
