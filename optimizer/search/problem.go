package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// MaxCandidates bounds a space. The exact computation keeps one N x n block a
// hypothesis, so thousands are fine; far more is a mistake in a catalog filter.
const MaxCandidates = 5000

// Validate checks the candidates, the objectives and the limits. Supports are
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
	case math.IsNaN(p.BudgetUSD) || p.BudgetUSD < 0 || math.IsInf(p.BudgetUSD, 0):
		return fmt.Errorf("budget of %g USD: %w", p.BudgetUSD, model.ErrInvalid)
	case p.LevelSD > 0 && !(p.LevelDoubt >= 0 && p.LevelDoubt < 1):
		return fmt.Errorf("doubt of the level must be at least 0 and below 1: %g: %w", p.LevelDoubt, model.ErrInvalid)
	case p.Confidence != 0 && !(p.Confidence >= .5 && p.Confidence < 1):
		return fmt.Errorf("confidence must be at least 0.5 and below 1: %g: %w", p.Confidence, model.ErrInvalid)
	case p.Confidence != 0 && p.Target == 0 && p.BudgetUSD == 0:
		return fmt.Errorf("a confidence needs a target or a budget to be confident of: %w", model.ErrInvalid)
	case len(p.Objectives) == 1 || len(p.Objectives) > MaxObjectives:
		return fmt.Errorf("a Pareto search has 2 to %d objectives, not %d: %w", MaxObjectives, len(p.Objectives), model.ErrInvalid)
	}
	for i, o := range p.objectives() {
		if !o.Valid() {
			return fmt.Errorf("objective %q: %w", o, ErrUnknownObjective)
		}
		if slices.Contains(p.objectives()[:i], o) {
			return fmt.Errorf("objective %s appears twice: %w", o, model.ErrInvalid)
		}
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
