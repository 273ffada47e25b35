// Package ernest predicts runtimes by Ernest's parametric scale-out model
// (Venkataraman et al., NSDI 2016, section 3.2): a non-negative combination of what
// is serial, what is parallel, what a tree aggregation takes and what a machine
// costs. It knows the runs of one context only; the history is not used.
package ernest

import (
	"context"
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

// Terms is the number of coefficients.
const Terms = 4

// features of a scale-out: [1, 1/x, ln x, x]. The input size of a context does not
// vary, so that it would scale all of them alike.
func features(x float64) [Terms]float64 { return [Terms]float64{1, 1 / x, math.Log(x), x} }

// Learner fits Ernest.
type Learner struct {
	// Relative weighs squared errors by the squared runtime, which the mean relative
	// error rewards. The paper minimises absolute errors.
	Relative bool
}

// Name implements [predict.Learner].
func (l Learner) Name() string {
	if l.Relative {
		return "ernest-relative"
	}
	return "ernest"
}

// Fit implements [predict.Learner]: there is nothing to learn from other contexts.
func (l Learner) Fit(_ context.Context, history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	return general{l.Relative}, nil
}

type general struct{ relative bool }

// Weights implements [predict.General].
func (general) Weights() (*predict.Weights, error) { return nil, predict.ErrNotPortable }

// Condition implements [predict.General]. It wraps [predict.ErrNoRuns] without runs.
func (g general) Condition(target predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	return Fit(runs, g.relative)
}

// Model is a fitted curve: Coefficients, none negative, in seconds.
type Model struct {
	Coefficients [Terms]float64
	// Residual is the root mean squared residual of ln(runtime).
	Residual float64
}

// minResidual is the noise of a run that few runs do not show.
const minResidual = .05

// Fit returns the curve with the least squared error. It wraps [predict.ErrNoRuns]
// without runs.
func Fit(runs []predict.Observation, relative bool) (*Model, error) {
	if len(runs) == 0 {
		return nil, predict.ErrNoRuns
	}
	if err := predict.ValidateRuns(runs); err != nil {
		return nil, err
	}
	a, b := make([][]float64, len(runs)), make([]float64, len(runs))
	for i, r := range runs {
		f, w := features(float64(r.ScaleOut)), 1.
		if relative {
			w = 1 / r.RuntimeSeconds
		}
		a[i] = make([]float64, Terms)
		for j := range f {
			a[i][j] = f[j] * w
		}
		b[i] = r.RuntimeSeconds * w
	}
	m := &Model{Coefficients: [Terms]float64(NNLS(a, b))}
	for _, r := range runs {
		d := math.Log(m.Seconds(r.ScaleOut) / r.RuntimeSeconds)
		m.Residual += d * d / float64(len(runs))
	}
	m.Residual = max(math.Sqrt(m.Residual), minResidual)
	return m, nil
}

// Seconds returns the runtime at a scale-out, above zero.
func (m *Model) Seconds(scaleOut int) float64 {
	var s float64
	for i, f := range features(float64(scaleOut)) {
		s += m.Coefficients[i] * f
	}
	return max(s, 1e-3)
}

// Predict implements [predict.Predictor].
func (m *Model) Predict(scaleOut int) (predict.Distribution, error) {
	if err := predict.ValidateScaleOut(scaleOut); err != nil {
		return predict.Distribution{}, err
	}
	return predict.NewDistribution(math.Log(m.Seconds(scaleOut)), m.Residual, predict.MaxFreedom)
}
