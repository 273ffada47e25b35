package bellamy

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

// Family names the network and its encoding of properties.
const Family = "bellamy/1"

// normValues is the number of values of [norms].
const normValues = 2*scaleFeatures + 2

// Weights implements [predict.General]: norms, then the flat weights.
func (g *General) Weights() (*predict.Weights, error) {
	if g.weights == nil {
		return nil, fmt.Errorf("%w: it was not pre-trained", predict.ErrNotPortable)
	}
	w := &predict.Weights{
		Family: Family, Arguments: append([]predict.WeightArgument(nil), g.schema.arguments...),
		Sizes: []int{g.layout.essentials}, Contexts: g.contexts, Runs: g.runs,
	}
	w.Values = append(w.Values, g.norms.low[:]...)
	w.Values = append(w.Values, g.norms.high[:]...)
	w.Values = append(w.Values, g.norms.mean, g.norms.sd)
	w.Values = append(w.Values, g.weights...)
	return w, w.Validate()
}

// Bounds of norms that come from outside: ln(seconds) of ten years is 20.
const (
	maxMean = 25
	maxNorm = 1e5
	maxSD   = 10
	minNorm = 1e-9
)

// FromWeights returns the network that the weights describe, which is fine-tuned by
// the variant. It copies the weights. It wraps [predict.ErrWeights], and never
// panics, whoever made them.
func FromWeights(w *predict.Weights, v Variant) (*General, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if w.Family != Family {
		return nil, fmt.Errorf("%w: family %.40q, want %q", predict.ErrWeights, w.Family, Family)
	}
	g := &General{
		variant: v, schema: schema{append([]predict.WeightArgument(nil), w.Arguments...)},
		contexts: w.Contexts, runs: w.Runs,
	}
	g.layout = newLayout(g.schema.essentials())
	if len(w.Sizes) != 1 || w.Sizes[0] != g.layout.essentials {
		return nil, fmt.Errorf("%w: sizes %v for %d essential properties", predict.ErrWeights, w.Sizes, g.layout.essentials)
	}
	if len(w.Values) != normValues+g.layout.total {
		return nil, fmt.Errorf("%w: %d values, want %d", predict.ErrWeights, len(w.Values), normValues+g.layout.total)
	}
	k, rest := &g.norms, w.Values
	copy(k.low[:], rest)
	copy(k.high[:], rest[scaleFeatures:])
	k.mean, k.sd = rest[2*scaleFeatures], rest[2*scaleFeatures+1]
	for i := range k.low {
		if !(k.high[i]-k.low[i] > minNorm) || math.Abs(k.low[i]) > maxNorm || math.Abs(k.high[i]) > maxNorm {
			return nil, fmt.Errorf("%w: scale feature from %g to %g", predict.ErrWeights, k.low[i], k.high[i])
		}
	}
	if math.Abs(k.mean) > maxMean || !(k.sd >= minSD && k.sd <= maxSD) {
		return nil, fmt.Errorf("%w: runtimes of e^(%g ± %g) s", predict.ErrWeights, k.mean, k.sd)
	}
	g.weights = append([]float64(nil), rest[normValues:]...)
	return g, nil
}
