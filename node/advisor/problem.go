package advisor

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// DefaultMethod is used where a search names none.
const DefaultMethod = "evidence"

// begin makes a task of settings as a client gives them, and fetches what peers know
// of its topic unless it is solo.
func (a *Advisor) begin(ctx context.Context, s *karasuv1.SearchSettings, needJob bool) (*task, error) {
	t, err := a.normalize(s, needJob)
	if err == nil && !t.settings.GetSolo() {
		a.Join(ctx, t.workload.Topic())
	}
	return t, err
}

// normalize fills defaults in and checks the settings. The task's settings are what is
// stored.
func (a *Advisor) normalize(s *karasuv1.SearchSettings, needJob bool) (*task, error) {
	if s.GetWorkload() == nil {
		return nil, badInput("workload", "is missing")
	}
	w, err := wire.ToWorkload(s.GetWorkload())
	if err != nil {
		return nil, err
	}
	if needJob && w.Job == "" {
		return nil, badInput("job", "is missing; name the search with --job NAME")
	}
	if t := s.GetTargetSeconds(); t != 0 {
		if err := model.ValidateSeconds("target", t); err != nil {
			return nil, err
		}
	}
	out := &karasuv1.SearchSettings{
		Workload: wire.FromWorkload(w), TargetSeconds: s.GetTargetSeconds(),
		Objective: cmp.Or(s.GetObjective(), string(search.Cost)),
		Method:    cmp.Or(s.GetMethod(), DefaultMethod),
		Solo:      s.GetSolo(), Seed: s.GetSeed(),
		MachineTypes: s.GetMachineTypes(), ScaleOuts: s.GetScaleOuts(), Configurations: s.GetConfigurations(),
		Confidence: s.GetConfidence(), BudgetUsd: s.GetBudgetUsd(),
	}
	if err := normalizeGoal(out, s.GetRegion(), w.Infrastructure); err != nil {
		return nil, err
	}
	if _, err := a.method(out.GetMethod()); err != nil {
		return nil, err
	}
	t, err := newTask(out)
	if err != nil {
		return nil, err
	}
	if _, err := a.candidates(t); err != nil {
		return nil, err
	}
	return t, nil
}

// candidates lists the space of a search: what the catalog knows enough of for its
// objectives and its budget. Where that leaves none, all are listed, and the search says
// what is unknown.
func (a *Advisor) candidates(t *task) ([]search.Candidate, error) {
	choices, err := a.space(t)
	if err != nil {
		return nil, err
	}
	all := make([]search.Candidate, 0, len(choices))
	var out []search.Candidate
	found := false
	for _, choice := range choices {
		c := t.candidate(choice)
		all = append(all, c)
		usable := t.computable(&c)
		found = found || usable
		if usable || c.Configuration == t.compared {
			out = append(out, c)
		}
	}
	if !found {
		return all, nil
	}
	return out, nil
}

// computable reports whether the task's objectives, and its cost where there is a
// budget, can be computed of a candidate.
func (t *task) computable(c *search.Candidate) bool {
	needed := t.objectives
	if t.settings.GetBudgetUsd() > 0 {
		needed = append(slices.Clone(needed), search.Cost)
	}
	return !slices.ContainsFunc(needed, func(o search.Objective) bool {
		_, known := c.LogOffset(o)
		return !known
	})
}

// space takes configurations where they are listed, else every machine type at
// every scale-out, each from the infrastructure's default where it is not given.
func (a *Advisor) space(t *task) ([]catalog.Choice, error) {
	s, infrastructure, gone := t.settings, t.workload.Infrastructure, a.gone(t)
	machines := present(gone, s.GetMachineTypes(), func(name string) string { return name })
	if len(machines) == 0 && len(s.GetMachineTypes()) > 0 {
		return nil, machinesGone(t, gone)
	}
	var scaleOuts []int
	for _, n := range s.GetScaleOuts() {
		scaleOuts = append(scaleOuts, int(n))
	}
	if len(s.GetConfigurations()) > 0 {
		if len(machines)+len(scaleOuts) > 0 {
			return nil, badInput("configurations", "are given together with machine types or scale-outs; give one or the other")
		}
		var listed []model.Configuration
		left := present(gone, s.GetConfigurations(), (*karasuv1.Configuration).GetMachineType)
		if len(left) == 0 {
			return nil, machinesGone(t, gone)
		}
		for _, c := range left {
			configuration, err := wire.ToConfiguration(c)
			if err != nil {
				return nil, err
			}
			listed = append(listed, configuration)
		}
		return a.Catalog.Choices(infrastructure, listed)
	}
	needWatts := slices.Contains(t.objectives, search.Energy) || slices.Contains(t.objectives, search.Carbon)
	if len(machines) == 0 && len(scaleOuts) == 0 {
		return a.defaultSpace(t, needWatts)
	}
	if len(machines) == 0 {
		defaults, err := a.Catalog.DefaultMachineTypes(infrastructure, needWatts)
		if err != nil {
			return nil, err
		}
		for _, m := range defaults {
			machines = append(machines, m.Name)
		}
	}
	if len(scaleOuts) == 0 {
		scaleOuts = catalog.DefaultScaleOuts()
	}
	return a.Catalog.Space(infrastructure, machines, scaleOuts)
}

// problem assembles what a method needs.
func (a *Advisor) problem(ctx context.Context, t *task, observed []search.Observation) (*search.Problem, error) {
	candidates, err := a.candidates(t)
	if err != nil {
		return nil, err
	}
	p := &search.Problem{
		Topic: t.workload.Topic(), Candidates: candidates, Objective: t.objective(),
		BudgetUSD: t.settings.GetBudgetUsd(), Confidence: t.settings.GetConfidence(),
		Target:     time.Duration(math.Round(t.settings.GetTargetSeconds() * float64(time.Second))),
		InputBytes: t.workload.InputBytes, Seed: t.settings.GetSeed(),
	}
	if len(t.objectives) > 1 {
		p.Objectives = t.objectives
	}
	if !t.settings.GetSolo() {
		if p.Supports, err = a.supports(ctx, p, t.workload, observed); err != nil {
			return nil, err
		}
		if mean, sd := level(p); contradicts(p, mean, sd) {
			p.LevelMean, p.LevelSD, p.LevelDoubt = mean, sd, levelDoubt
		}
		if err := a.foresee(ctx, t, p, observed); err != nil {
			return nil, err
		}
	}
	return p, nil
}
