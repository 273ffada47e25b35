package advisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// maxSteps bounds the runs of one search.
const maxSteps = 1000

// Start begins a search. Runs of the same workload that are stored already count
// as its first steps.
func (a *Advisor) Start(ctx context.Context, settings *karasuv1.SearchSettings) (*karasuv1.SearchState, error) {
	t, err := a.begin(ctx, settings, true)
	if err != nil {
		return nil, err
	}
	w := t.workload
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.load(ctx, w.Job); err == nil {
		return nil, fmt.Errorf("%w: %q; go on with `karasu search next --job %s` or remove it with `karasu search delete --job %s`", ErrExists, w.Job, shellWord(w.Job), shellWord(w.Job))
	} else if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	earlier, err := a.Runs.Runs(ctx, private.Filter{Job: w.Job})
	if err != nil {
		return nil, err
	}
	a.adopt(t, slices.DeleteFunc(earlier, func(r model.Run) bool { return r.Workload.Identity() != w.Identity() }))
	if err := a.freeze(ctx, t); err != nil {
		return nil, err
	}
	// Evaluate before anything is written: a search that cannot work is refused.
	state, err := a.state(ctx, t)
	if err != nil {
		return nil, err
	}
	t.created = float64(a.Now().UnixMilli())
	return state, a.save(ctx, t)
}

