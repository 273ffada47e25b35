package checkpoint

import (
	"context"
	"errors"
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
	stage.FillSlots(out)
	return out, nil
}

// maxFitted bounds the predictors that are kept.
const maxFitted = 16

// predictorKey says what a predictor is for.
type predictorKey struct {
	framework, job, series string
	before                 time.Time
}

// predictorCache keeps predictors until the private store changes.
type predictorCache struct {
	mu    sync.Mutex
	from  *index
	known map[predictorKey]*predictor
}

// get returns a predictor, made by fit where it is not known. It is not held meanwhile:
// who asks for the same at the same time makes it, too.
func (c *predictorCache) get(ix *index, key predictorKey, fit func() (*predictor, error)) (*predictor, error) {
	c.mu.Lock()
	if c.from != ix {
		c.from, c.known = ix, make(map[predictorKey]*predictor)
	}
	p, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := fit()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from != ix {
		return p, nil
	}
	if len(c.known) >= maxFitted {
		clear(c.known)
	}
	c.known[key] = p
	return p, nil
}
