package advisor

import (
	"context"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// DeleteRuns deletes private runs by their IDs, also from the searches that hold
// them, all or none. It says how many runs and how many searches that were.
func (a *Advisor) DeleteRuns(ctx context.Context, ids []string) (runs, searches int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Runs.DeleteRuns(ctx, ids)
}

// Undo deletes the run that was reported last, from its search and from the private
// runs, and returns it with the search without it; a configuration that had been claimed
// is claimed again. Runs that were stored before the
// search began were not reported and stay.
func (a *Advisor) Undo(ctx context.Context, job string) (*karasuv1.SearchState, model.Run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.load(ctx, job)
	if err != nil {
		return nil, model.Run{}, err
	}
	t, err := openTask(s)
	if err != nil {
		return nil, model.Run{}, err
	}
	last := len(t.runs) - 1
	if last < 0 || float64(t.runs[last].Start.UnixMilli()) < s.GetCreatedUnixMillis() {
		return nil, model.Run{}, fmt.Errorf("%w in the search %q; runs from before it are deleted with `karasu runs delete`", ErrNothingToUndo, t.workload.Job)
	}
	run := t.runs[last]
	t.runs = t.runs[:last]
	claimed := slices.Index(t.claimedRuns, run.ID())
	if claimed >= 0 {
		t.claimedRuns = slices.Delete(t.claimedRuns, claimed, claimed+1)
		if !slices.Contains(t.claims, run.Configuration) && !t.has(run.Configuration) {
			t.claims = append(t.claims, run.Configuration)
		}
	}
	// Evaluate first: what cannot be described afterwards is not begun.
	state, err := a.state(ctx, t)
	if err != nil {
		return nil, model.Run{}, err
	}
	if _, _, err := a.Runs.DeleteRuns(ctx, []string{run.ID()}); err != nil {
		return nil, model.Run{}, err
	}
	if claimed >= 0 {
		if err := a.save(ctx, t); err != nil {
			return nil, model.Run{}, err
		}
	}
	return state, run, nil
}

// Expect returns what is expected now of a configuration in a search; nil where it
// is no candidate, and while nothing says how long the job takes.
func (a *Advisor) Expect(ctx context.Context, job string, c *karasuv1.Configuration) (*karasuv1.Prediction, error) {
	s, err := a.load(ctx, job)
	if err != nil {
		return nil, err
	}
	t, err := openTask(s)
	if err != nil {
		return nil, err
	}
	want, err := wire.ToConfiguration(c)
	if err != nil {
		return nil, err
	}
	m, err := a.Catalog.Lookup(t.workload.Infrastructure, want.MachineType)
	if err != nil {
		return nil, err
	}
	want.MachineType = m.Name
	p, e, err := a.evaluate(ctx, t)
	if err != nil {
		return nil, err
	}
	for i := range p.Candidates {
		if levelKnown(t, p) && p.Candidates[i].Configuration == want {
			return prediction(p, e, i), nil
		}
	}
	return nil, nil
}
