package node

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/node/exchange"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
)

// retracted is what the user took back from sharing, as the policy asks it. It is safe
// for concurrent use.
type retracted struct {
	now atomic.Pointer[retractedState]
}

type retractedState struct {
	jobs     map[string]bool
	patterns []exchange.Pattern
}

// set takes over what the private store says.
func (r *retracted) set(from private.Retracted) error {
	patterns := make([]exchange.Pattern, 0, len(from.Topics))
	for _, t := range from.Topics {
		p, err := exchange.ParsePattern(t)
		if err != nil {
			return fmt.Errorf("retracted topics: %w", err)
		}
		patterns = append(patterns, p)
	}
	jobs := make(map[string]bool, len(from.Jobs))
	for _, j := range from.Jobs {
		jobs[j] = true
	}
	r.now.Store(&retractedState{jobs, patterns})
	return nil
}

// topic says whether nothing of a topic may leave.
func (r *retracted) topic(t model.Topic) bool {
	return slices.ContainsFunc(r.now.Load().patterns, func(p exchange.Pattern) bool { return p.Match(t) })
}

// split takes the runs of retracted jobs out, and returns their workloads.
func (r *retracted) split(runs []model.Run) (left []model.Run, out []model.Workload) {
	jobs := r.now.Load().jobs
	if len(jobs) == 0 {
		return runs, nil
	}
	seen := make(map[string]bool)
	for _, run := range runs {
		w := run.Workload
		if !jobs[w.Job] {
			left = append(left, run)
			continue
		}
		if id := w.Job + "\x00" + w.Topic().String(); !seen[id] {
			seen[id] = true
			out = append(out, w)
		}
	}
	return left, out
}

// Retract withdraws what was shared of a job or a topic and keeps it from leaving, or
// lets it leave again.
func (a *App) Retract(ctx context.Context, req *karasuv1.RetractShareRequest) (*karasuv1.RetractShareResponse, error) {
	out := new(karasuv1.RetractShareResponse)
	topic := ""
	job := model.NormalizeName(req.GetJob())
	if req.GetTopic() != "" {
		p, err := exchange.ParsePattern(req.GetTopic())
		if err != nil {
			return nil, api.Invalid("%w", err)
		}
		topic = p.String()
	}
	if job != "" || topic != "" {
		if err := a.checkRetraction(ctx, job, topic, req.GetUndo()); err != nil {
			return nil, err
		}
		if _, err := a.private.Retract(ctx, job, topic, req.GetUndo()); err != nil {
			return nil, err
		}
		now, err := a.private.Retracted(ctx)
		if err == nil {
			err = a.retracted.set(now)
		}
		if err != nil {
			return nil, err
		}
		done, err := a.refresh(ctx)
		if err != nil {
			return nil, fmt.Errorf("what is retracted is noted, and withdrawn as soon as that works: %w", err)
		}
		out.Withdrawn, out.Shared = uint32(done.Withdrawn), uint32(done.Shared)
	}
	now, err := a.private.Retracted(ctx)
	out.Jobs, out.Topics = now.Jobs, now.Topics
	return out, err
}

// checkRetraction refuses a job that has no runs, which most likely is misspelt, and to
// let go what was not retracted.
func (a *App) checkRetraction(ctx context.Context, job, topic string, undo bool) error {
	now, err := a.private.Retracted(ctx)
	if err != nil {
		return err
	}
	switch {
	case undo && job != "" && !slices.Contains(now.Jobs, job):
		return api.Invalid("job %q is not retracted; karasu share retract lists what is", model.Clip(job))
	case undo && job == "" && !slices.Contains(now.Topics, topic):
		return api.Invalid("topic %q is not retracted; karasu share retract lists what is", model.Clip(topic))
	case undo || job == "":
		return nil
	}
	workloads, err := a.private.Workloads(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(workloads, func(w private.WorkloadCount) bool { return w.Workload.Job == job }) {
		return api.Invalid("no runs of job %q; karasu workloads list names those that have some", model.Clip(job))
	}
	return nil
}
