package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

// minHypervolumeGain is the expected gain, as a share of the hypervolume so far,
// below which a Pareto search stops. Some 5% of one objective, where the reference
// point is about two nats away.
const minHypervolumeGain = 0.02

// coarseWeight is a hypothesis' weight below which it is left out of the expected
// hypervolume improvement: all of them together move it by less than a millionth.
const coarseWeight = 1e-9

// paretoState is what a Pareto search adds to the state, in log objectives.
type paretoState struct {
	// front is points x objectives, by posterior mean; reference bounds it.
	front     [][]float64
	reference []float64
}

// newPareto takes the answers so far and the mixture. The reference point is, an
// objective, the worst that a candidate would have with a run at its limit plus
// headroom; where nothing limits a candidate, with a run as long as expected.
func (s *state) newPareto(m *ensemble.Mixture, answers []int) *paretoState {
	p := &paretoState{}
	points := make([][]float64, 0, len(answers))
	for _, c := range answers {
		points = append(points, s.objectivesAt(c, m.MeanAt(c)))
	}
	for _, i := range NonDominated(points) {
		p.front = append(p.front, points[i])
	}
	for k := range s.offsets {
		worst := math.Inf(-1)
		for i, known := range s.known {
			if known {
				t := s.limit[i]
				if math.IsInf(s.logTarget, 1) {
					t = min(t, m.MeanAt(i))
				}
				worst = max(worst, s.offsets[k][i]+t)
			}
		}
		p.reference = append(p.reference, worst+headroom)
	}
	return p
}

// objectivesAt returns the log objectives of a run of log runtime t.
func (s *state) objectivesAt(candidate int, t float64) []float64 {
	y := make([]float64, len(s.offsets))
	for k := range y {
		y[k] = s.offsets[k][candidate] + t
	}
	return y
}

// expectedImprovement is the expected hypervolume improvement by a run on each open
// candidate, averaged over the mixture; runs above their aim count nothing.
func (p *paretoState) expectedImprovement(s *state, m *ensemble.Mixture, aims []float64) []float64 {
	out := make([]float64, len(aims))
	for i := range out {
		if !s.open[i] {
			continue
		}
		l := newLine(s.objectivesAt(i, 0), p.front, p.reference)
		for h, w := range m.Weight {
			if w >= coarseWeight {
				out[i] += w * l.expected(m.Mean[h][i], math.Sqrt(m.Variance[h][i]), aims[i])
			}
		}
	}
	return out
}

// observedFront returns the answers that no other dominates, by what their runs
// showed, in rising order of the first objective.
func (s *state) observedFront(answers []int) []int {
	points := make([][]float64, 0, len(answers))
	for _, c := range answers {
		points = append(points, s.objectivesAt(c, s.observedLog(c)))
	}
	front := NonDominated(points)
	slices.SortFunc(front, func(a, b int) int { return cmp.Compare(points[a][0], points[b][0]) })
	out := make([]int, len(front))
	for i, k := range front {
		out[i] = answers[k]
	}
	return out
}

// observedLog is the log runtime observed on a candidate.
func (s *state) observedLog(candidate int) float64 {
	for i := range s.history.points {
		if pt := &s.history.points[i]; pt.candidate == candidate {
			return pt.logRuntime
		}
	}
	return math.NaN()
}

// bestAnswer is the answer of smallest first objective, as observed; -1 is none.
func (s *state) bestAnswer(answers []int) int {
	best, at := math.Inf(1), -1
	for _, c := range answers {
		if v := s.offset[c] + s.observedLog(c); v < best {
			best, at = v, c
		}
	}
	return at
}

// improvement is the acquisition function: expected improvement of the one
// objective, or expected hypervolume improvement of several, whose state is then
// returned too. level is the prior mean log runtime.
func (s *state) improvement(m *ensemble.Mixture, answers []int, level, noiseSD float64) ([]float64, *paretoState) {
	aims := s.aims(noiseSD)
	if len(s.problem.Objectives) == 0 {
		return expectedImprovement(m, incumbentObjective(s, level, m, answers), aims, s.offset, s.known), nil
	}
	p := s.newPareto(m, answers)
	return p.expectedImprovement(s, m, aims), p
}

// decideStop replaces the stop rule's threshold: less than minHypervolumeGain of the
// hypervolume so far to expect of one more run.
func (p *paretoState) decideStop(e *Evaluation, s *state) {
	if e.Next < 0 || s.history.runs < minRuns || e.Incumbent < 0 {
		return
	}
	share := e.Predictions[e.Next].Acquisition / Hypervolume(p.front, p.reference)
	e.Stop = !(share >= minHypervolumeGain)
	e.Reason = fmt.Sprintf("one more run is expected to widen the front's hypervolume by %.1f%%", 100*share)
	if e.Stop {
		e.Reason += fmt.Sprintf(", less than %.0f%%", 100*minHypervolumeGain)
	}
}
