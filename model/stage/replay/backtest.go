package replay

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/karasu-project/karasu/model/stage"
)

const (
	history        = "history"
	recurringModel = "template ridge"
	// firstPredicted is the run of an application, from 0, that is predicted first.
	firstPredicted = 12
)

// History predicts each run of an application from its 13th on from those before.
func History(ctx context.Context, runs []Run, o Options) ([]Row, error) {
	parts := make([]*scores, Predicted(runs, o))
	err := Backtest(ctx, runs, o, func(ctx context.Context, at int, run Run, known []stage.Job) error {
		parts[at] = newScores()
		return parts[at].backtest(ctx, run, known)
	})
	if err != nil {
		return nil, err
	}
	all := newScores()
	for _, p := range parts {
		all.join(p)
	}
	all.sort([]string{history}, []string{duration, start, end},
		[]string{recurringModel, scheduleModel, stage.ScaledName, stage.LastName, stage.MeanName, stage.LinearName})
	return all.rows(func(k key) bool { return k.model == recurringModel }), nil
}

// task is a run to predict from those before.
type task struct {
	run   Run
	known []stage.Job
}

func tasks(runs []Run, o Options) []task {
	past := make(map[string][]stage.Job)
	var out []task
	for _, r := range runs {
		known := past[r.Application]
		if len(known) >= firstPredicted && (len(known)-firstPredicted)%max(1, o.Every) == 0 {
			out = append(out, task{r, known})
		}
		past[r.Application] = append(known[:len(known):len(known)], r.Job)
	}
	return out
}

// Predicted is the number of runs that [Backtest] goes through.
func Predicted(runs []Run, o Options) int { return len(tasks(runs, o)) }

// Backtest goes through the runs of applications from the 13th on (each so-manyth, as options
// say). each gets the place of the run among those, the run, and those before it, the
// oldest first; calls are concurrent.
func Backtest(ctx context.Context, runs []Run, o Options, each func(ctx context.Context, at int, run Run, known []stage.Job) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for at, t := range tasks(runs, o) {
		g.Go(func() error { return each(ctx, at, t.run, t.known) })
	}
	return g.Wait()
}

func (s *scores) backtest(ctx context.Context, run Run, known []stage.Job) error {
	model, err := stage.FitRecurring(ctx, known)
	if err != nil {
		return err
	}
	f, err := model.Predict(Plan(run.Job), nil)
	if err != nil {
		return err
	}
	plain, err := stage.Schedule(run.Job, f.Stages)
	if err != nil {
		return err
	}
	var length float64
	for _, st := range run.Graph.Stages {
		length = math.Max(length, st.EndSeconds)
	}
	collapsed := run.Graph.Collapse().Stages
	for i, p := range f.Stages {
		st := collapsed[i]
		truth := st.RuntimeSeconds()
		if truth > 0 {
			k := key{history, duration, recurringModel}
			s.add(k, point{p.Duration.Median(), truth, truth})
			s.covered[k] += inside(p.Duration, truth)
		}
		for _, x := range []struct {
			name string
			p    stage.Prediction
		}{{recurringModel, p}, {scheduleModel, plain.Stages[i]}} {
			s.add(key{history, start, x.name}, point{x.p.StartSeconds, st.StartSeconds, length})
			s.add(key{history, end, x.name}, point{x.p.EndSeconds, st.EndSeconds, length})
		}
	}
	for _, rule := range []string{stage.ScaledName, stage.LastName, stage.MeanName, stage.LinearName} {
		values, err := model.Simple(run.Job, rule)
		if err != nil {
			return err
		}
		for i, v := range values {
			if truth := collapsed[i].RuntimeSeconds(); truth > 0 {
				s.add(key{history, duration, rule}, point{v, truth, truth})
			}
		}
	}
	return nil
}

// Plan is a job before it runs: stages without times and amounts.
func Plan(j stage.Job) stage.Job {
	stages := j.Graph.Collapse().Stages
	for i := range stages {
		s := &stages[i]
		s.StartSeconds, s.EndSeconds, s.TaskSeconds = 0, 0, 0
		s.InputBytes, s.OutputBytes, s.ShuffleReadBytes, s.ShuffleWriteBytes = 0, 0, 0, 0
	}
	j.Graph.Stages = stages
	return j
}
