package advisor

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// DefaultMethod is used where a search names none.
const DefaultMethod = "evidence"

// maxUnrelated bounds the supports that share neither framework nor algorithm
// with the target; related ones are all used.
const maxUnrelated = 200

// normalize fills defaults in and checks the settings. The result is what is stored.
func (a *Advisor) normalize(s *karasuv1.SearchSettings, needJob bool) (*karasuv1.SearchSettings, error) {
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
	_, err = a.candidates(t)
	return out, err
}

// candidates lists the space of a search.
func (a *Advisor) candidates(t *task) ([]search.Candidate, error) {
	choices, err := a.space(t)
	if err != nil {
		return nil, err
	}
	out := make([]search.Candidate, 0, len(choices))
	for _, c := range choices {
		out = append(out, t.candidate(c))
	}
	return out, nil
}

// space takes configurations where they are listed, else every machine type at
// every scale-out, each from the infrastructure's default where it is not given.
func (a *Advisor) space(t *task) ([]catalog.Choice, error) {
	s, infrastructure := t.settings, t.workload.Infrastructure
	machines := s.GetMachineTypes()
	var scaleOuts []int
	for _, n := range s.GetScaleOuts() {
		scaleOuts = append(scaleOuts, int(n))
	}
	if len(s.GetConfigurations()) > 0 {
		if len(machines)+len(scaleOuts) > 0 {
			return nil, badInput("configurations", "are given together with machine types or scale-outs; give one or the other")
		}
		var listed []model.Configuration
		for _, c := range s.GetConfigurations() {
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
		return a.Catalog.DefaultSpace(infrastructure, needWatts)
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

// problem assembles what a method needs, except for the observations.
func (a *Advisor) problem(ctx context.Context, t *task) (*search.Problem, error) {
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
		p.Supports, err = a.supports(ctx, t.workload)
	}
	return p, err
}

// supports collects other workloads' shapes: the organisation's own history first,
// then what peers share; related ones before others, in a deterministic order.
func (a *Advisor) supports(ctx context.Context, target model.Workload) ([]search.Support, error) {
	runs, err := a.Runs.Runs(ctx, private.Filter{})
	if err != nil {
		return nil, err
	}
	var out []search.Support
	for _, g := range share.GroupRuns(runs) {
		if g.Workload.Identity() == target.Identity() {
			continue
		}
		if s, ok := share.Summarize(g, a.Pseudonyms, a.Lookup); ok {
			out = append(out, search.Support{Organisation: a.Organisation, Summary: s})
		}
	}
	records, err := a.Commons.All(func(model.Topic) bool { return true })
	if err != nil {
		return nil, err
	}
	out = append(out, a.peerSupports(records)...)
	slices.SortStableFunc(out, func(x, y search.Support) int {
		return cmp.Compare(distance(x.Summary.Topic, target.Topic()), distance(y.Summary.Topic, target.Topic()))
	})
	related := 0
	for related < len(out) && distance(out[related].Summary.Topic, target.Topic()) < unrelated {
		related++
	}
	return out[:min(len(out), related+maxUnrelated)], nil
}

func (a *Advisor) peerSupports(records []*commons.Record) []search.Support {
	type origin struct{ author, workload string }
	models := map[origin]*commons.Model{}
	for _, r := range records {
		if r.Kind == karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL && r.Author != a.Self {
			// Every record was validated on its way in; one that no longer passes is left out.
			if m, err := commons.DecodeModel(r); err == nil {
				models[origin{r.Author.String(), m.Pseudonym}] = &m
			}
		}
	}
	var out []search.Support
	for _, r := range records {
		if r.Kind != karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY || r.Author == a.Self {
			continue
		}
		s, err := commons.DecodeSummary(r)
		if err != nil {
			continue
		}
		support := search.Support{Organisation: r.Organisation, Author: r.Author.String(), Summary: s}
		if m := models[origin{support.Author, s.Pseudonym}]; m != nil {
			support.Model = m.Weights
		}
		out = append(out, support)
	}
	return out
}

// unrelated is the distance of topics with neither framework nor algorithm in common.
const unrelated = 3

// distance orders topics by kinship, as Karasu's selection policies A, B and C do.
func distance(a, b model.Topic) int {
	switch {
	case a.Framework == b.Framework && a.Algorithm == b.Algorithm:
		return 0
	case a.Algorithm == b.Algorithm:
		return 1
	case a.Framework == b.Framework:
		return 2
	}
	return unrelated
}
