package search

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/ensemble"
	"github.com/karasu-project/karasu/model/gp"
)

// gaussian holds a posterior mean and variance of log runtime, one entry a
// candidate: what the Gaussian-process methods make of their observations.
type gaussian struct{ mean, variance []float64 }

// mixture is the same as a mixture of one.
func (g gaussian) mixture() *ensemble.Mixture {
	return &ensemble.Mixture{Weight: []float64{1}, Mean: [][]float64{g.mean}, Variance: [][]float64{g.variance}, Origin: make([][]int, 1)}
}

// priorLevelSD is of the mean log runtime around the target before any run: people
// ask for runtimes that are within reach, to a factor of two.
const priorLevelSD = 0.7

// prior is what is known before the first run with a runtime.
func (s *state) prior() gaussian {
	level, sd := s.logTarget, priorLevelSD
	if math.IsInf(level, 1) {
		level, sd = defaultLogRuntime, freeLevelSD
	}
	g := gaussian{make([]float64, len(s.open)), make([]float64, len(s.open))}
	for i := range g.mean {
		g.mean[i], g.variance[i] = level, sd*sd
	}
	return g
}

// features returns the N x d features of the candidates in row-major order.
func (s *state) features() []float64 {
	x := make([]float64, 0, len(s.open)*gp.FeatureDimensions)
	for i := range s.problem.Candidates {
		c := &s.problem.Candidates[i]
		x = gp.AppendFeatures(x, c.Configuration, c.Resources)
	}
	return x
}

// fit returns the process on the n > 0 configurations with a runtime, also those
// that are no candidates today. A stopped run counts with the time that it ran. Of
// more than [gp.MaxInputs], the last ones count.
func (s *state) fit() (*gp.GP, error) {
	points := s.history.points
	points = points[max(0, len(points)-gp.MaxInputs):]
	x, y := make([]float64, 0, len(points)*gp.FeatureDimensions), make([]float64, 0, len(points))
	for i := range points {
		x = gp.AppendFeatures(x, points[i].configuration, points[i].resources)
		y = append(y, points[i].logRuntime)
	}
	g, err := gp.Fit(x, gp.FeatureDimensions, y)
	if err != nil {
		return nil, fmt.Errorf("surrogate of %d configurations: %w", len(y), err)
	}
	return g, nil
}

// evaluate returns the evaluation that follows from the posterior, without weights
// and before any stop rule. The acquisition function is expected improvement of the
// log objective times the probability of keeping to target and budget (CherryPick, NSDI
// 2017, section 3.3), or of several objectives the expected hypervolume improvement; in
// both cases times the probability of success where larger configurations failed.
func (s *state) evaluate(g gaussian) *Evaluation {
	m := g.mixture()
	answers, aims := s.answers(m, runNoiseSD), s.aims(runNoiseSD)
	e := &Evaluation{Incumbent: s.bestAnswer(answers)}
	var improvement []float64
	if len(s.problem.Objectives) > 0 {
		e.Front = s.observedFront(answers)
		improvement = s.newPareto(m, answers).expectedImprovement(s, m, aims)
	} else {
		improvement = s.constrained(g, aims, e.Incumbent)
	}
	for i := range improvement {
		improvement[i] *= s.history.success[i]
	}
	e.Predictions = predictions(m, improvement, s.limit, runNoiseSD)
	s.doubtFailures(e.Predictions)
	e.Next = argmaxOpen(s, improvement, m)
	return e
}

// constrained is the acquisition function of one objective. While no valid run is
// known, any that keeps to its limits is worth [headroom], so that the most likely one
// is tried. (Before the first runtime nothing is known but a shape, and that would
// always be the largest one.)
func (s *state) constrained(g gaussian, aims []float64, incumbent int) []float64 {
	out := make([]float64, len(s.open))
	reference := s.reference(g, incumbent)
	for i := range out {
		if !s.known[i] {
			continue
		}
		mean, sd := g.mean[i], math.Sqrt(g.variance[i])
		feasible := 1.0
		if !math.IsInf(aims[i], 1) {
			feasible = ensemble.NormalCDF((aims[i] - mean) / sd)
			if incumbent < 0 && len(s.history.points) > 0 {
				out[i] = headroom * feasible
				continue
			}
		}
		c := reference - s.offset[i] // the log runtime at which it would equal the reference
		z := (c - mean) / sd
		out[i] = feasible * max(0, (c-mean)*ensemble.NormalCDF(z)+sd*ensemble.NormalPDF(z))
	}
	return out
}

// reference is the log objective to improve on: the incumbent's, or without one more
// than any candidate is predicted to have.
func (s *state) reference(g gaussian, incumbent int) float64 {
	if incumbent >= 0 {
		return s.observedLog(incumbent) + s.offset[incumbent]
	}
	worst := math.Inf(-1)
	for i, known := range s.known {
		if known {
			worst = max(worst, g.mean[i]+s.offset[i])
		}
	}
	return worst + headroom
}

// InitialDesign is the reason of a suggestion that is a point of the initial design: its
// acquisition has no part in it.
const InitialDesign = "initial design"

// minModelRuns is the number of runs before which CherryPick does not stop (NSDI
// 2017, section 4.4). The threshold is the other methods', so that they compare.
const minModelRuns = 6

// finish suggests a design point while there are fewer than design runs, or none
// with a runtime, and applies the stop rule otherwise. A design of 0 is none.
func (s *state) finish(e *Evaluation, g gaussian, design int) {
	switch {
	case e.Next < 0:
		decideStop(e, s)
	case design > 0 && (s.history.runs < design || len(s.history.points) == 0):
		e.Next = s.designPoint()
		e.Reason = InitialDesign
	case s.history.runs < minModelRuns:
		e.Reason = fmt.Sprintf("fewer than %d runs", minModelRuns)
	case len(s.problem.Objectives) > 0:
		s.newPareto(g.mixture(), s.answers(g.mixture(), runNoiseSD)).decideStop(e, s)
	default:
		decideStop(e, s)
	}
	s.giveUp(e, g.mixture(), runNoiseSD)
}
