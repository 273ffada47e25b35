package stage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/trees"
)

// Options of a general model. Zero values are the defaults in parentheses.
type Options struct {
	// Trees of a forest (80).
	Trees int
	// Seed of the random thresholds.
	Seed uint64
}

const defaultTrees = 80

// MaxStages bounds the stages that a general model learns from: with more, the last
// jobs count. A forest of that many takes some seconds.
const MaxStages = 20_000

// General predicts stages of jobs that it has never seen. It is immutable and safe for
// concurrent use.
type General struct {
	forests [2][targets]*forest // nil where no stage has the target
	stack   *stack
	// Jobs and Stages that it learned from.
	jobs, stages int
	seed         uint64
	// tables are what it learned from; empty where it came as weights.
	tables      [2][targets]rows
	corrections rows
	shared      *Weights
}

// Fit learns from finished jobs, the oldest first. It wraps [ErrInput], [ErrNoHistory]
// or the context's error.
func Fit(ctx context.Context, jobs []Job, o Options) (*General, error) {
	count := o.Trees
	if count == 0 {
		count = defaultTrees
	}
	if count < 1 || count > 5000 {
		return nil, fmt.Errorf("%w: %d trees, want 1 to 5000", ErrInput, o.Trees)
	}
	list, err := compileAll(jobs)
	if err != nil {
		return nil, err
	}
	list = newest(list)
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no jobs", ErrNoHistory)
	}
	g := &General{jobs: len(list), seed: o.Seed}
	for _, c := range list {
		g.stages += len(c.stages)
	}
	groups := groupNumbers(list)
	var out [2]outside
	for _, k := range []knowledge{atSubmission, atStart} {
		g.tables[k] = tabulate(list, groups, k)
		for _, t := range []target{taskTarget, outputTarget, durationTarget} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := &g.tables[k][t]
			if len(r.y) == 0 {
				continue
			}
			if t == durationTarget {
				chainTable(list, r, out[k])
			}
			o := trees.ForestOptions{MinSplit: minSplit, Features: splitFeatures, Seed: o.Seed}
			if g.forests[k][t], out[k][t], err = fitForest(*r, count, o); err != nil {
				return nil, fmt.Errorf("forest of %s: %w", t, err)
			}
		}
	}
	if g.forests[atSubmission][durationTarget] == nil {
		return nil, fmt.Errorf("%w: no stage of %d jobs has a duration", ErrNoHistory, len(list))
	}
	g.stack, g.corrections, err = fitStack(list, groups, out[atSubmission], o.Seed)
	return g, err
}

// outside are the natural logarithms that forests predict for stages outside of what they
// learned from, for the stages that have a target in the order of [tabulate].
type outside [targets][]float64

// spread puts the predictions of one target back to its stages, as amounts by job and
// position; 0 where the stage has none.
func (o *outside) spread(list []*compiled, t target) [][]float64 {
	out := make([][]float64, len(list))
	at := 0
	for j, c := range list {
		out[j] = make([]float64, len(c.stages))
		for i := range c.stages {
			if _, ok := c.value(i, t); ok && o[t] != nil {
				out[j][i] = math.Exp(o[t][at])
				at++
			}
		}
	}
	return out
}

// chainTable adds the columns of the chain to the table of durations.
func chainTable(list []*compiled, r *rows, out outside) {
	task, output := out.spread(list, taskTarget), out.spread(list, outputTarget)
	var more []float64
	for j, c := range list {
		x := c.chain(task[j], output[j])
		for i := range c.stages {
			if _, ok := c.value(i, durationTarget); ok {
				more = append(more, x[i*chainWidth:(i+1)*chainWidth]...)
			}
		}
	}
	r.x = beside(r.x, r.d, more, chainWidth)
	r.d += chainWidth
}

// newest keeps the last jobs that have at most [MaxStages] stages, and at least one.
func newest(list []*compiled) []*compiled {
	n := 0
	for i := len(list) - 1; i >= 0; i-- {
		if n += len(list[i].stages); n > MaxStages {
			return list[min(i+1, len(list)-1):]
		}
	}
	return list
}

