package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
)

// Constants of the stop rule.
const (
	// minRuns is how many runs there are at least before a search may stop.
	minRuns = 3
	// minImprovement is the expected improvement below which it stops: 4.5% of the
	// objective.
	minImprovement = 0.045
)

// Constants of a search without a runtime target, where nothing says how long the
// job takes.
const (
	// defaultLogRuntime is ln(600 s): profiling runs of minutes are usual.
	defaultLogRuntime = 6.4
	// freeLevelSD makes the level's prior irrelevant after one run.
	freeLevelSD = 3
)

// Evidence is the evidence-weighted ensemble with expected improvement: the
// default method. The zero value is not usable; see [NewEvidence].
type Evidence struct {
	params ensemble.Params
	cache  *ensembleCache
}

// NewEvidence returns the method with its default constants.
func NewEvidence() *Evidence { return NewEvidenceWith(ensemble.Default()) }

// NewEvidenceWith returns the method with other constants, such as
// [ensemble.Base]. Invalid ones are reported by Evaluate.
func NewEvidenceWith(p ensemble.Params) *Evidence {
	return &Evidence{params: p, cache: newEnsembleCache()}
}

// Name returns "evidence".
func (*Evidence) Name() string { return "evidence" }

// Evaluate implements [Method]. What does not depend on the observations is kept
// for the problems evaluated last, so that the next evaluation of the same
// problem only conditions on what is new.
func (m *Evidence) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	config := m.config(s)
	conditioned, release, err := m.cache.conditioned(m.params, config, s.history.points)
	if err != nil && len(config.Supports) > 0 {
		// No record of a peer may stop a search, whatever is in it.
		config = m.withoutBroken(config)
		conditioned, release, err = m.cache.conditioned(m.params, config, s.history.points)
	}
	if err != nil {
		return nil, fmt.Errorf("evidence ensemble: %w", err)
	}
	defer release()
	mixture, err := conditioned.Predict()
	if err != nil {
		return nil, fmt.Errorf("evidence ensemble: %w", err)
	}

	m.weighMetrics(mixture, s, observed, config)

	answers := s.answers(mixture, m.params.NoiseSD)
	level := config.LevelMean
	if b := config.Borrowed; b != nil {
		level += mixture.BorrowedShare() * (b.Mean - level)
	}
	improvement, pareto := s.improvement(mixture, answers, level, m.params.NoiseSD)
	for i := range improvement {
		improvement[i] *= s.history.success[i]
	}
	e := &Evaluation{
		Predictions: predictions(mixture, improvement, s.limit, m.params.NoiseSD),
		Weights:     shares(mixture, len(p.Supports), config.supports),
		OthersLevel: mixture.BorrowedShare(),
		Incumbent:   s.bestAnswer(answers),
		Next:        argmaxOpen(s, improvement, mixture),
	}
	s.doubtFailures(e.Predictions)
	s.calibrate(e.Predictions)
	if decideStop(e, s); pareto != nil {
		e.Front = s.observedFront(answers)
		pareto.decideStop(e, s)
	}
	s.giveUp(e, mixture, m.params.NoiseSD)
	return e, nil
}

// ensembleConfig is what an ensemble is built from, with the supports that were
// usable, as indices into Problem.Supports.
type ensembleConfig struct {
	ensemble.Config
	supports []int
}

func (m *Evidence) config(s *state) *ensembleConfig {
	p := s.problem
	c := &ensembleConfig{Config: ensemble.Config{InputBytes: p.InputBytes, LevelMean: s.logTarget}}
	if math.IsInf(s.logTarget, 1) {
		c.LevelMean, c.LevelSD = defaultLogRuntime, freeLevelSD
		if len(s.history.points) > 0 {
			c.LevelMean = s.history.points[0].logRuntime
		}
	}
	switch {
	case p.LevelSD > 0 && p.LevelDoubt > 0:
		c.Borrowed = &ensemble.Level{Mean: p.LevelMean, SD: p.LevelSD, Share: 1 - p.LevelDoubt}
	case p.LevelSD > 0:
		c.LevelMean, c.LevelSD = p.LevelMean, p.LevelSD
	}
	for i := range p.Candidates {
		c.Candidates = append(c.Candidates, ensemblePoint(p.Candidates[i].Configuration, p.Candidates[i].Resources))
	}
	for i := range s.history.points {
		if pt := &s.history.points[i]; pt.candidate < 0 {
			c.Outside = append(c.Outside, ensemblePoint(pt.configuration, pt.resources))
		}
	}
	for i := range p.Supports {
		if len(c.Supports) == MaxEvidenceSupports {
			break
		}
		t, ok := supportTrace(&p.Supports[i], p.Topic, m.params.NoiseSD)
		if ok && m.params.Mass[t.Class] > 0 {
			c.Supports, c.supports = append(c.Supports, t), append(c.supports, i)
		}
	}
	return c
}

// withoutBroken leaves out the supports with which no ensemble can be built.
func (m *Evidence) withoutBroken(c *ensembleConfig) *ensembleConfig {
	out := &ensembleConfig{Config: c.Config}
	out.Supports = nil
	for i, t := range c.Supports {
		alone := c.Config
		alone.Supports = []ensemble.Trace{t}
		if _, err := ensemble.New(m.params, alone); err == nil {
			out.Supports, out.supports = append(out.Supports, t), append(out.supports, c.supports[i])
		}
	}
	return out
}

