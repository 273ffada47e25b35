package replay

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/karasu-project/karasu/model/stage"
)

// Options of a replay. Zero values are the defaults in parentheses.
type Options struct {
	// Trees of a forest (those of [stage.Options]).
	Trees int
	// Every so-manyth group of queries, or run, is predicted (1: all).
	Every int
	// Compared models are fitted, too, unless this is set.
	ChosenOnly bool
	// Seed of the models.
	Seed uint64
	// Progress, if not nil, is told after each group of queries; calls do not overlap.
	Progress func(done, total int)
}

// Each gets the place of a group of queries among those left out, its queries, the jobs of
// the others, and the model of those.
type Each func(ctx context.Context, at int, left []Query, known []stage.Job, model *stage.General) error

// Data sets as rows name them.
const (
	tpcSubmission = "tpc at submission"
	tpcStart      = "tpc at start"
)

// Models as rows name them; others are those of the stage package.
const (
	forestModel    = "extra trees"
	sharedModel    = "extra trees, shared"
	scheduleModel  = "schedule"
	stackedModel   = "schedule, stacked"
	schedule0Model = "schedule of true times"
)

// TPC leaves out every group of queries in turn. more, if not nil, gets the same models.
func TPC(ctx context.Context, queries []Query, o Options, more Each) ([]Row, error) {
	parts := make([]*scores, len(Groups(queries, o)))
	err := LeaveOut(ctx, queries, o, func(ctx context.Context, at int, left []Query, known []stage.Job, model *stage.General) error {
		parts[at] = newScores()
		if err := parts[at].leftOut(ctx, left, known, model, o); err != nil || more == nil {
			return err
		}
		return more(ctx, at, left, known, model)
	})
	if err != nil {
		return nil, err
	}
	all := newScores()
	for _, p := range parts {
		all.join(p)
	}
	all.sort([]string{tpcSubmission, tpcStart}, []string{duration, taskTime, output, start, end, observedEnd},
		[]string{forestModel, sharedModel, stage.BoostedName, stage.RidgeName, stage.EstimatesName, stage.AverageName,
			stackedModel, scheduleModel, schedule0Model})
	return all.rows(func(k key) bool {
		return k.model == forestModel || k.model == stackedModel || k.data == tpcStart && k.model == scheduleModel
	}), nil
}

// Groups of queries that [LeaveOut] leaves out.
func Groups(queries []Query, o Options) []string {
	var all, out []string
	for _, q := range queries {
		if !slices.Contains(all, q.Group) {
			all = append(all, q.Group)
		}
	}
	for i := 0; i < len(all); i += max(1, o.Every) {
		out = append(out, all[i])
	}
	return out
}

// LeaveOut leaves out every group of queries in turn (every so-manyth, as options say), and
// fits a general model to the others. Calls of each are concurrent.
func LeaveOut(ctx context.Context, queries []Query, o Options, each Each) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	var lock sync.Mutex
	list, done := Groups(queries, o), 0
	for at, group := range list {
		g.Go(func() error {
			var known []stage.Job
			var left []Query
			for _, q := range queries {
				if q.Group == group {
					left = append(left, q)
				} else {
					known = append(known, q.Job)
				}
			}
			slots := stage.EstimateSlots(known)
			for i := range known {
				known[i].Slots = slots
			}
			for i := range left {
				left[i].Slots = slots
			}
			model, err := stage.Fit(ctx, known, stage.Options{Trees: o.Trees, Seed: o.Seed})
			if err != nil {
				return err
			}
			if err := each(ctx, at, left, known, model); err != nil || o.Progress == nil {
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			done++
			o.Progress(done, len(list))
			return nil
		})
	}
	return g.Wait()
}

// leftOut scores a model, and those compared with it, on queries that it did not learn from.
func (s *scores) leftOut(ctx context.Context, left []Query, known []stage.Job, model *stage.General, o Options) error {
	var compared []stage.Compared
	var shared *stage.General
	if !o.ChosenOnly {
		var err error
		if compared, err = stage.FitCompared(known); err != nil {
			return err
		}
		weights, err := model.Weights()
		if err != nil {
			return err
		}
		if shared, err = stage.FromWeights(weights); err != nil {
			return err
		}
	}
	for _, q := range left {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.general(q, forestModel, model); err != nil {
			return err
		}
		if shared != nil {
			if err := s.general(q, sharedModel, shared); err != nil {
				return err
			}
		}
		for _, m := range compared {
			for _, data := range []string{tpcSubmission, tpcStart} {
				list, err := m.Predict(q.Job, data == tpcStart)
				if err != nil {
					return err
				}
				s.amounts(q, data, m.Name, list, false)
			}
		}
	}
	return nil
}

// general scores a forecast with each knowledge.
func (s *scores) general(q Query, name string, model *stage.General) error {
	submission, err := model.Predict(q.Job, nil)
	if err != nil {
		return err
	}
	started, err := model.PredictStarted(q.Job)
	if err != nil {
		return err
	}
	s.amounts(q, tpcSubmission, name, submission.Stages, true)
	s.amounts(q, tpcStart, name, started.Stages, true)
	if name != forestModel {
		return nil
	}
	s.ends(q, tpcSubmission, stackedModel, submission)
	plain, err := stage.Schedule(q.Job, submission.Stages)
	if err != nil {
		return err
	}
	s.ends(q, tpcSubmission, scheduleModel, plain)
	s.ends(q, tpcStart, scheduleModel, started)
	truth := slices.Clone(submission.Stages)
	for i := range truth {
		st := q.Graph.Stages[i]
		truth[i].Duration, truth[i].TaskSeconds = stage.Known(st.RuntimeSeconds()), stage.Known(st.TaskSeconds)
	}
	if plain, err = stage.Schedule(q.Job, truth); err != nil {
		return err
	}
	s.ends(q, tpcStart, schedule0Model, plain)
	return nil
}

// amounts scores duration, task time and output size.
func (s *scores) amounts(q Query, data, model string, list []stage.Prediction, spread bool) {
	for i, p := range list {
		st := q.Graph.Stages[i]
		for _, a := range []struct {
			target string
			d      stage.Distribution
			truth  float64
		}{{duration, p.Duration, st.RuntimeSeconds()}, {taskTime, p.TaskSeconds, st.TaskSeconds}, {output, p.OutputBytes, st.ShuffleWriteBytes}} {
			if a.truth <= 0 {
				continue
			}
			k := key{data, a.target, model}
			s.add(k, point{a.d.Median(), a.truth, a.truth})
			if spread {
				s.covered[k] += inside(a.d, a.truth)
			}
		}
	}
}

func inside(d stage.Distribution, truth float64) int {
	if truth >= d.Quantile(.1) && truth <= d.Quantile(.9) {
		return 1
	}
	return 0
}

// ends scores starts and ends, as shares of the query's length.
func (s *scores) ends(q Query, data, model string, f *stage.Forecast) {
	var length float64
	for _, st := range q.Graph.Stages {
		length = math.Max(length, st.EndSeconds)
	}
	for i, p := range f.Stages {
		st := q.Graph.Stages[i]
		s.add(key{data, start, model}, point{p.StartSeconds, st.StartSeconds, length})
		s.add(key{data, end, model}, point{p.EndSeconds, st.EndSeconds, length})
		if q.Observed[i] {
			s.add(key{data, observedEnd, model}, point{p.EndSeconds, st.EndSeconds, length})
		}
	}
}
