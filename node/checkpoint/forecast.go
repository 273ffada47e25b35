package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// forecast predicts a job, of which only the plan is known but for finished stages, from
// what had ended before a time: by the earlier runs of the same job, and where there are
// none by a general predictor. One earlier run is enough: scaled by data and hosts, it is
// about four times closer than a general predictor on public histories. The
// error wraps [ErrNoPredictor].
func (a *Advisor) forecast(ctx context.Context, ix *index, e *entry, job stage.Job, before time.Time, finished func(int) bool) (*stage.Forecast, *karasuv1.CheckpointBasis, error) {
	runs, err := a.past(ctx, ix, before, maxRuns, func(o *entry) bool { return o.sameJob(e) })
	if err != nil {
		return nil, nil, err
	}
	if job.Slots == 0 {
		job.Slots = stage.EstimateSlots(runs)
	}
	if len(runs) == 0 {
		return a.byGeneral(ctx, ix, e.framework, job, before, finished)
	}
	r, err := stage.FitRecurring(ctx, runs)
	if err != nil {
		return nil, nil, err
	}
	f, err := r.Predict(job, finished)
	if errors.Is(err, stage.ErrNoHistory) {
		return a.byGeneral(ctx, ix, e.framework, job, before, finished)
	}
	if err != nil {
		return nil, nil, err
	}
	basis := &karasuv1.CheckpointBasis{Source: fromRuns, Runs: uint32(len(runs)), Summary: fmt.Sprintf("%s of the job", counted(len(runs), "earlier run"))}
	a.complete(ctx, ix, e.framework, job, before, f, basis)
	return f, basis, nil
}

// complete fills in the sizes of stages that no earlier run had, from a general predictor.
func (a *Advisor) complete(ctx context.Context, ix *index, framework string, job stage.Job, before time.Time, f *stage.Forecast, basis *karasuv1.CheckpointBasis) {
	read := make(map[int]bool)
	for _, s := range job.Graph.Stages {
		for _, p := range s.Parents {
			read[p] = true
		}
	}
	var unseen []int
	for i, p := range f.Stages {
		if !p.Finished && !p.Duration.Positive && !p.OutputBytes.Positive && read[p.ID] {
			unseen = append(unseen, i)
		}
	}
	if len(unseen) == 0 {
		return
	}
	g, _, err := a.byGeneral(ctx, ix, framework, job, before, func(id int) bool { return finishedIn(f, id) })
	if err != nil { // then nothing is known of them
		basis.Assumptions = append(basis.Assumptions, counted(len(unseen), "stage")+" that no earlier run had: taken as empty and instantaneous")
		return
	}
	for _, i := range unseen {
		f.Stages[i].OutputBytes, f.Stages[i].Duration = g.Stages[i].OutputBytes, g.Stages[i].Duration
	}
	basis.Assumptions = append(basis.Assumptions, counted(len(unseen), "stage")+" that no earlier run had: sizes are those of the general predictor")
}

func finishedIn(f *stage.Forecast, id int) bool {
	i, ok := slices.BinarySearchFunc(f.Stages, id, func(p stage.Prediction, id int) int { return p.ID - id })
	return ok && f.Stages[i].Finished
}

// byGeneral predicts by a general predictor.
func (a *Advisor) byGeneral(ctx context.Context, ix *index, framework string, job stage.Job, before time.Time, finished func(int) bool) (*stage.Forecast, *karasuv1.CheckpointBasis, error) {
	own, err := a.ownGeneral(ctx, ix, framework, before)
	if err != nil && !errors.Is(err, stage.ErrNoHistory) {
		return nil, nil, err
	}
	jobs := 0
	if own != nil {
		jobs, _ = own.Trained()
	}
	if jobs < enoughJobs {
		f, n, err := a.byPeers(ctx, framework, job, finished)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			return f, &karasuv1.CheckpointBasis{Source: fromPeers, Runs: uint32(n),
				Summary: fmt.Sprintf("the predictors of %s; %s of the own store is too little", counted(n, "peer"), counted(jobs, "application"))}, nil
		}
	}
	if own == nil {
		return nil, nil, fmt.Errorf("%w: no earlier run of the job is stored, no other completed %s application with stages either, and no peer shares a predictor; import finished applications first", ErrNoPredictor, model.Clip(framework))
	}
	f, err := own.Predict(job, finished)
	if err != nil {
		return nil, nil, err
	}
	basis := &karasuv1.CheckpointBasis{Source: fromOwn, Runs: uint32(jobs), Summary: fmt.Sprintf("a general predictor of %s, as no earlier run of the job is stored", counted(jobs, "other application"))}
	if jobs < enoughJobs {
		basis.Assumptions = append(basis.Assumptions, fmt.Sprintf("%s: the predictor is rough below %d", counted(jobs, "application"), enoughJobs))
	}
	return f, basis, nil
}

// byPeers predicts by the median of what peers' predictors say of each stage, so that no
// single one of three or more decides. It returns nil where there is none.
func (a *Advisor) byPeers(ctx context.Context, framework string, job stage.Job, finished func(int) bool) (*stage.Forecast, int, error) {
	if a.Predictors == nil {
		return nil, 0, nil
	}
	shared, err := a.Predictors.StagePredictors(ctx, framework)
	if err != nil {
		return nil, 0, err
	}
	var all []*stage.Forecast
	for _, s := range shared[:min(len(shared), maxShared)] {
		f, err := s.Model.Predict(job, finished)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, 0, nil
	}
	return medianForecast(all), len(all), nil
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
