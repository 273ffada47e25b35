package structured

import (
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/runtime"
)

// Extent is what weights say of the contexts that they are of.
type Extent struct {
	// Points is the number of made-up points.
	Points int
	// InputBytes, moved outwards to a grid; [AnchorBytes] twice where no size is known.
	InputBytes Range
	// ScaleOuts and Seconds are those of the points.
	ScaleOuts, Seconds Range
	// Arguments in the order of the weights.
	Arguments []ArgumentExtent
}

// AnchorBytes stands for an input size where none is known.
const AnchorBytes = anchorBytes

// Range has both ends.
type Range struct{ Least, Largest float64 }

// ArgumentExtent is the range of an argument's numbers, moved outwards to a grid;
// nothing is known of texts.
type ArgumentExtent struct {
	predict.WeightArgument
	Range
}

// ExtentOf reads the extent of weights that pass [CheckWeights].
func ExtentOf(w *predict.Weights) (*Extent, error) {
	g, e, err := parse(w)
	if err != nil {
		return nil, err
	}
	v := g.virtual
	out := &Extent{
		Points:     len(v.x),
		InputBytes: Range{anchorBytes * math.Exp(e.lowSize), anchorBytes * math.Exp(e.highSize)},
		ScaleOuts:  Range{slices.Min(v.x), slices.Max(v.x)},
		Seconds:    Range{math.Exp(slices.Min(v.value)), math.Exp(slices.Max(v.value))},
	}
	for i, a := range e.arguments {
		r := Range{a.low, a.high}
		if a.log {
			r = Range{math.Exp(a.low), math.Exp(a.high)}
		}
		if a.text {
			r = Range{}
		}
		out.Arguments = append(out.Arguments, ArgumentExtent{w.Arguments[i], r})
	}
	return out, nil
}
