package advisor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// step says what a run is worth to its search.
func (a *Advisor) step(t *task, p *search.Problem, e *search.Evaluation, r *model.Run) *karasuv1.SearchStep {
	c := slices.IndexFunc(p.Candidates, func(c search.Candidate) bool { return c.Configuration == r.Configuration })
	step := &karasuv1.SearchStep{Run: wire.FromRun(*r), Outside: c < 0}
	if candidate, known := a.candidateOf(t, p.Candidates, c, r); known && r.RuntimeSeconds > 0 {
		value := func(o search.Objective) *float64 {
			offset, known := candidate.LogOffset(o)
			if !known {
				return nil
			}
			return ptr(math.Exp(offset) * r.RuntimeSeconds)
		}
		step.Objective = value(t.objective())
		step.CostUsd, step.EnergyWh, step.CarbonG = value(search.Cost), value(search.Energy), value(search.Carbon)
	}
	s := t.settings
	switch {
	case r.Outcome != model.OK:
	case p.Confidence > 0:
		step.Valid = c >= 0 && e.Predictions[c].MeetsTarget >= p.Confidence
	default:
		step.Valid = keeps(s, step)
	}
	return step
}

// keeps reports whether a run was completed within target and budget.
func keeps(s *karasuv1.SearchSettings, step *karasuv1.SearchStep) bool {
	return step.GetRun().GetOutcome() == karasuv1.Outcome_OUTCOME_OK &&
		(s.GetTargetSeconds() == 0 || step.GetRun().GetRuntimeSeconds() <= s.GetTargetSeconds()) &&
		(s.GetBudgetUsd() == 0 || step.CostUsd != nil && step.GetCostUsd() <= s.GetBudgetUsd())
}

// likely is the probability that another run on the configuration of r keeps to the
// limits; nil where it is no candidate.
func likely(p *search.Problem, e *search.Evaluation, r *model.Run) *float64 {
	c := slices.IndexFunc(p.Candidates, func(c search.Candidate) bool { return c.Configuration == r.Configuration })
	if c < 0 || e == nil {
		return nil
	}
	return &e.Predictions[c].MeetsTarget
}

// candidateOf is the candidate at index c that a run was on, or for c < 0 what the
// catalog knows of a configuration outside the candidates.
func (a *Advisor) candidateOf(t *task, candidates []search.Candidate, c int, r *model.Run) (search.Candidate, bool) {
	if c >= 0 {
		return candidates[c], true
	}
	m, err := a.Catalog.Lookup(t.workload.Infrastructure, r.Configuration.MachineType)
	return t.candidate(catalog.Choice{Configuration: r.Configuration, Machine: m}), err == nil
}

// front lists the valid runs that no other beats in every objective, by rising first
// objective; for one objective, those that are cheapest or fastest.
func front(t *task, steps []*karasuv1.SearchStep) []*karasuv1.SearchStep {
	objectives := t.objectives
	if len(objectives) == 1 {
		objectives = []search.Objective{search.Cost, search.Runtime}
	}
	var points [][]float64
	var of []*karasuv1.SearchStep
	for _, s := range steps {
		if point := values(s, objectives); s.GetValid() && !s.GetOutside() && point != nil {
			points, of = append(points, point), append(of, s)
		}
	}
	at := search.NonDominated(points)
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(points[i][0], points[j][0]) })
	out := make([]*karasuv1.SearchStep, len(at))
	for k, i := range at {
		out[k] = of[i]
	}
	return out
}

// values are a run's objectives; nil where one is unknown.
func values(s *karasuv1.SearchStep, objectives []search.Objective) []float64 {
	of := map[search.Objective]*float64{
		search.Cost: s.CostUsd, search.Energy: s.EnergyWh, search.Carbon: s.CarbonG, search.Runtime: ptr(s.GetRun().GetRuntimeSeconds()),
	}
	var out []float64
	for _, o := range objectives {
		if of[o] == nil {
			return nil
		}
		out = append(out, *of[o])
	}
	return out
}

// missed says what runs did not do: "met the target of 15m0s with 95% confidence".
func missed(s *karasuv1.SearchSettings) string {
	var limits []string
	if s.GetTargetSeconds() > 0 {
		limits = append(limits, "the target of "+seconds(s.GetTargetSeconds()))
	}
	if s.GetBudgetUsd() > 0 {
		limits = append(limits, fmt.Sprintf("the budget of $%.4g", s.GetBudgetUsd()))
	}
	text := "met " + strings.Join(limits, " and ")
	if s.GetConfidence() > 0 {
		text += fmt.Sprintf(" with %g%% confidence", 100*s.GetConfidence())
	}
	return text
}

// excess is how many times a run exceeds the target or the budget, whichever more;
// without both, its runtime.
func excess(s *karasuv1.SearchSettings, step *karasuv1.SearchStep) float64 {
	runtime, worst := step.GetRun().GetRuntimeSeconds(), 0.
	if s.GetTargetSeconds() > 0 {
		worst = runtime / s.GetTargetSeconds()
	}
	if s.GetBudgetUsd() > 0 && step.CostUsd != nil {
		worst = max(worst, step.GetCostUsd()/s.GetBudgetUsd())
	}
	if worst == 0 {
		return runtime
	}
	return worst
}

// limits names what a run must keep to.
func limits(p *search.Problem) string {
	switch {
	case p.Target > 0 && p.BudgetUSD > 0:
		return "target and budget"
	case p.BudgetUSD > 0:
		return "budget"
	}
	return "target"
}
