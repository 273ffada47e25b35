package ensemble

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Trace is what is known of one support workload from one source: its runs.
type Trace struct {
	Class Class
	// Workload tells workloads apart; traces of one are tested against each other
	// and pooled.
	Workload string
	// Points and LogRuntime (ln seconds, or centred where Shared is false) have
	// one entry a run. A configuration may appear more than once.
	Points     []Point
	LogRuntime []float64
	// NoiseVar is the variance of each log runtime as a measurement, above zero;
	// nil takes Params.NoiseSD squared for all.
	NoiseVar []float64
	// InputBytes is the input size; 0 is unknown.
	InputBytes float64
	// Centred says that LogRuntime has had its level removed, so that levels of
	// two traces cannot be compared.
	Centred bool
}

// Validate checks shapes and ranges for a target with extra features.
func (t *Trace) Validate(extra int) error {
	if t.Class < Unrelated || t.Class >= classes {
		return fmt.Errorf("%w: support class %d", ErrInvalid, t.Class)
	}
	if len(t.Points) == 0 || len(t.Points) != len(t.LogRuntime) {
		return fmt.Errorf("%w: a support with %d points and %d log runtimes", ErrInvalid, len(t.Points), len(t.LogRuntime))
	}
	if t.NoiseVar != nil && len(t.NoiseVar) != len(t.Points) {
		return fmt.Errorf("%w: a support with %d points and %d noise variances", ErrInvalid, len(t.Points), len(t.NoiseVar))
	}
	for _, v := range t.NoiseVar {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: a support's noise variance of %g", ErrInvalid, v)
		}
	}
	for i, q := range t.Points {
		if err := q.validate(extra); err != nil {
			return err
		}
		if v := t.LogRuntime[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: a support's log runtime of %g", ErrInvalid, v)
		}
	}
	return nil
}

// series is a trace in the target's coordinates.
type series struct {
	// x is n x d, centred like the target's candidates; y are n log runtimes.
	x [][]float64
	y []float64
	// noise are n variances.
	noise []float64
	// prior is the prior mean of the shape at x.
	prior []float64
	// g is the covariance of x with itself.
	g       gram
	centred bool
	// alone is the log evidence of y with a level of its own.
	alone float64
	// factors are the Cholesky factors behind alone, one a shape scale, n x n each.
	factors [][]float64
	// solved is L^-1 (y - mean(y) - prior), one a shape scale.
	solved [][]float64
	// logDiag is the sum of the logs of each factor's diagonal.
	logDiag []float64
}

func (e *evaluator) newSeries(t *Trace, center []float64) (*series, error) {
	x := make([][]float64, len(t.Points))
	for i, q := range t.Points {
		x[i] = Features(q)
		floats.Sub(x[i], center)
	}
	noise := t.NoiseVar
	if noise == nil {
		noise = make([]float64, len(x))
		floats.AddConst(e.p.NoiseSD*e.p.NoiseSD, noise)
	}
	return e.seriesOf(x, t.LogRuntime, noise, t.Centred)
}

func (e *evaluator) seriesOf(x [][]float64, y, noise []float64, centred bool) (*series, error) {
	s := &series{x: x, y: y, noise: noise, centred: centred, prior: make([]float64, len(x)), g: e.prior.symmetric(x)}
	for i := range x {
		s.prior[i] = e.prior.mean(x[i])
	}
	return s, e.evidenceAlone(s)
}

// pool concatenates series of one workload (or of a class), in order. Where any
// has no level of its own, each is centred first.
func (e *evaluator) pool(all []*series) (*series, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	centred := false
	for _, s := range all {
		centred = centred || s.centred
	}
	var x [][]float64
	var y, noise []float64
	for _, s := range all {
		x, noise = append(x, s.x...), append(noise, s.noise...)
		shift := 0.
		if centred {
			shift = stat.Mean(s.y, nil)
		}
		for _, v := range s.y {
			y = append(y, v-shift)
		}
	}
	return e.seriesOf(x, y, noise, centred)
}

// residual returns y - mean(y) - prior mean.
func (s *series) residual() []float64 {
	r := make([]float64, len(s.y))
	floats.SubTo(r, s.y, s.prior)
	floats.AddConst(-stat.Mean(s.y, nil), r)
	return r
}
