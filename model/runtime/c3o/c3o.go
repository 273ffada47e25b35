package c3o

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/runtime"
)

const (
	// cvFolds of the choice between models.
	cvFolds = 10
	// MinChoice is the number of points from which on there is a choice; below it
	// counts Ernest.
	MinChoice = 3
	// rechoose is the number of points up to which the choice is made anew with the
	// runs of the target, since these are a good part of what is known.
	rechoose = 30
)

// Learner fits C3O.
type Learner struct{}

// Name implements [predict.Learner].
func (Learner) Name() string { return "c3o" }

// Fit implements [predict.Learner].
func (Learner) Fit(ctx context.Context, history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	g := &general{history: history}
	if points := newFeatures(history).points(history); len(points) > 0 {
		var err error
		if g.choice, err = choose(points); err != nil {
			return nil, err
		}
	}
	return g, ctx.Err()
}

type general struct {
	history []predict.History
	choice  choice
}

// choice of a model, with the mean absolute error of ln(runtime) that it had.
type choice struct {
	kind  kind
	error float64
}

// Weights implements [predict.General]: trees tell of single runs.
func (*general) Weights() (*predict.Weights, error) { return nil, predict.ErrNotPortable }

// Refit implements [predict.Refitter]: the choice stays.
func (g *general) Refit(history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	return &general{history, g.choice}, nil
}

// Condition implements [predict.General].
func (g *general) Condition(target predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	if err := predict.ValidateRuns(runs); err != nil {
		return nil, err
	}
	history := slices.Concat(g.history, []predict.History{{Context: target, Runs: runs}})
	f := newFeatures(history)
	points := f.points(history)
	if len(points) == 0 {
		return nil, predict.ErrNoRuns
	}
	c := g.choice
	if len(points) <= rechoose {
		var err error
		if c, err = choose(points); err != nil {
			return nil, err
		}
	}
	fn, err := fit(c.kind, points)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", predict.ErrNumeric, err)
	}
	return &predictor{fn, f.of(target), max(c.error, minResidual)}, nil
}

// choose returns the model with the lowest error in cross-validation over points.
func choose(points []point) (choice, error) {
	if len(points) < MinChoice {
		return choice{parametric, minResidual}, nil
	}
	best := choice{error: math.Inf(1)}
	folds := min(cvFolds, len(points))
	for k := range kinds {
		var sum float64
		for f := range folds {
			var train, test []point
			for i, p := range points {
				if i%folds == f {
					test = append(test, p)
				} else {
					train = append(train, p)
				}
			}
			fn, err := fit(k, train)
			if err != nil {
				return best, fmt.Errorf("%w: %w", predict.ErrNumeric, err)
			}
			for i := range test {
				sum += math.Abs(math.Log(fn(&test[i]) / test[i].seconds))
			}
		}
		if e := sum / float64(len(points)); e < best.error {
			best = choice{k, e}
		}
	}
	return best, nil
}

// minResidual is the noise of a run that few runs do not show.
const minResidual = .03

type predictor struct {
	f       fitted
	context []float64
	error   float64
}

// laplaceFreedom makes the tails of a distribution of which a mean absolute error is
// known about as heavy as errors of trees are.
const laplaceFreedom = 4

// Predict implements [predict.Predictor].
func (p *predictor) Predict(scaleOut int) (predict.Distribution, error) {
	if err := predict.ValidateScaleOut(scaleOut); err != nil {
		return predict.Distribution{}, err
	}
	v := p.f(&point{scaleOut: float64(scaleOut), context: p.context})
	return predict.NewDistribution(math.Log(v), p.error, laplaceFreedom)
}
