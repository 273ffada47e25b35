package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// assumedUtilisation is where between idle and full power a node is taken to run:
// the average that the Cloud Carbon Footprint methodology assumes where no
// utilisation is measured. It scales all machine types alike, so only the ratio
// of idle to full power makes it matter for a ranking.
const assumedUtilisation = 0.5

const secondsPerHour = 3600

// MaxObjectives is how many a Pareto search takes.
const MaxObjectives = 3

// Objectives lists all, the default first.
func Objectives() []Objective { return []Objective{Cost, Runtime, Energy, Carbon} }

// Valid says whether o is one of the objectives that this package knows.
func (o Objective) Valid() bool { return slices.Contains(Objectives(), o) }

// Unit returns the unit of the objective's values.
func (o Objective) Unit() string {
	switch o {
	case Cost:
		return "USD"
	case Runtime:
		return "s"
	case Energy:
		return "Wh"
	case Carbon:
		return "g CO2e"
	}
	return ""
}

// ParseObjectives reads one objective, or up to [MaxObjectives] different ones
// separated by commas. The error wraps [ErrUnknownObjective] or [model.ErrInvalid].
func ParseObjectives(s string) ([]Objective, error) {
	var out []Objective
	for name := range strings.SplitSeq(s, ",") {
		o := Objective(strings.ToLower(strings.TrimSpace(name)))
		switch {
		case !o.Valid():
			return nil, fmt.Errorf("objective %q, want one or up to %d of cost, runtime, energy, carbon: %w", name, MaxObjectives, ErrUnknownObjective)
		case slices.Contains(out, o):
			return nil, fmt.Errorf("objective %s appears twice: %w", o, model.ErrInvalid)
		}
		out = append(out, o)
	}
	if len(out) > MaxObjectives {
		return nil, fmt.Errorf("%d objectives, at most %d: %w", len(out), MaxObjectives, model.ErrInvalid)
	}
	return out, nil
}

// objectives returns those of the problem, one or several.
func (p *Problem) objectives() []Objective {
	if len(p.Objectives) > 0 {
		return p.Objectives
	}
	return []Objective{p.Objective}
}

// watts returns the power of one node at its utilisation, [assumedUtilisation]
// where that is unknown; 0 is unknown.
func (c *Candidate) watts() float64 {
	if !(c.IdleWatts > 0 && c.FullWatts > 0) {
		return 0
	}
	u := assumedUtilisation
	if c.Utilisation > 0 {
		u = min(c.Utilisation, 1)
	}
	return c.IdleWatts + u*(c.FullWatts-c.IdleWatts)
}

// LogOffset returns the natural log of the objective per second of runtime on the
// candidate: cost in USD, energy in Wh, carbon in g CO2e, runtime in seconds (0).
// It is false where the catalog knows no price, power or grid: unknown is never zero.
func (c *Candidate) LogOffset(o Objective) (offset float64, known bool) {
	var rate float64
	switch o {
	case Runtime:
		return 0, true
	case Cost:
		rate = c.USDPerHour
	case Energy:
		rate = c.watts()
	case Carbon:
		rate = c.watts() / 1000 * c.GramsPerKWh
	}
	offset = math.Log(rate * float64(c.Configuration.ScaleOut) / secondsPerHour)
	known = rate > 0 && !math.IsInf(offset, 0) && !math.IsNaN(offset)
	if !known {
		return 0, false
	}
	return offset, true
}

// logOffsets returns ln(objective) - ln(runtime in seconds) of each of the N
// candidates, for the first objective. Where known is false the offset is 0 and
// must not be used: one of the objectives is unknown there.
// The error says what is unknown where no candidate is known.
func logOffsets(p *Problem) (offset []float64, known []bool, err error) {
	all, known, err := objectiveOffsets(p)
	if err != nil {
		return nil, nil, err
	}
	return all[0], known, nil
}

// objectiveOffsets is logOffsets for every objective: objectives x N.
func objectiveOffsets(p *Problem) (offset [][]float64, known []bool, err error) {
	if len(p.Candidates) == 0 {
		return nil, nil, ErrNoCandidates
	}
	known = make([]bool, len(p.Candidates))
	for i := range known {
		known[i] = true
	}
	for _, o := range p.objectives() {
		if !o.Valid() {
			return nil, nil, fmt.Errorf("objective %q: %w", o, ErrUnknownObjective)
		}
		row := make([]float64, len(p.Candidates))
		for i := range p.Candidates {
			var ok bool
			row[i], ok = p.Candidates[i].LogOffset(o)
			known[i] = known[i] && ok
		}
		offset = append(offset, row)
		if !slices.Contains(known, true) {
			return nil, nil, unknownObjective(p, o)
		}
	}
	return offset, known, nil
}

func unknownObjective(p *Problem, o Objective) error {
	switch o {
	case Energy:
		return ErrUnknownPower
	case Carbon:
		if slices.ContainsFunc(p.Candidates, func(c Candidate) bool { return c.watts() > 0 }) {
			return ErrUnknownGrid
		}
		return ErrUnknownPower
	}
	return ErrUnknownPrice
}
