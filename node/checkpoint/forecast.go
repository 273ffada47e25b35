package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Sources of sizes and times.
const (
	fromMeasurement = "measured"
	fromRuns        = "earlier runs"
	fromOwn         = "own predictor"
	fromPeers       = "peers' predictors"
)

const (
	// enoughJobs is how many own executions a general predictor needs to come before those
	// of peers: with fewer, an organisation's own jobs do not cover what stages do.
	enoughJobs = 20
	// maxShared bounds the peers' predictors that one forecast asks.
	maxShared = 16
)

// always is after everything that is stored.
func always() time.Time { return time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }

// predictor predicts runs of one job from what had ended before a time. It is safe for
// concurrent use.
type predictor struct {
	// recurring is nil where the job has no earlier run; runs counts them.
	recurring *stage.Recurring
	runs      int
	// slots are those of earlier runs, where a record does not tell them.
	slots   int
	general func() (*general, error)
}

// general are the predictors of jobs that never ran.
type general struct {
	// own is nil where nothing is stored to train on; jobs counts what it was trained on.
	own    *stage.General
	jobs   int
	shared []Shared
}

// predictorFor learns from what had ended before a time: from the earlier runs of the same
// job, and, where it is needed, from all executions of the framework.
func (a *Advisor) predictorFor(ctx context.Context, ix *index, e *entry, before time.Time) (*predictor, error) {
	return a.fitted.get(ix, predictorKey{e.framework, e.job, e.series, before}, func() (*predictor, error) {
		runs, err := a.past(ctx, ix, before, maxRuns, func(o *entry) bool { return o.sameJob(e) })
		if err != nil {
			return nil, err
		}
		p := &predictor{runs: len(runs), slots: stage.EstimateSlots(runs)}
		background := context.WithoutCancel(ctx) // what is kept must not end with who asked first
		p.general = sync.OnceValues(func() (*general, error) { return a.generalFor(background, ix, e.framework, before) })
		if len(runs) > 0 {
			if p.recurring, err = stage.FitRecurring(ctx, runs); err != nil {
				return nil, err
			}
		}
		return p, nil
	})
}

// generalFor trains on the executions of a framework, and asks what peers share where
// these are few.
func (a *Advisor) generalFor(ctx context.Context, ix *index, framework string, before time.Time) (*general, error) {
	jobs, err := a.past(ctx, ix, before, maxJobs, func(o *entry) bool { return o.framework == framework })
	if err != nil {
		return nil, err
	}
	out := &general{jobs: len(jobs)}
	if out.own, err = stage.Fit(ctx, jobs, stage.Options{}); err != nil {
		if !errors.Is(err, stage.ErrNoHistory) {
			return nil, fmt.Errorf("train a predictor of stages: %w", err)
		}
		out.own, out.jobs = nil, 0
	}
	if out.jobs < enoughJobs && a.Predictors != nil {
		if out.shared, err = a.Predictors.StagePredictors(ctx, framework); err != nil {
			return nil, err
		}
		out.shared = out.shared[:min(len(out.shared), maxShared)]
	}
	return out, nil
}

// predict forecasts a job, of which only the plan is known but for finished stages: by the
// earlier runs of the job, and where there are none by a general predictor. One earlier
// run is enough: scaled by data and hosts, it is about four times closer than a general
// predictor on public histories. The error wraps [ErrNoPredictor].
func (p *predictor) predict(job stage.Job, finished func(int) bool) (*stage.Forecast, *karasuv1.CheckpointBasis, error) {
	if job.Slots == 0 {
		job.Slots = p.slots
	}
	if p.recurring == nil {
		return p.byGeneral(job, finished)
	}
	f, err := p.recurring.Predict(job, finished)
	if errors.Is(err, stage.ErrNoHistory) {
		return p.byGeneral(job, finished)
	}
	if err != nil {
		return nil, nil, err
	}
	basis := &karasuv1.CheckpointBasis{Source: fromRuns, Runs: uint32(p.runs), Summary: fmt.Sprintf("%s of the job", counted(p.runs, "earlier run"))}
	return f, basis, p.complete(job, f, basis)
}

