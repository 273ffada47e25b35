package replay

import (
	"context"
	"runtime"
	"slices"
)

// newReplay reads the table and fills in defaults, for replays other than [Run].
func newReplay(ctx context.Context, c *Config) (*replay, int, error) {
	c.SeedSets = max(c.SeedSets, 1)
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Objective == "" {
		c.Objective = "cost"
	}
	table, skipped, err := newTable(c.Runs, c.Candidates)
	if err != nil {
		return nil, 0, err
	}
	return &replay{Config: c, table: table}, skipped, ctx.Err()
}

// run does the baseline's searches, if any job needs their traces, and then the jobs.
func (r *replay) run(ctx context.Context, jobs []job) error {
	r.total = len(jobs)
	if slices.ContainsFunc(jobs, func(j job) bool { return j.scenario != nil && j.scenario.pool != nil }) {
		baseline := r.outcomes(r.Baseline, nil)
		r.total += len(baseline)
		if err := r.do(ctx, baseline); err != nil {
			return err
		}
		r.collect(baseline)
	}
	return r.do(ctx, jobs)
}
