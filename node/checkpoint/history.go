package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
)

const (
	// maxRuns bounds the runs of one job that are learned from: older ones weigh less
	// than a third each (see [stage.Recurring]).
	maxRuns = 60
	// maxJobs bounds the executions that a general predictor is trained on.
	maxJobs = 400
)

// load returns an execution with its stages.
func (a *Advisor) load(ctx context.Context, e *entry) (*model.Execution, error) {
	s, err := a.Executions.GetExecution(ctx, e.id)
	if err != nil {
		return nil, err
	}
	return &s.Execution, nil
}

// past are the executions that had completed by a time, that a predicate selects and that
// hold stages, the oldest first; at most the last so many.
func (a *Advisor) past(ctx context.Context, ix *index, before time.Time, most int, want func(*entry) bool) ([]stage.Job, error) {
	var out []stage.Job
	for i := len(ix.entries) - 1; i >= 0 && len(out) < most; i-- {
		e := &ix.entries[i]
		if e.end().After(before) || e.outcome != model.OK || !want(e) {
			continue
		}
		x, err := a.load(ctx, e)
		if err != nil {
			return nil, err
		}
		j, err := stage.FromExecution(x)
		if errors.Is(err, stage.ErrInput) {
			continue // it tells nothing of stages
		}
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	slices.Reverse(out)
	fillSlots(out)
	return out, nil
}

// fillSlots estimates the slots of jobs whose record does not tell any.
func fillSlots(jobs []stage.Job) {
	estimate := -1
	for i := range jobs {
		if jobs[i].Slots > 0 {
			continue
		}
		if estimate < 0 {
			estimate = stage.EstimateSlots(jobs)
		}
		jobs[i].Slots = estimate
	}
}

// generalCache keeps the general predictor of each framework that was trained last.
type generalCache struct {
	mu    sync.Mutex
	known map[string]trained
}

// trained is a general predictor and what it was trained from: the index that it was
// made of, and the time up to which executions counted.
type trained struct {
	from   *index
	before time.Time
	model  *stage.General
	err    error
}

// ownGeneral is a general predictor that is trained on the executions of a framework before
// a time. The error wraps [stage.ErrNoHistory] where there are none.
func (a *Advisor) ownGeneral(ctx context.Context, ix *index, framework string, before time.Time) (*stage.General, error) {
	c := &a.general
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.known[framework]; ok && k.from == ix && k.before.Equal(before) {
		return k.model, k.err
	}
	jobs, err := a.past(ctx, ix, before, maxJobs, func(e *entry) bool { return e.framework == framework })
	if err != nil {
		return nil, err
	}
	g, err := stage.Fit(ctx, jobs, stage.Options{})
	if err != nil && !errors.Is(err, stage.ErrNoHistory) {
		return nil, fmt.Errorf("train a predictor of stages: %w", err)
	}
	if c.known == nil {
		c.known = make(map[string]trained)
	}
	c.known[framework] = trained{ix, before, g, err}
	return g, err
}