func ensemblePoint(c model.Configuration, r model.Resources) ensemble.Point {
	return ensemble.Point{Nodes: float64(c.ScaleOut), CoresPerNode: r.VCPUs, GiBPerNode: r.MemoryGiB}
}

// classOf says how alike two topics are. Infrastructure does not count: what a
// configuration is made of is in its features.
func classOf(a, b model.Topic) ensemble.Class {
	framework, algorithm := a.Framework == b.Framework, a.Algorithm == b.Algorithm
	switch {
	case framework && algorithm:
		return ensemble.Same
	case framework || algorithm:
		return ensemble.Related
	}
	return ensemble.Unrelated
}

// supportTrace reads a summary as a trace. It is false where the summary is
// invalid or has no runtimes: such a support is ignored, since one bad record of
// a peer must not stop a search.
//
// A pseudonym tells workloads of one author apart: another author that uses it
// speaks of a workload of its own.
func supportTrace(support *Support, target model.Topic, noiseSD float64) (ensemble.Trace, bool) {
	s := &support.Summary
	if s.Validate() != nil {
		return ensemble.Trace{}, false
	}
	t := ensemble.Trace{Class: classOf(s.Topic, target), Workload: support.Author + "/" + s.Pseudonym, Centred: !s.Absolute}
	t.InputBytes = s.InputBytes()
	// Laplace noise of scale b has variance 2 b^2.
	variance := noiseSD*noiseSD + 2*s.NoiseScale*s.NoiseScale
	for _, q := range s.Points {
		if !q.Observed() {
			continue
		}
		t.Points = append(t.Points, ensemblePoint(q.Configuration, q.Resources))
		t.LogRuntime = append(t.LogRuntime, q.LogRuntime+s.Level)
		t.NoiseVar = append(t.NoiseVar, variance)
		// Where at least half of the runs were stopped, the median is of stopped ones.
		t.Bound = append(t.Bound, q.Timeout >= max(q.OK, 1))
	}
	return t, len(t.Points) > 0
}

// incumbentObjective is the log objective to improve on: the smallest posterior
// mean over the answers so far, or what a run at the target on the worst
// candidate would take, and more, where there is none.
func incumbentObjective(s *state, level float64, m *ensemble.Mixture, answers []int) float64 {
	best := math.Inf(1)
	for _, c := range answers {
		best = min(best, m.MeanAt(c)+s.offset[c])
	}
	if !math.IsInf(best, 1) {
		return best
	}
	if !math.IsInf(s.logTarget, 1) {
		level = s.logTarget
	}
	worst := math.Inf(-1)
	for i, known := range s.known {
		if known {
			worst = max(worst, s.offset[i]+min(level, s.limit[i]))
		}
	}
	return worst + headroom
}

// argmaxOpen returns the open candidate of largest improvement, the lowest index
// of equals; -1 where none is open. Where nothing promises any improvement, it is
// the one of smallest expected objective.
func argmaxOpen(s *state, improvement []float64, m *ensemble.Mixture) int {
	best := -1
	for i, open := range s.open {
		if open && (best < 0 || improvement[i] > improvement[best]) {
			best = i
		}
	}
	if best < 0 || improvement[best] > 0 {
		return best
	}
	cheapest := math.Inf(1)
	for i, open := range s.open {
		if open {
			if v := m.MeanAt(i) + s.offset[i]; v < cheapest {
				best, cheapest = i, v
			}
		}
	}
	return best
}

// decideStop applies the stop rule: at least minRuns runs, a valid one among them
// and less than minImprovement to expect of another.
func decideStop(e *Evaluation, s *state) {
	switch {
	case e.Next < 0:
		e.Stop, e.Reason = true, "every candidate has been tried"
	case s.history.runs < minRuns:
		e.Reason = fmt.Sprintf("fewer than %d runs", minRuns)
	case e.Incumbent < 0:
		e.Reason = "no valid run yet"
	case e.Predictions[e.Next].Acquisition < minImprovement:
		e.Stop = true
		e.Reason = fmt.Sprintf("one more run is expected to save %.1f%%, less than %.1f%%",
			100*max(0, e.Predictions[e.Next].Acquisition), 100*minImprovement)
	default:
		e.Reason = fmt.Sprintf("one more run is expected to save %.0f%%", 100*(1-math.Exp(-e.Predictions[e.Next].Acquisition)))
	}
}

// shares sums the weights of hypotheses by support. A pooled support's weight is
// split evenly between its traces.
func shares(m *ensemble.Mixture, supports int, usable []int) []Weight {
	own, level, of := 0., 0., make([]float64, supports)
	for h, w := range m.Weight {
		switch {
		case m.Origin[h] != nil:
		case m.Borrowed != nil && m.Borrowed[h]:
			level += w
		default:
			own += w
		}
		for _, t := range m.Origin[h] {
			of[usable[t]] += w / float64(len(m.Origin[h]))
		}
	}
	out := []Weight{{Support: OwnPrior, Share: min(own, 1)}}
	if level > 0 {
		out = append(out, Weight{Support: OthersLevel, Share: min(level, 1)})
	}
	for i, w := range of {
		if w > 0 {
			out = append(out, Weight{Support: i, Share: min(w, 1)})
		}
	}
	slices.SortStableFunc(out, func(a, b Weight) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// seconds is exp() of a log runtime, kept within a tenth of the shortest and ten
// times the longest runtime that a run may have.
func seconds(log float64) float64 {
	return math.Exp(min(max(log, math.Log(model.MinRuntime.Seconds()/10)), math.Log(10*model.MaxRuntime.Seconds())))
}
