package node

import (
	"context"
	"slices"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// maxKnownJobs bounds the jobs that are named where one was asked for in vain.
const maxKnownJobs = 20

// Runs lists stored runs, oldest first: the latest limit ones where it is above 0.
// An empty job lists all; of a job without runs the answer names others.
func (a *App) Runs(ctx context.Context, job string, limit int) (*karasuv1.ListRunsResponse, error) {
	runs, err := a.private.Runs(ctx, private.Filter{Job: model.NormalizeName(job)})
	if err != nil {
		return nil, err
	}
	out := &karasuv1.ListRunsResponse{Total: uint32(len(runs))}
	if limit > 0 && len(runs) > limit {
		runs = runs[len(runs)-limit:]
	}
	for _, r := range runs {
		out.Runs = append(out.Runs, wire.FromRun(r))
	}
	if job != "" && len(runs) == 0 {
		out.KnownJobs, err = a.jobs(ctx)
	}
	return out, err
}

// jobs names jobs that have runs, at most [maxKnownJobs].
func (a *App) jobs(ctx context.Context) ([]string, error) {
	workloads, err := a.private.Workloads(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range workloads {
		names = append(names, w.Workload.Job)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxKnownJobs)], nil
}

// DeleteRuns deletes runs by ID, or all of a job, also from the searches that hold
// them. It says how many runs and how many searches that were. IDs are deleted all or
// none; a job's runs go in batches, and those that are gone stay gone on an error.
func (a *App) DeleteRuns(ctx context.Context, ids []string, job string) (runs, searches int, err error) {
	switch {
	case job == "" && len(ids) == 0:
		return 0, 0, &model.FieldError{Field: "runs", Problem: "are not named: give IDs or a job"}
	case job != "" && len(ids) > 0:
		return 0, 0, &model.FieldError{Field: "runs", Problem: "are named by IDs and by a job; give one or the other"}
	case job == "":
		return a.advisor.DeleteRuns(ctx, ids)
	}
	stored, err := a.private.Runs(ctx, private.Filter{Job: model.NormalizeName(job)})
	if err != nil {
		return 0, 0, err
	}
	for batch := range slices.Chunk(stored, private.MaxBatch) {
		ids = ids[:0]
		for _, r := range batch {
			ids = append(ids, r.ID())
		}
		n, m, err := a.advisor.DeleteRuns(ctx, ids)
		runs, searches = runs+n, max(searches, m)
		if err != nil {
			return runs, searches, err
		}
	}
	return runs, searches, nil
}
