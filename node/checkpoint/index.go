package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	"github.com/karasu-project/karasu/store/private"
)

// entry is what the index keeps of a stored execution.
type entry struct {
	id, origin, application, name, framework string
	// job is what the rules name it, and empty where none does; series groups what none
	// names by main class and name.
	job, series string
	start       time.Time
	seconds     float64
	outcome     model.Outcome
}

// called is the job, or the name of an application that no rule names.
func (e *entry) called() string { return cmp.Or(e.job, e.name, e.application) }

// end is when it ended, as far as its record tells.
func (e *entry) end() time.Time { return e.start.Add(time.Duration(e.seconds * 1e9)) }

// sameJob says whether two executions are runs of one recurring job.
func (e *entry) sameJob(o *entry) bool {
	if e.job != "" || o.job != "" {
		return e.job == o.job
	}
	return e.framework == o.framework && e.series != "" && e.series == o.series
}

// index are the stored executions, the oldest first.
type index struct {
	entries []entry
	// exposure is how long all ran until they ended, and how many failed.
	exposure optimizer.Exposure
}

// indexCache keeps the index until the private store changes.
type indexCache struct {
	mu      sync.Mutex
	changed <-chan struct{}
	known   *index
}

func (a *Advisor) executions(ctx context.Context) (*index, error) {
	c := &a.index
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.changed:
		c.known = nil
	default:
	}
	if c.known != nil {
		return c.known, nil
	}
	runs, err := a.Executions.Runs(ctx, private.Filter{})
	if err != nil {
		return nil, err
	}
	jobs := make(map[string]string, len(runs))
	for i := range runs {
		jobs[runs[i].ID()] = runs[i].Workload.Job
	}
	ix := &index{}
	err = a.Executions.EachExecution(ctx, func(s private.StoredExecution) error {
		e := &s.Execution
		ix.entries = append(ix.entries, entry{
			id: s.ID, origin: e.Origin, application: e.ApplicationID, name: e.Name, framework: e.Framework,
			job: jobs[s.ID], series: series(e), start: e.Start, seconds: e.RuntimeSeconds(), outcome: e.Outcome,
		})
		if e.Outcome != 0 {
			ix.exposure.Add(e.RuntimeSeconds(), e.Outcome == model.Failed)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ix.entries, func(a, b entry) int { return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.id, b.id)) })
	c.known = ix
	return ix, nil
}

// series is what runs of one application that no rule names have in common.
func series(e *model.Execution) string {
	if e.MainClass+e.Name == "" {
		return ""
	}
	return e.MainClass + "\x00" + e.Name
}

// application finds an execution by its application's ID (the last attempt), its origin, or
// the ID of its run or the first digits of it.
func (ix *index) application(app string) (*entry, error) {
	var found *entry
	for i := range ix.entries {
		if e := &ix.entries[i]; e.application == app || e.origin == app {
			found = e
		}
	}
	if found != nil {
		return found, nil
	}
	const fewest = 8 // digits, as elsewhere
	for i := range ix.entries {
		if e := &ix.entries[i]; len(app) >= fewest && strings.HasPrefix(e.id, strings.ToLower(app)) {
			if found != nil {
				return nil, badInput("application", "begins like several: %q; give more digits", model.Clip(app))
			}
			found = e
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %q is neither an application's ID nor a run's; see `karasu runs list` and `karasu workloads --unmatched`", private.ErrNoExecution, model.Clip(app))
	}
	return found, nil
}

// runs are the executions of a job, the oldest first: by the name that rules give, and
// where no run has it, by that of applications that no rule names.
func (ix *index) runs(job string) ([]*entry, error) {
	var named, unnamed []*entry
	for i := range ix.entries {
		switch e := &ix.entries[i]; {
		case e.job == job:
			named = append(named, e)
		case e.job == "" && e.name == job:
			unnamed = append(unnamed, e)
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	if len(unnamed) == 0 {
		return nil, fmt.Errorf("%w: no application of job %q is stored; see `karasu workloads`", private.ErrNoExecution, model.Clip(job))
	}
	return unnamed, nil
}
