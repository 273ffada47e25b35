package search

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model"
)

// MaxCandidates bounds a space. The exact computation keeps one N x n block a
// hypothesis, so thousands are fine; far more is a mistake in a catalog filter.
const MaxCandidates = 5000

// Validate checks the candidates, the objective and the target. Supports are
// checked where they are used: a bad one must not stop a search.
func (p *Problem) Validate() error {
	switch {
	case len(p.Candidates) == 0:
		return ErrNoCandidates
	case len(p.Candidates) > MaxCandidates:
		return fmt.Errorf("%d candidates, at most %d: %w", len(p.Candidates), MaxCandidates, model.ErrInvalid)
	case p.Target < 0:
		return fmt.Errorf("target %s is negative: %w", p.Target, model.ErrInvalid)
	case math.IsNaN(p.InputBytes) || p.InputBytes < 0 || p.InputBytes > model.MaxInputBytes:
		return fmt.Errorf("input size %g bytes: %w", p.InputBytes, model.ErrInvalid)
	case !p.Objective.Valid():
		return fmt.Errorf("objective %q: %w", p.Objective, ErrUnknownObjective)
	}
	seen := make(map[model.Configuration]bool, len(p.Candidates))
	for _, c := range p.Candidates {
		if err := c.Configuration.Validate(); err != nil {
			return fmt.Errorf("candidate %s: %w", c.Configuration, err)
		}
		if err := c.Resources.Validate(); err != nil {
			return fmt.Errorf("candidate %s: %w", c.Configuration, err)
		}
		if seen[c.Configuration] {
			return fmt.Errorf("candidate %s appears twice: %w", c.Configuration, model.ErrInvalid)
		}
		seen[c.Configuration] = true
	}
	return nil
}

// logTarget returns ln(target in seconds); +Inf without a target.
func (p *Problem) logTarget() float64 {
	if p.Target <= 0 {
		return math.Inf(1)
	}
	return math.Log(p.Target.Seconds())
}