// groupNumbers numbers the groups of jobs; a job without a group is one of its own.
func groupNumbers(list []*compiled) []int {
	numbers := make(map[string]int)
	out := make([]int, len(list))
	for i, c := range list {
		name := "g" + c.Group
		if c.Group == "" {
			name = fmt.Sprint("j", i)
		}
		if _, ok := numbers[name]; !ok {
			numbers[name] = len(numbers)
		}
		out[i] = numbers[name]
	}
	return out
}

// tabulate returns the stages that have a target, for each target.
func tabulate(list []*compiled, groups []int, k knowledge) [targets]rows {
	d := width(k)
	var out [targets]rows
	for t := range out {
		out[t].d = d
	}
	for j, c := range list {
		x := c.features(k)
		for i := range c.stages {
			for t := range targets {
				if v, ok := c.value(i, t); ok {
					out[t].x = append(out[t].x, x[i*d:(i+1)*d]...)
					out[t].y = append(out[t].y, math.Log(v))
					out[t].groups = append(out[t].groups, groups[j])
				}
			}
		}
	}
	return out
}

func (t target) String() string { return [targets]string{"duration", "task time", "output size"}[t] }

// Trained returns the number of jobs and stages that the model learned from.
func (g *General) Trained() (jobs, stages int) { return g.jobs, g.stages }

// Predict forecasts a job: at submission where finished is nil, and otherwise with what
// the finished stages did. A finished stage is taken as measured; one whose parents have
// all finished is predicted from what they wrote. finished gets stage IDs. It wraps
// [ErrInput].
func (g *General) Predict(job Job, finished func(id int) bool) (*Forecast, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	done := c.finished(finished)
	list := g.predict(c, done, func(i int) knowledge {
		if len(c.parents[i]) == 0 {
			return atSubmission
		}
		for _, p := range c.parents[i] {
			if !done[p] {
				return atSubmission
			}
		}
		return atStart
	})
	g.stack.place(c, list)
	return c.forecast(list), nil
}

// PredictStarted predicts every stage from what it reads and how its parents ran, as if
// it had just read its input. Starts and ends are those of [Schedule]: the correction is
// for predictions at submission. It wraps [ErrInput].
func (g *General) PredictStarted(job Job) (*Forecast, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	list := g.predict(c, make([]bool, len(c.stages)), func(int) knowledge { return atStart })
	(&stack{}).place(c, list)
	return c.forecast(list), nil
}

// finished by position.
func (c *compiled) finished(finished func(id int) bool) []bool {
	done := make([]bool, len(c.stages))
	if finished != nil {
		for i, s := range c.stages {
			done[i] = finished(s.ID)
		}
	}
	return done
}

// predict all but starts and ends.
func (g *General) predict(c *compiled, done []bool, known func(i int) knowledge) []Prediction {
	tables := [2][]float64{c.features(atSubmission), c.features(atStart)}
	list := make([]Prediction, len(c.stages))
	task, output := make([]float64, len(list)), make([]float64, len(list))
	for i := range c.stages {
		s := &c.stages[i]
		p := &list[i]
		if p.ID = s.ID; done[i] {
			*p = measured(s.ID, s.RuntimeSeconds(), s.TaskSeconds, s.ShuffleWriteBytes)
			p.StartSeconds, p.EndSeconds = s.StartSeconds, s.EndSeconds
		} else {
			k := known(i)
			row := tables[k][i*width(k) : (i+1)*width(k)]
			p.TaskSeconds = g.forests[k][taskTarget].distribution(row)
			if c.writes[i] {
				p.OutputBytes = g.forests[k][outputTarget].distribution(row)
			}
		}
		task[i], output[i] = p.TaskSeconds.Median(), p.OutputBytes.Median()
	}
	chain := c.chain(task, output)
	for i := range list {
		if done[i] {
			continue
		}
		k := known(i)
		row := slices.Concat(tables[k][i*width(k):(i+1)*width(k)], chain[i*chainWidth:(i+1)*chainWidth])
		list[i].Duration = g.forests[k][durationTarget].distribution(row)
	}
	return list
}

// distribution at a row; zero where there is no forest.
func (f *forest) distribution(row []float64) Distribution {
	if f == nil {
		return Distribution{}
	}
	return newDistribution(f.predict(row))
}

func measured(id int, duration, task, output float64) Prediction {
	return Prediction{ID: id, Duration: Known(duration), TaskSeconds: Known(task), OutputBytes: Known(output), Finished: true}
}
