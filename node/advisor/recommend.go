package advisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

const (
	// recommended is the number of configurations that a recommendation lists.
	recommended = 5
	// confident is the probability of meeting the target from which on only the
	// objective counts.
	confident = 0.8
)

// Recommend answers at once, without a search: from runs of the same workload, if
// any are stored, and from what other workloads' runs say.
// With a current configuration it is compared with what is used today.
func (a *Advisor) Recommend(ctx context.Context, settings *karasuv1.SearchSettings, current *karasuv1.Configuration) (*karasuv1.RecommendResponse, error) {
	t, err := a.begin(ctx, settings, false)
	if err != nil {
		return nil, err
	}
	w := t.workload
	if w.Job != "" {
		runs, err := a.Runs.Runs(ctx, private.Filter{Job: w.Job})
		if err != nil {
			return nil, err
		}
		a.adopt(t, slices.DeleteFunc(runs, func(r model.Run) bool { return r.Workload.Topic() != w.Topic() }))
	}
	if err := a.freeze(ctx, t); err != nil {
		return nil, err
	}
	compared, added, err := a.include(t, current)
	if err != nil {
		return nil, err
	}
	t.compared = compared
	p, e, err := a.evaluate(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.RecommendResponse{
		Weights: a.weights(p, e.Weights), Basis: basis(t, p, e), LevelKnown: levelKnown(t, p),
	}
	if i := slices.IndexFunc(p.Candidates, func(c search.Candidate) bool { return c.Configuration == compared }); i >= 0 {
		out.Current = predicted(t, p, e, i)
	}
	if err := a.explainRecommendation(t, p, e, out); err != nil {
		return nil, err
	}
	for _, i := range rank(p, e) {
		if p.Candidates[i].Configuration == compared && (added || !t.computable(&p.Candidates[i])) {
			continue // only to compare with
		}
		if len(out.Predictions) < recommended {
			out.Predictions = append(out.Predictions, predicted(t, p, e, i))
		}
	}
	return out, nil
}

// include makes a configuration a candidate and returns it as the catalog spells it,
// and whether it was none before; the zero value where none is given.
func (a *Advisor) include(t *task, current *karasuv1.Configuration) (c model.Configuration, added bool, err error) {
	if current == nil {
		return c, false, nil
	}
	if c, err = wire.ToConfiguration(current); err != nil {
		return c, false, err
	}
	m, err := a.Catalog.Lookup(t.workload.Infrastructure, c.MachineType)
	if err != nil {
		return c, false, err
	}
	c.MachineType = m.Name
	choices, err := a.space(t)
	if err != nil {
		return c, false, err
	}
	if slices.ContainsFunc(choices, func(x catalog.Choice) bool { return x.Configuration == c }) {
		return c, false, nil
	}
	s := t.settings
	s.MachineTypes, s.ScaleOuts, s.Configurations = nil, nil, []*karasuv1.Configuration{wire.FromConfiguration(c)}
	for _, x := range choices {
		s.Configurations = append(s.Configurations, wire.FromConfiguration(x.Configuration))
	}
	return c, true, nil
}

// rank orders candidates: those that are confident to keep to target and budget by
// their expected objective, of several objectives those on the front first, then the
// others by their probability.
func rank(p *search.Problem, e *search.Evaluation) []int {
	const onFront, beaten, unsure, unknownValue = 0, 1, 2, 3
	var points [][]float64
	var of []int // candidates of points
	type entry struct {
		index     int
		group     int
		objective float64
	}
	sure := confident
	if p.Confidence > 0 {
		sure = p.Confidence
	}
	entries := make([]entry, len(p.Candidates))
	for i := range p.Candidates {
		expected := expectedObjectives(p, e, i)
		q := e.Predictions[i]
		en := entry{index: i}
		switch {
		case expected == nil:
			en.group = unknownValue
		case q.MeetsTarget < sure:
			en.group, en.objective = unsure, -q.MeetsTarget
		default:
			en.group, en.objective = beaten, expected[0]
			points, of = append(points, expected), append(of, i)
		}
		entries[i] = en
	}
	for _, k := range search.NonDominated(points) {
		if len(p.Objectives) > 0 {
			entries[of[k]].group = onFront
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.objective, b.objective))
	})
	out := make([]int, len(entries))
	for i, en := range entries {
		out[i] = en.index
	}
	return out
}

// expectedObjectives are the log objectives at the expected log runtime; nil where
// one is unknown.
func expectedObjectives(p *search.Problem, e *search.Evaluation, i int) []float64 {
	objectives := p.Objectives
	if len(objectives) == 0 {
		objectives = []search.Objective{p.Objective}
	}
	var out []float64
	for _, o := range objectives {
		offset, known := p.Candidates[i].LogOffset(o)
		if !known {
			return nil
		}
		out = append(out, offset+e.Predictions[i].LogMean)
	}
	return out
}

// basis says what the answer rests on and, if so, how little that is.
func basis(t *task, p *search.Problem, e *search.Evaluation) string {
	shared, used, predicted := 0.0, 0, 0.0
	for _, w := range e.Weights {
		switch {
		case w.Support < 0 || w.Share < smallWeight:
		case p.Supports[w.Support].Author == search.PredictionAuthor:
			predicted += w.Share
		default:
			shared += w.Share
			used++
		}
	}
	text := count(len(t.runs), "own run") + " of the job"
	if predicted > 0 {
		text += fmt.Sprintf(", a prediction of its runtimes from %s (%.0f%% of the weight)", t.foreseen, 100*predicted)
	}
	switch {
	case used > 0:
		text += fmt.Sprintf(" and the shapes of %s (%.0f%% of the weight)", count(used, "other workload"), 100*shared)
	case predicted == 0 && e.OthersLevel < smallWeight:
		text += " and a general prior; no other workload that is known helps"
	}
	if e.OthersLevel >= smallWeight {
		text += fmt.Sprintf("; %.0f%% of the weight takes how long the job takes from %s", 100*e.OthersLevel, levelOf(p))
	}
	if t.unforeseen != "" {
		text += ". Runtimes are not predicted: " + t.unforeseen
	}
	if p.Target > 0 || p.BudgetUSD > 0 {
		text += fmt.Sprintf(". In the order of %s among those likely enough to keep to the %s, then of that likelihood", p.Objective, limits(p))
	}
	switch {
	case !levelKnown(t, p):
		text += ". Nothing says how long the job takes, so only the order of configurations and the ratios between them mean something"
	case len(t.runs) == 0 && t.foreseen == "":
		from := ""
		if p.Target > 0 {
			from = "the target and from "
		}
		text += fmt.Sprintf(". How long it takes is guessed from %sother workloads of the same framework and algorithm, so runtimes are rough", from)
	}
	return text
}

// levelOf says whose level a search has borrowed.
func levelOf(p *search.Problem) string {
	switch organisation, own := lenders(p); {
	case own:
		return "your own other workloads"
	case organisation == several:
		return "workloads of several organisations"
	default:
		return "workloads of " + organisation
	}
}

// count prints a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
