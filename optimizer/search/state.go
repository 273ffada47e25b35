package search

import "math"

// The streams of random numbers that are drawn from a problem's seed.
const (
	randomStream = 1
	designStream = 2
)

// state is what every method needs of a problem and its observations.
type state struct {
	problem *Problem
	history *history
	// offset and known are as of logOffsets, one entry a candidate; offsets is of all
	// objectives, objectives x candidates.
	offset  []float64
	offsets [][]float64
	known   []bool
	// logTarget is in ln seconds; +Inf without a target.
	logTarget float64
	// limit is logLimits: what a run's log runtime must not exceed, a candidate.
	limit []float64
	// open has one entry a candidate: it may be suggested.
	open []bool
	// incumbent is the valid candidate of least observed objective; -1 for none.
	incumbent int
	// best is the incumbent's log objective; +Inf for none.
	best float64
}

// newState validates the problem and aggregates the observations.
func newState(p *Problem, observed []Observation) (*state, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := &state{problem: p, logTarget: p.logTarget(), incumbent: -1, best: math.Inf(1)}
	var err error
	if s.offsets, s.known, err = objectiveOffsets(p); err != nil {
		return nil, err
	}
	s.offset = s.offsets[0]
	if s.limit, err = logLimits(p, s.known); err != nil {
		return nil, err
	}
	if s.history, err = newHistory(p, observed); err != nil {
		return nil, err
	}
	s.open = make([]bool, len(p.Candidates))
	for i := range s.open {
		s.open[i] = s.known[i] && !s.history.tried[i]
	}
	for i := range s.history.points {
		pt := &s.history.points[i]
		c := pt.candidate
		if c < 0 || !s.known[c] || !pt.meets(s.limit[c]) {
			continue
		}
		if v := pt.logRuntime + s.offset[c]; v < s.best {
			s.incumbent, s.best = c, v
		}
	}
	return s, nil
}
