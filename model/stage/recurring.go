package stage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Recurring predicts the next run of one recurring job from its past runs. For each
// stage template, which is the so-manyth stage of a call site, it regresses the
// logarithm of an amount on those of the job's data size and hosts. It is immutable and
// safe for concurrent use.
type Recurring struct {
	runs      []recurringRun
	templates map[string][]past
}

// recurringRun holds natural logarithms; NaN is unknown.
type recurringRun struct{ data, hosts float64 }

// past is a stage in a run. amounts are logarithms of duration, task time and output,
// then of start and end; NaN is none.
type past struct {
	run     int
	amounts [amounts]float64
}

const (
	startAmount = int(targets)
	endAmount   = startAmount + 1
	amounts     = endAmount + 1
)

// regression says how past runs count.
type regression struct {
	// local weighs runs by how alike their conditions are.
	local bool
	// penalty shrinks slopes towards the prior, in units of a run of weight 1.
	penalty float64
}

// Constants of the regression, chosen on the public history of recurring applications.
const (
	// dataRange and hostsFactor scale distances of logarithms: a run weighs exp(-d^2) with
	// d = hypot(data, 1.5 hosts)/.35, and never less than least, so that few runs far away
	// still tell a slope.
	dataRange   = .35
	hostsFactor = 1.5
	leastWeight = .001
	// ageRange in runs: a run weighs exp(-age/ageRange).
	ageRange = 60.
)

var (
	localRegression = regression{local: true, penalty: .02}
	// plainRegression is ordinary least squares.
	plainRegression = regression{penalty: 1e-9}
)

// priorSlopes on data and hosts. Durations grow by less than the data, since part of
// them is fixed; task time and output do not depend on hosts.
var priorSlopes = [amounts][2]float64{
	durationTarget: {.7, -.5}, taskTarget: {.7, 0}, outputTarget: {1, 0}, startAmount: {.7, -.5}, endAmount: {.7, -.5},
}

// FitRecurring learns from past runs of one job, the oldest first. It wraps [ErrInput],
// [ErrNoHistory] or the context's error.
func FitRecurring(ctx context.Context, runs []Job) (*Recurring, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: no runs", ErrNoHistory)
	}
	r := &Recurring{templates: make(map[string][]past)}
	for i := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := compile(&runs[i])
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, len(runs), err)
		}
		r.runs = append(r.runs, conditions(c))
		for k, name := range c.templates() {
			s := &c.stages[k]
			p := past{run: i}
			for t := range targets {
				p.amounts[t] = math.NaN()
				if v, ok := c.value(k, t); ok {
					p.amounts[t] = math.Log(v)
				}
			}
			p.amounts[startAmount], p.amounts[endAmount] = math.Log(s.StartSeconds+softSeconds), math.Log(s.EndSeconds+softSeconds)
			r.templates[name] = append(r.templates[name], p)
		}
	}
	return r, nil
}

func conditions(c *compiled) recurringRun {
	log := func(v float64) float64 {
		if v > 0 {
			return math.Log(v)
		}
		return math.NaN()
	}
	return recurringRun{data: log(c.DataSize), hosts: log(float64(c.Hosts))}
}

// difference of two logarithms; one that is unknown counts as the same.
func difference(a, b float64) float64 {
	if d := a - b; !math.IsNaN(d) {
		return d
	}
	return 0
}

// templates names each stage by its call site and which of that site it is; without call
// sites by its operators.
func (c *compiled) templates() []string {
	seen := make(map[string]int)
	out := make([]string, len(c.stages))
	for i, s := range c.stages {
		name := s.Name
		if name == "" {
			name = signature(s.Operators)
		}
		out[i] = fmt.Sprintf("%s\x00%d", name, seen[name])
		seen[name]++
	}
	return out
}

// Predict forecasts a run with the stages of the job, of which only names, parents and
// conditions are read; finished stages are taken as measured, and what is to come moves by
// as much as they were early or late. finished gets stage IDs; nil is none. It wraps
// [ErrInput], or [ErrNoHistory] where no stage of the job has run before.
func (r *Recurring) Predict(job Job, finished func(id int) bool) (*Forecast, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	at := conditions(c)
	names := c.templates()
	done := c.finished(finished)
	list := make([]Prediction, len(c.stages))
	known := make([]bool, len(c.stages))
	var some bool
	for i, s := range c.stages {
		p := &list[i]
		if p.ID = s.ID; done[i] {
			*p = measured(s.ID, s.RuntimeSeconds(), s.TaskSeconds, s.ShuffleWriteBytes)
			p.StartSeconds, p.EndSeconds = s.StartSeconds, s.EndSeconds
		}
		history := r.templates[names[i]]
		if known[i] = len(history) > 0; !known[i] {
			continue
		}
		some = true
		if done[i] {
			continue
		}
		for t, to := range []*Distribution{&p.Duration, &p.TaskSeconds, &p.OutputBytes} {
			if target(t) != outputTarget || c.writes[i] {
				*to = r.regress(localRegression, history, t, at)
			}
		}
		p.StartSeconds = math.Max(0, r.regress(localRegression, history, startAmount, at).Median()-softSeconds)
		p.EndSeconds = math.Max(0, r.regress(localRegression, history, endAmount, at).Median()-softSeconds)
	}
	if !some {
		return nil, fmt.Errorf("%w: none of %d stages ran in %d runs", ErrNoHistory, len(list), len(r.runs))
	}
	r.align(c, list, known, done, names, at)
	return c.forecast(list), nil
}

