package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/karasu-project/karasu/model/stage"
	"github.com/karasu-project/karasu/node/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

// stageSource reads the executions that stage models are trained on. It implements
// share.StageSource.
type stageSource struct{ db *private.DB }

// Executions returns the versions of the executions that are runs, by the runs' IDs. What
// replaces an execution is more complete, so that it ends elsewhere or holds more.
func (s stageSource) Executions(ctx context.Context) (map[string]string, error) {
	out := make(map[string]string)
	err := s.db.EachExecution(ctx, func(e private.StoredExecution) error {
		if e.HasRun {
			x := &e.Execution
			out[e.ID] = fmt.Sprint(x.End.UnixNano(), x.Outcome, x.Quality.Events, x.Quality.Bytes, x.Quality.BadLines)
		}
		return nil
	})
	return out, err
}

func (s stageSource) StageJob(ctx context.Context, runID string) (stage.Job, error) {
	e, err := s.db.GetExecution(ctx, runID)
	if err != nil {
		return stage.Job{}, err
	}
	return stage.FromExecution(&e.Execution)
}

// StagePredictors returns the stage models that peers share for a framework; of
// infrastructures that the node has runs of, the most frequent first, before those of
// others. It implements checkpoint.Predictors.
func (a *App) StagePredictors(ctx context.Context, framework string) ([]checkpoint.Shared, error) {
	workloads, err := a.private.Workloads(ctx)
	if err != nil {
		return nil, err
	}
	runs := make(map[string]int)
	for _, w := range workloads {
		if w.Workload.Framework == framework {
			runs[w.Workload.Infrastructure] += w.Runs()
		}
	}
	infrastructures := slices.SortedFunc(maps.Keys(runs), func(a, b string) int {
		return cmp.Or(cmp.Compare(runs[b], runs[a]), cmp.Compare(a, b))
	})
	usable, skipped, err := a.stageModels.For(framework, infrastructures, a.signer.Writer())
	if err != nil {
		return nil, err
	}
	for _, m := range a.stageModelsSaid.fresh(framework, skipped) {
		a.logger.WarnContext(ctx, "stage model of a peer is not used", "organisation", m.Organisation, "author", m.Author, "record", m.ID, "error", m.Err)
	}
	out := make([]checkpoint.Shared, len(usable))
	for i, m := range usable {
		out[i] = checkpoint.Shared{Organisation: m.Organisation, Model: m.General}
	}
	return out, nil
}

// saidModels remembers, by framework, which models were said to be left out.
type saidModels struct {
	mu  sync.Mutex
	ids map[string]map[commons.ID]bool
}

// fresh returns the models that were not left out the last time, for another reason than
// that there are enough.
func (s *saidModels) fresh(framework string, skipped []commons.StageModel) []commons.StageModel {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make(map[commons.ID]bool)
	var out []commons.StageModel
	for _, m := range skipped {
		if errors.Is(m.Err, commons.ErrManyModels) {
			continue
		}
		if ids[m.ID] = true; !s.ids[framework][m.ID] {
			out = append(out, m)
		}
	}
	if s.ids == nil {
		s.ids = make(map[string]map[commons.ID]bool)
	}
	s.ids[framework] = ids
	return out
}

// stageExtent says what a stage model tells.
func stageExtent(r *commons.Record) (*karasuv1.StageExtent, error) {
	g, err := commons.DecodeStageModel(r)
	if err != nil {
		return nil, err
	}
	w, err := g.Weights()
	if err != nil {
		return nil, err
	}
	e, err := stage.ExtentOf(w)
	if err != nil {
		return nil, err
	}
	return &karasuv1.StageExtent{
		Trees: uint32(e.Trees), Numbers: uint32(e.Numbers), Operators: e.Operators,
		LeastDurationSeconds: e.DurationSeconds.Least, LargestDurationSeconds: e.DurationSeconds.Largest,
		LeastTaskSeconds: e.TaskSeconds.Least, LargestTaskSeconds: e.TaskSeconds.Largest,
		LeastOutputBytes: e.OutputBytes.Least, LargestOutputBytes: e.OutputBytes.Largest,
	}, nil
}
