package checkpoint

import "fmt"

// Mixed is a cut for both objectives.
type Mixed struct {
	Cut
	// Freed is the share of the job's temporary byte-seconds that the cut frees, Saved the
	// share of the work lost by a failure that it saves.
	Freed, Saved float64
	// Score is the weighted mean of the two, and Bound what no cut's is above.
	Score, Bound float64
	Exact        bool
}

// Mix finds a cut with a high weight x Freed + (1 - weight) x Saved. It looks at all cuts
// of graphs that have few, and otherwise at those that are best for one objective or
// the other at some time; the bound is that of each objective on its own.
// Errors: ErrOption.
func Mix(g *Graph, p Problem, f Failures, weight float64) (Mixed, error) {
	if !(weight >= 0 && weight <= 1) {
		return Mixed{}, fmt.Errorf("weight of %g: must be between 0 and 1: %w", weight, ErrOption)
	}
	plan, err := PlanRestart(g, p, f, 1)
	if err != nil {
		return Mixed{}, err
	}
	best, err := bounded(g, p)
	if err != nil {
		return Mixed{}, err
	}
	v, err := p.values(g)
	if err != nil {
		return Mixed{}, err
	}
	width, err := bandwidth(p.Bandwidth)
	if err != nil {
		return Mixed{}, err
	}
	m := &mixer{v: v, f: f, weight: weight, width: width, all: g.ByteSeconds(p.HotspotsOnly), lost: plan.LostSeconds}
	s := &search{solver: solver{v: v, tolerance: rounding}}
	sets, every := s.releaseCuts(best, 1)
	every = every && !s.unconstrained() // there, only prefixes are listed
	for _, c := range sets {
		m.consider(c.in)
	}
	if !every {
		candidates, _ := s.restartCuts(width)
		for _, c := range candidates {
			m.consider(c.in)
		}
	}
	out := m.best
	out.Bound, out.Exact = out.Score, every
	if !every {
		saved := 1.0
		if plan.Exact {
			saved = plan.Reduction()
		}
		freed := 0.0
		if m.all > 0 {
			freed = best.Bound / m.all
		}
		out.Bound = max(out.Score, weight*freed+(1-weight)*saved)
		out.Exact = out.Score >= out.Bound*(1-2*rounding)
	}
	return out, nil
}

type mixer struct {
	v                        *values
	f                        Failures
	weight, width, all, lost float64
	best                     Mixed
}

// consider keeps a set if it is the best so far.
func (m *mixer) consider(in []bool) {
	c := m.v.cut(in)
	if len(c.Before) == 0 || c.DurableBytes > m.v.budget {
		return
	}
	g := m.v.g
	out := Mixed{Cut: c}
	if m.all > 0 {
		out.Freed = c.ByteSeconds / m.all
	}
	if ready := c.Seconds + c.DurableBytes/m.width; m.lost > 0 && ready < g.end {
		out.Saved = m.f.gain(m.v.resume.first, c.RestartSeconds, ready, g.end, g.end) / m.lost
	}
	out.Score = m.weight*out.Freed + (1-m.weight)*out.Saved
	if out.Score > m.best.Score {
		m.best = out
	}
}