// complete fills in the sizes of stages that no earlier run had, from a general predictor.
func (p *predictor) complete(job stage.Job, f *stage.Forecast, basis *karasuv1.CheckpointBasis) error {
	read := make(map[int]bool)
	for _, s := range job.Graph.Stages {
		for _, parent := range s.Parents {
			read[parent] = true
		}
	}
	var unseen []int
	for i, s := range f.Stages {
		if !s.Finished && !s.Duration.Positive && !s.OutputBytes.Positive && read[s.ID] {
			unseen = append(unseen, i)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	// Recurring and general forecasts have the same stages in the same order.
	g, _, err := p.byGeneral(job, func(id int) bool {
		i, ok := slices.BinarySearchFunc(f.Stages, id, func(s stage.Prediction, id int) int { return s.ID - id })
		return ok && f.Stages[i].Finished
	})
	if err != nil {
		return err
	}
	for _, i := range unseen {
		f.Stages[i].OutputBytes, f.Stages[i].Duration = g.Stages[i].OutputBytes, g.Stages[i].Duration
	}
	basis.Assumptions = append(basis.Assumptions, counted(len(unseen), "stage")+" that no earlier run had: the size is that of a general predictor")
	return nil
}

// byGeneral predicts by a general predictor: the own one, or where it is trained on little,
// those of peers.
func (p *predictor) byGeneral(job stage.Job, finished func(int) bool) (*stage.Forecast, *karasuv1.CheckpointBasis, error) {
	g, err := p.general()
	if err != nil {
		return nil, nil, err
	}
	var all []*stage.Forecast
	for _, s := range g.shared {
		f, err := s.Model.Predict(job, finished)
		if err != nil {
			return nil, nil, err
		}
		if possible(f) {
			all = append(all, f)
		}
	}
	if len(all) > 0 {
		return medianForecast(all), &karasuv1.CheckpointBasis{Source: fromPeers, Runs: uint32(len(all)),
			Summary: fmt.Sprintf("%s of peers; the own store holds %s to learn from", counted(len(all), "predictor"), counted(g.jobs, "application"))}, nil
	}
	if g.own == nil {
		return nil, nil, fmt.Errorf("%w: no completed application with stages that ended before this one is stored, and no peer shares a predictor; import finished applications first", ErrNoPredictor)
	}
	f, err := g.own.Predict(job, finished)
	if err != nil {
		return nil, nil, err
	}
	basis := &karasuv1.CheckpointBasis{Source: fromOwn, Runs: uint32(g.jobs),
		Summary: fmt.Sprintf("a general predictor that %s taught, as no earlier run of the job is stored", counted(g.jobs, "other application"))}
	if g.jobs < enoughJobs {
		basis.Assumptions = append(basis.Assumptions, fmt.Sprintf("a predictor of less than %d applications is rough", enoughJobs))
	}
	return f, basis, nil
}

// possible says whether a forecast is one that the optimizer takes: what peers say may be
// anything.
func possible(f *stage.Forecast) bool {
	for _, p := range f.Stages {
		if !(p.OutputBytes.Quantile(.9) <= model.MaxInputBytes && p.StartSeconds >= 0) {
			return false
		}
	}
	return f.EndSeconds <= model.MaxRuntime.Seconds()
}

// medianForecast is the median of forecasts of one job, stage by stage. Ends stay in order:
// what is not above another in any forecast is not in the medians.
func medianForecast(all []*stage.Forecast) *stage.Forecast {
	out := &stage.Forecast{Stages: slices.Clone(all[0].Stages)}
	values := make([]float64, len(all))
	middle := func(of func(f *stage.Forecast) float64) float64 {
		for k, f := range all {
			values[k] = of(f)
		}
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	for i := range out.Stages {
		p := &out.Stages[i]
		if p.Finished {
			out.EndSeconds = max(out.EndSeconds, p.EndSeconds)
			continue
		}
		for _, d := range []func(*stage.Prediction) *stage.Distribution{
			func(p *stage.Prediction) *stage.Distribution { return &p.Duration },
			func(p *stage.Prediction) *stage.Distribution { return &p.TaskSeconds },
			func(p *stage.Prediction) *stage.Distribution { return &p.OutputBytes },
		} {
			if !d(p).Positive {
				continue // for certain, in all of them
			}
			d(p).LogMedian = middle(func(f *stage.Forecast) float64 { return d(&f.Stages[i]).LogMedian })
			d(p).Scale = middle(func(f *stage.Forecast) float64 { return d(&f.Stages[i]).Scale })
		}
		p.StartSeconds = middle(func(f *stage.Forecast) float64 { return f.Stages[i].StartSeconds })
		p.EndSeconds = max(p.StartSeconds, middle(func(f *stage.Forecast) float64 { return f.Stages[i].EndSeconds }))
		out.EndSeconds = max(out.EndSeconds, p.EndSeconds)
	}
	return out
}

// counted is "1 run", "2 runs".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// intervalOf are the bounds of the middle 80% of a predicted size; nil where it is known.
func intervalOf(p stage.Prediction) (low, high *float64) {
	if p.Finished || !p.OutputBytes.Positive || p.OutputBytes.Scale == 0 {
		return nil, nil
	}
	l, h := p.OutputBytes.Quantile(.1), p.OutputBytes.Quantile(.9)
	if math.IsInf(h, 0) {
		return nil, nil
	}
	return &l, &h
}
