package search

import (
	"fmt"
	"math"
)

// assumedUtilisation is where between idle and full power a node is taken to run:
// the average that the Cloud Carbon Footprint methodology assumes where no
// utilisation is measured. It scales all machine types alike, so only the ratio
// of idle to full power makes it matter for a ranking.
const assumedUtilisation = 0.5

const secondsPerHour = 3600

// Valid says whether o is one of the objectives that this package knows.
func (o Objective) Valid() bool { return o == Cost || o == Runtime || o == Energy }

// watts returns the power of one node at [assumedUtilisation]; 0 is unknown.
func (c *Candidate) watts() float64 {
	if !(c.IdleWatts > 0 && c.FullWatts > 0) {
		return 0
	}
	return c.IdleWatts + assumedUtilisation*(c.FullWatts-c.IdleWatts)
}

// LogOffset returns the natural log of the objective per second of runtime on the
// candidate: cost in USD, energy in Wh, runtime in seconds (0). It is false where
// the catalog knows no price or no power: unknown is never zero.
func (c *Candidate) LogOffset(o Objective) (offset float64, known bool) {
	var rate float64
	switch o {
	case Runtime:
		return 0, true
	case Cost:
		rate = c.USDPerHour
	case Energy:
		rate = c.watts()
	}
	offset = math.Log(rate * float64(c.Configuration.ScaleOut) / secondsPerHour)
	known = rate > 0 && !math.IsInf(offset, 0) && !math.IsNaN(offset)
	if !known {
		return 0, false
	}
	return offset, true
}

// logOffsets returns ln(objective) - ln(runtime in seconds) of each of the N
// candidates. Where known is false the offset is 0 and must not be used.
// The error is [ErrUnknownPrice] or [ErrUnknownPower] where none is known.
func logOffsets(p *Problem) (offset []float64, known []bool, err error) {
	if !p.Objective.Valid() {
		return nil, nil, fmt.Errorf("objective %q: %w", p.Objective, ErrUnknownObjective)
	}
	offset, known = make([]float64, len(p.Candidates)), make([]bool, len(p.Candidates))
	found := false
	for i := range p.Candidates {
		offset[i], known[i] = p.Candidates[i].LogOffset(p.Objective)
		found = found || known[i]
	}
	switch {
	case found:
		return offset, known, nil
	case len(p.Candidates) == 0:
		return nil, nil, ErrNoCandidates
	case p.Objective == Energy:
		return nil, nil, ErrUnknownPower
	default:
		return nil, nil, ErrUnknownPrice
	}
}
