package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

const (
	// MaxExecutions bounds the executions of one request.
	MaxExecutions = 1000
	// maxGroups bounds the groups of unmatched executions that are answered.
	maxGroups = 500
)

// checkMachine returns the catalog's spelling of a machine type.
func (a *App) checkMachine(infrastructure, machineType string) (string, error) {
	m, err := a.catalog.Lookup(infrastructure, machineType)
	return m.Name, err
}

// namer names executions by the rules as they are now.
func (a *App) namer() private.Namer {
	rules := a.rules.Load()
	return func(e model.Execution, h private.Hints) *model.Run {
		run, err := rules.Run(e, naming.Hints(h), a.checkMachine)
		if err != nil {
			return nil
		}
		return &run
	}
}

// ImportExecutions stores executions, each beside the run that rules make of it, in the
// order given. Each is stored whole or not at all; those before one that cannot be
// stored stay.
func (a *App) ImportExecutions(ctx context.Context, executions []model.Execution, h naming.Hints) ([]*karasuv1.ImportedExecution, error) {
	if len(executions) > MaxExecutions {
		return nil, &model.FieldError{Field: "executions", Problem: fmt.Sprintf("are more than %d at once: %d", MaxExecutions, len(executions))}
	}
	if err := h.Validate(); err != nil {
		return nil, err
	}
	out := make([]*karasuv1.ImportedExecution, 0, len(executions))
	for _, e := range executions {
		put, err := a.private.PutExecution(ctx, e, private.Hints(h), a.namer())
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Origin, err)
		}
		m := &karasuv1.ImportedExecution{Origin: e.Origin, Name: e.Name, Dropped: put.Dropped, Result: karasuv1.ImportResult_IMPORT_RESULT_UNCHANGED}
		switch {
		case put.New:
			m.Result = karasuv1.ImportResult_IMPORT_RESULT_IMPORTED
		case put.Changed:
			m.Result = karasuv1.ImportResult_IMPORT_RESULT_UPDATED
		}
		if put.Run != nil {
			m.RunId, m.Job, m.Topic = put.Run.ID(), put.Run.Workload.Job, put.Run.Workload.Topic().String()
		} else {
			reason, detail := a.reason(put.Execution, put.Hints)
			m.Reason, m.Detail = string(reason), detail
		}
		out = append(out, m)
	}
	return out, nil
}

// reason says why an execution is no run.
func (a *App) reason(e model.Execution, h private.Hints) (naming.Reason, string) {
	_, err := a.rules.Load().Run(e, naming.Hints(h), a.checkMachine)
	if err == nil { // the rules changed since
		return naming.NoRule, "no rule matched; import it again"
	}
	return naming.ReasonOf(err)
}

// Execution returns an execution with its stages, by origin or by the ID of its run.
func (a *App) Execution(ctx context.Context, origin, runID string) (*karasuv1.GetExecutionResponse, error) {
	switch {
	case (origin == "") == (runID == ""):
		return nil, &model.FieldError{Field: "execution", Problem: "must be named by its origin or by the ID of its run"}
	case origin != "":
		runID = model.OriginID(origin)
	}
	s, err := a.private.GetExecution(ctx, runID)
	if origin != "" && errors.Is(err, private.ErrNoRun) {
		return nil, fmt.Errorf("%w: %q", private.ErrNoExecution, origin)
	}
	if err != nil {
		return nil, err
	}
	m, _ := wire.FromExecution(s.Execution)
	return &karasuv1.GetExecutionResponse{
		Execution: m, Hints: &karasuv1.ExecutionHints{Infrastructure: s.Hints.Infrastructure, MachineType: s.Hints.MachineType},
	}, nil
}

// Run returns a run by its ID or the first digits of it.
func (a *App) Run(ctx context.Context, id string) (model.Run, error) {
	return a.private.GetRun(ctx, id)
}

