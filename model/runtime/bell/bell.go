// Package bell predicts runtimes as Bell does (Thamsen et al., IPCCC 2016): of a
// parametric model (Ernest) and a non-parametric one (local regression) it takes the
// one that cross-validation on the own runs prefers. It knows the runs of one
// context only; the history is not used.
package bell

import (
	"context"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/ernest"
)

// MinScaleOuts is the number of scale-outs from which on there is a choice: leaving
// one out leaves two, which make a line.
const MinScaleOuts = 3

// Learner fits Bell.
type Learner struct{}

// Name implements [predict.Learner].
func (Learner) Name() string { return "bell" }

// Fit implements [predict.Learner]: there is nothing to learn from other contexts.
func (Learner) Fit(_ context.Context, history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	return general{}, nil
}

type general struct{}

// Weights implements [predict.General].
func (general) Weights() (*predict.Weights, error) { return nil, predict.ErrNotPortable }

// Condition implements [predict.General]. It wraps [predict.ErrNoRuns] without runs.
func (general) Condition(target predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	parametric, err := ernest.Fit(runs, false)
	if err != nil {
		return nil, err
	}
	s := predict.Summarise(runs)
	if len(s) < MinScaleOuts {
		return parametric, nil
	}
	var errParametric, errLocal float64
	for i, left := range s {
		rest := slices.Delete(slices.Clone(s), i, i+1)
		p, err := ernest.Fit(observations(rest), false)
		if err != nil {
			return nil, err
		}
		errParametric += math.Abs(math.Log(p.Seconds(left.ScaleOut) / left.MedianSeconds))
		errLocal += math.Abs(math.Log(newLocal(rest).seconds(float64(left.ScaleOut)) / left.MedianSeconds))
	}
	if errParametric <= errLocal {
		return parametric, nil
	}
	l := newLocal(s)
	l.residual = max(minResidual, errLocal/float64(len(s)))
	return l, nil
}

func observations(s []predict.Summary) []predict.Observation {
	out := make([]predict.Observation, len(s))
	for i, v := range s {
		out[i] = predict.Observation{ScaleOut: v.ScaleOut, RuntimeSeconds: v.MedianSeconds}
	}
	return out
}