// align gives times to stages that never ran, after their parents, and moves what is to
// come by what the latest finished stage was early or late.
func (r *Recurring) align(c *compiled, list []Prediction, known, done []bool, names []string, at recurringRun) {
	var now, late float64
	for i, p := range list {
		if done[i] && p.EndSeconds >= now {
			if now = p.EndSeconds; known[i] {
				late = now - (r.regress(localRegression, r.templates[names[i]], endAmount, at).Median() - softSeconds)
			}
		}
	}
	for i := range list {
		p := &list[i]
		if !done[i] && known[i] {
			p.StartSeconds = max(0, p.StartSeconds+late)
			p.EndSeconds = max(now, p.EndSeconds+late)
		}
	}
	for _, i := range c.order {
		if p := &list[i]; !known[i] && !done[i] {
			p.StartSeconds = now
			for _, k := range c.parents[i] {
				p.StartSeconds = max(p.StartSeconds, list[k].EndSeconds)
			}
			p.EndSeconds = p.StartSeconds // how long it takes nobody knows
		}
	}
}

// regress returns the distribution of an amount under the given conditions: the
// intercept of a weighted ridge regression around them.
func (r *Recurring) regress(by regression, history []past, amount int, at recurringRun) Distribution {
	prior := priorSlopes[amount]
	var normal [3][3]float64
	var right [3]float64
	var n float64
	type row struct{ w, data, hosts, y float64 }
	var used []row
	for _, p := range history {
		if math.IsNaN(p.amounts[amount]) {
			continue
		}
		run := r.runs[p.run]
		x := row{data: difference(run.data, at.data), hosts: difference(run.hosts, at.hosts)}
		d := math.Hypot(x.data, hostsFactor*x.hosts) / dataRange
		x.w = 1
		if by.local {
			x.w = (math.Exp(-d*d) + leastWeight) * math.Exp(-float64(len(r.runs)-p.run)/ageRange)
		}
		x.y = p.amounts[amount] - prior[0]*x.data - prior[1]*x.hosts
		used = append(used, x)
		f := [3]float64{1, x.data, x.hosts}
		for a := range f {
			right[a] += x.w * f[a] * x.y
			for b := range f {
				normal[a][b] += x.w * f[a] * f[b]
			}
		}
		n += x.w
	}
	if len(used) == 0 {
		return Distribution{}
	}
	normal[1][1] += by.penalty
	normal[2][2] += by.penalty
	beta := solve3(normal, right)
	var sum float64
	for _, x := range used {
		e := x.y - beta[0] - beta[1]*x.data - beta[2]*x.hosts
		sum += x.w * e * e
	}
	// A pseudo-run with an error of 20% keeps few runs from claiming to be exact.
	scale := math.Sqrt((sum + .3*.04) / (n + .3))
	return newDistribution(beta[0], max(minScale, scale))
}

// solve3 solves a symmetric system of three; where it has no solution the mean stays.
func solve3(normal [3][3]float64, right [3]float64) [3]float64 {
	m := mat.NewSymDense(3, nil)
	for a := range 3 {
		for b := a; b < 3; b++ {
			m.SetSym(a, b, normal[a][b])
		}
	}
	var chol mat.Cholesky
	var beta mat.VecDense
	if chol.Factorize(m) && chol.SolveVecTo(&beta, mat.NewVecDense(3, right[:])) == nil {
		return [3]float64{beta.AtVec(0), beta.AtVec(1), beta.AtVec(2)}
	}
	return [3]float64{right[0] / normal[0][0]}
}

// Runs returns how many runs were learned from, and how many stage templates they have.
func (r *Recurring) Runs() (runs, templates int) { return len(r.runs), len(r.templates) }

// Simple predictions of a recurring stage's duration, to compare with.
const (
	LastName   = "last value"
	ScaledName = "last value scaled"
	MeanName   = AverageName
	LinearName = "linear model"
)

// Simple returns, for each stage, what a simple rule says of its duration in seconds: the
// last run's, the last run's scaled by data and hosts with the prior slopes, the mean of
// all, or a line through all logarithms; 0 where it never ran. It wraps [ErrInput].
func (r *Recurring) Simple(job Job, rule string) ([]float64, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	at := conditions(c)
	out := make([]float64, len(c.stages))
	for i, name := range c.templates() {
		history := slices.DeleteFunc(slices.Clone(r.templates[name]), func(p past) bool {
			return math.IsNaN(p.amounts[durationTarget])
		})
		if len(history) == 0 {
			continue
		}
		last := history[len(history)-1]
		run := r.runs[last.run]
		switch rule {
		case MeanName:
			for _, p := range history {
				out[i] += math.Exp(p.amounts[durationTarget]) / float64(len(history))
			}
		case LastName:
			out[i] = math.Exp(last.amounts[durationTarget])
		case ScaledName:
			slopes := priorSlopes[durationTarget]
			out[i] = math.Exp(last.amounts[durationTarget] + slopes[0]*difference(at.data, run.data) + slopes[1]*difference(at.hosts, run.hosts))
		case LinearName:
			out[i] = r.regress(plainRegression, history, int(durationTarget), at).Median()
		default:
			return nil, fmt.Errorf("%w: rule %q, want %s, %s, %s or %s", ErrInput, rule, LastName, ScaledName, MeanName, LinearName)
		}
	}
	return out, nil
}
