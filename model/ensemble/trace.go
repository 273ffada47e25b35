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
	// Bound marks runs that were stopped: their log runtime is at least what is given.
	// nil is none.
	Bound []bool
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
	if t.Bound != nil && len(t.Bound) != len(t.Points) {
		return fmt.Errorf("%w: a support with %d points and %d marks of bounds", ErrInvalid, len(t.Points), len(t.Bound))
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
	// at are n positions in the kernel table; y are n log runtimes.
	at []int
	y  []float64
	// noise are n variances.
	noise []float64
	// noiseBefore[i] is -1/2 the sum of the logs of the first i of them: what these
	// runs' log density is at most, without its constant.
	noiseBefore []float64
	// bound is as in [Trace], until resolveBounds.
	bound []bool
	// prior is the prior mean of the shape.
	prior []float64
	// mean is what stands for the level; residual is y - mean - prior.
	mean     float64
	residual []float64
	centred  bool
	// g is the covariance of the runs' shape.
	g gram
	// alone is the log evidence of y with a level of its own.
	alone float64
	// fits are of the series by itself, one a shape scale.
	fits []fit
}

// fit is a series conditioned on by itself at one shape scale.
type fit struct {
	// factor is the Cholesky factor of the covariance, n x n; logDiag the sum of the
	// logs of its diagonal.
	factor  []float64
	logDiag float64
	// solved is L^-1 residual, ones L^-1 1.
	solved, ones []float64
	// log is the log evidence.
	log float64
}

// newSeries places a trace's runs in the kernel table. [evaluator.fit] is to follow,
// once all are placed.
func (e *evaluator) newSeries(t *Trace, center []float64) *series {
	s := &series{y: t.LogRuntime, noise: t.NoiseVar, centred: t.Centred, mean: stat.Mean(t.LogRuntime, nil)}
	if s.noise == nil {
		s.noise = make([]float64, len(t.Points))
		floats.AddConst(e.p.NoiseSD*e.p.NoiseSD, s.noise)
	}
	s.at, s.prior = make([]int, len(t.Points)), make([]float64, len(t.Points))
	for i, q := range t.Points {
		x := Features(q)
		floats.Sub(x, center)
		s.at[i], s.prior[i] = e.table.position(x), e.prior.mean(x)
	}
	s.residual = s.residuals()
	if e.p.TimeoutsAreBounds {
		s.bound = t.early()
	}
	return s
}

// early returns which runs were stopped before the time that another one took; nil is none.
func (t *Trace) early() []bool {
	longest := math.Inf(-1)
	for i, bounded := range t.Bound {
		if !bounded {
			longest = max(longest, t.LogRuntime[i])
		}
	}
	var early []bool
	for i, bounded := range t.Bound {
		if bounded && t.LogRuntime[i] < longest {
			if early == nil {
				early = make([]bool, len(t.Bound))
			}
			early[i] = true
		}
	}
	return early
}

// residuals returns y - mean - prior.
func (s *series) residuals() []float64 {
	r := make([]float64, len(s.y))
	floats.SubTo(r, s.y, s.prior)
	floats.AddConst(-s.mean, r)
	return r
}

// pool joins series of one workload (or of a class), in order, and reduces them to
// distinct configurations. Where any has no level of its own, each is centred first.
func (e *evaluator) pool(all []*series) (*series, error) {
	if len(all) == 1 && all[0].isDistinct() {
		return all[0], nil
	}
	out := &series{}
	for _, s := range all {
		out.centred = out.centred || s.centred
	}
	for _, s := range all {
		out.at, out.noise, out.prior = append(out.at, s.at...), append(out.noise, s.noise...), append(out.prior, s.prior...)
		shift := 0.
		if out.centred {
			shift = s.mean
		}
		for _, v := range s.y {
			out.y = append(out.y, v-shift)
		}
	}
	out.mean = stat.Mean(out.y, nil)
	out = out.distinct()
	out.residual = out.residuals()
	return out, e.fit(out)
}

func (s *series) isDistinct() bool {
	seen := make(map[int]bool, len(s.at))
	for _, p := range s.at {
		seen[p] = true
	}
	return len(seen) == len(s.at)
}

// distinct reduces a series to one run a configuration: several are exactly
// equivalent to their precision-weighted mean. The mean stays that of all runs.
func (s *series) distinct() *series {
	out := &series{mean: s.mean, centred: s.centred}
	where := make(map[int]int, len(s.at))
	for i, p := range s.at {
		j, ok := where[p]
		if !ok {
			where[p] = len(out.at)
			out.at, out.y, out.noise, out.prior = append(out.at, p), append(out.y, s.y[i]), append(out.noise, s.noise[i]), append(out.prior, s.prior[i])
			continue
		}
		// Noise of j falls with every run, so it is the weight so far.
		share := out.noise[j] / (out.noise[j] + s.noise[i])
		out.y[j] += share * (s.y[i] - out.y[j])
		out.noise[j] *= 1 - share
	}
	return out
}