// Next says which configuration to try next. With claim it is taken: until it is
// reported or given up, others are suggested.
func (a *Advisor) Next(ctx context.Context, job string, claim bool) (*karasuv1.Suggestion, error) {
	if !claim {
		state, err := a.Get(ctx, job)
		return state.GetNext(), err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := a.open(ctx, job)
	if err != nil {
		return nil, err
	}
	state, err := a.state(ctx, t)
	if err != nil || state.GetNext().GetExhausted() {
		return state.GetNext(), err
	}
	c, err := wire.ToConfiguration(state.GetNext().GetPrediction().GetConfiguration())
	if err != nil {
		return nil, err
	}
	t.claims = append(t.claims, c)
	return state.GetNext(), a.save(ctx, t)
}

// Report records the outcome of a profiling run, in the search and among the
// private runs.
func (a *Advisor) Report(ctx context.Context, req *karasuv1.ReportRunRequest) (*karasuv1.SearchState, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := a.open(ctx, req.GetJob())
	if err != nil {
		return nil, err
	}
	if req.GetAbandon() {
		return a.abandon(ctx, t, req)
	}
	run, err := a.reported(t, req)
	if err != nil {
		return nil, err
	}
	if len(t.runs) >= maxSteps {
		return nil, badInput("search", fmt.Sprintf("has %d runs, which is the limit; start another", maxSteps))
	}
	if t.has(run.Configuration) && !req.GetRepeat() {
		return nil, fmt.Errorf("%w: %s; add --repeat if it really ran again", ErrRepeated, run.Configuration)
	}
	t.runs = append(t.runs, run)
	if t.release(run.Configuration) {
		t.claimedRuns = append(t.claimedRuns, run.ID())
	}
	state, err := a.state(ctx, t)
	if err != nil {
		return nil, err
	}
	return state, a.save(ctx, t, run)
}

// abandon gives a claim up.
func (a *Advisor) abandon(ctx context.Context, t *task, req *karasuv1.ReportRunRequest) (*karasuv1.SearchState, error) {
	c, err := wire.ToConfiguration(req.GetConfiguration())
	if err != nil {
		return nil, err
	}
	if !t.release(c) {
		return nil, badInput("configuration", fmt.Sprintf("%s is not claimed; see `karasu search status`", c))
	}
	state, err := a.state(ctx, t)
	if err != nil {
		return nil, err
	}
	return state, a.save(ctx, t)
}

func (a *Advisor) reported(t *task, req *karasuv1.ReportRunRequest) (model.Run, error) {
	c, err := wire.ToConfiguration(req.GetConfiguration())
	if err != nil {
		return model.Run{}, err
	}
	run := model.Run{
		Workload: t.workload, Configuration: c,
		RuntimeSeconds: req.GetRuntimeSeconds(), Outcome: wire.ToOutcome(req.GetOutcome()), Start: a.Now().UTC(),
	}
	m, err := a.Catalog.Lookup(t.workload.Infrastructure, c.MachineType)
	if err != nil {
		return run, err
	}
	run.Configuration.MachineType = m.Name
	// A timeout without a runtime was stopped at the limit at the earliest.
	if run.Outcome == model.Timeout && run.RuntimeSeconds == 0 {
		candidate := t.candidate(catalog.Choice{Configuration: run.Configuration, Machine: m})
		limit := limitSeconds(t.settings, &candidate)
		if math.IsInf(limit, 1) {
			return run, badInput("runtime", "is missing; a search without a target, and without a budget and a known price, needs it to know when the run was stopped")
		}
		run.RuntimeSeconds = limit
	}
	return run, run.Validate()
}

// save stores a search, and with it, in one transaction, runs that are new.
func (a *Advisor) save(ctx context.Context, t *task, runs ...model.Run) error {
	s := &karasuv1.Search{Settings: t.settings, CreatedUnixMillis: t.created, ClaimedRuns: t.claimedRuns}
	for _, c := range t.claims {
		s.Claims = append(s.Claims, wire.FromConfiguration(c))
	}
	for _, r := range t.runs {
		s.Runs = append(s.Runs, wire.FromRun(r))
	}
	return a.Runs.PutSearch(ctx, s, runs...)
}

// Get says how a search stands.
func (a *Advisor) Get(ctx context.Context, job string) (*karasuv1.SearchState, error) {
	t, err := a.open(ctx, job)
	if err != nil {
		return nil, err
	}
	return a.state(ctx, t)
}

// open loads a search as a task.
func (a *Advisor) open(ctx context.Context, job string) (*task, error) {
	s, err := a.load(ctx, job)
	if err != nil {
		return nil, err
	}
	return openTask(s)
}

// List returns all searches without predictions, by job.
func (a *Advisor) List(ctx context.Context) ([]*karasuv1.SearchState, error) {
	all, err := a.Runs.ListSearches(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*karasuv1.SearchState, 0, len(all))
	for _, s := range all {
		t, err := openTask(s)
		if err != nil {
			return nil, err
		}
		steps, candidates, err := a.listed(ctx, t)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		state := &karasuv1.SearchState{Settings: s.GetSettings(), Steps: steps, Candidates: uint32(candidates), Problem: withoutGone(a.gone(t))}
		if err != nil { // it must not hide the others
			state.Problem = err.Error()
			for _, r := range s.GetRuns() {
				state.Steps = append(state.Steps, &karasuv1.SearchStep{Run: r})
			}
		}
		out = append(out, state)
	}
	return out, nil
}

// listed returns the steps of a search and its number of candidates, without
// predictions unless they decide what is valid.
func (a *Advisor) listed(ctx context.Context, t *task) (steps []*karasuv1.SearchStep, candidates int, err error) {
	p, e := &search.Problem{}, (*search.Evaluation)(nil)
	if t.settings.GetConfidence() > 0 {
		p, e, err = a.evaluate(ctx, t)
	} else {
		p.Candidates, err = a.candidates(t)
	}
	if err != nil {
		return nil, 0, err
	}
	steps, _ = a.steps(t, p, e)
	return steps, len(p.Candidates), nil
}

// Delete forgets a search. Its runs stay among the private runs.
func (a *Advisor) Delete(ctx context.Context, job string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.load(ctx, job); err != nil {
		return err
	}
	return a.Runs.DeleteSearch(ctx, model.NormalizeName(job))
}

func (a *Advisor) load(ctx context.Context, job string) (*karasuv1.Search, error) {
	name := model.NormalizeName(job)
	if name == "" {
		return nil, badInput("job", "is missing; name the search with --job NAME")
	}
	s, err := a.Runs.GetSearch(ctx, name)
	if errors.Is(err, private.ErrNotFound) {
		return nil, fmt.Errorf("%w: %q; see `karasu search list`", ErrNotFound, name)
	}
	return s, err
}