// Workloads counts runs by workload.
func (a *App) Workloads(ctx context.Context) ([]*karasuv1.WorkloadRuns, error) {
	counts, err := a.private.Workloads(ctx)
	if err != nil {
		return nil, err
	}
	var out []*karasuv1.WorkloadRuns
	for _, c := range counts {
		w := c.Workload
		out = append(out, &karasuv1.WorkloadRuns{
			Job: w.Job, Dataset: w.Dataset, Topic: w.Topic().String(), InputBytes: w.InputBytes,
			Ok: uint32(c.OK), Failed: uint32(c.Failed), Timeout: uint32(c.Timeout),
		})
	}
	return out, nil
}

// Unmatched groups the executions that are no runs and counts them.
func (a *App) Unmatched(ctx context.Context) ([]*karasuv1.UnmatchedGroup, int, error) {
	rules := a.rules.Load()
	var unnamed []naming.Unnamed
	err := a.private.EachExecution(ctx, func(s private.StoredExecution) error {
		_, err := rules.Run(s.Execution, naming.Hints(s.Hints), a.checkMachine)
		if err == nil {
			return nil
		}
		reason, detail := naming.ReasonOf(err)
		s.Execution.Executors, s.Execution.Properties = nil, nil // thousands may come together
		unnamed = append(unnamed, naming.Unnamed{Execution: s.Execution, Hints: naming.Hints(s.Hints), Reason: reason, Detail: detail})
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	groups := naming.Groups(unnamed)
	var out []*karasuv1.UnmatchedGroup
	for _, g := range groups[:min(len(groups), maxGroups)] {
		out = append(out, &karasuv1.UnmatchedGroup{
			Reason: string(g.Reason), Detail: g.Detail, Executions: uint32(g.Executions), Example: g.Example.Name,
			Origin: g.Example.Origin, Id: model.OriginID(g.Example.Origin), Suggestion: g.Suggestion,
		})
	}
	return out, len(unnamed), nil
}

// ApplyRules reads the rules of the configuration file anew and names all executions by
// them. A file with a mistake changes nothing.
func (a *App) ApplyRules(ctx context.Context) (*karasuv1.ApplyRulesResponse, error) {
	config, err := LoadConfig(a.home)
	if err != nil {
		return nil, err
	}
	rules, err := config.Rules()
	if err != nil {
		return nil, err
	}
	a.rules.Store(rules)
	done, err := a.private.Rename(ctx, a.namer())
	return &karasuv1.ApplyRulesResponse{
		Rules: uint32(rules.Len()), Executions: uint32(done.Executions), Runs: uint32(done.Runs),
		Added: uint32(done.Added), Changed: uint32(done.Changed), Removed: uint32(done.Removed),
	}, err
}

// AttachMetrics adds utilisation to stored runs, all or none.
func (a *App) AttachMetrics(ctx context.Context, runs []*karasuv1.RunMetrics) (updated, unchanged int, err error) {
	metrics := make(map[string]model.Metrics, len(runs))
	for _, r := range runs {
		if _, twice := metrics[r.GetRunId()]; twice {
			return 0, 0, &model.FieldError{Field: "run", Problem: fmt.Sprintf("is named twice: %q", r.GetRunId())}
		}
		metrics[r.GetRunId()] = wire.ToMetrics(r.GetMetrics())
	}
	return a.private.AttachMetrics(ctx, metrics)
}

// ingestLoop names what is stored by the rules as they are at the start, then watches
// folders until the context ends.
func (a *App) ingestLoop(ctx context.Context) {
	begin := time.Now()
	done, err := a.private.Rename(ctx, a.namer())
	a.complain(ctx, "naming executions", err)
	if done.Added+done.Changed+done.Removed > 0 {
		a.logger.InfoContext(ctx, "executions named anew", "runs", done.Runs, "added", done.Added, "changed", done.Changed,
			"removed", done.Removed, "took", time.Since(begin).Round(time.Millisecond).String())
	}
	a.watch(ctx)
}
