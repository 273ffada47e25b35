package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

const (
	// MaxRuns is the length of a search.
	MaxRuns = 10
	// Repeats of every search, with other noise and other supports.
	Repeats = 3
	// NothingValid is the ratio that a search without a valid run counts as.
	NothingValid = 3.0
	// noiseSD of the log runtime is added to every observation.
	noiseSD = 0.1
)

// Method is a search method under test.
type Method struct {
	Name string
	// New returns one that is used by one goroutine at a time.
	New func() search.Method
}

// Config is one replay.
type Config struct {
	// Runs are the table.
	Runs []model.Run
	// Candidates are the configurations with resources and prices. A workload's
	// space are those that it ran on.
	Candidates []search.Candidate
	Methods    []Method
	// Baseline makes the searches whose traces are the supports.
	Baseline Method
	// Scenarios default to all.
	Scenarios []Scenario
	// Objective defaults to cost.
	Objective search.Objective
	// Seed of everything random. SeedSets are independent replays, 1 or more,
	// over which rows are averaged and whose spread they state.
	Seed     uint64
	SeedSets int
	// NoInputSizes hides input sizes; Centred hides the levels of supports.
	NoInputSizes, Centred bool
	// Details keeps the ratios and seconds of every search in the report, and has
	// each search begin with nothing kept from others.
	Details bool
	// Workers defaults to GOMAXPROCS. Results do not depend on it.
	Workers int
	// Progress is called from one goroutine at a time with searches done and in all.
	Progress func(done, total int)
}

// search outcome of one method, scenario, workload, target and repeat.
type outcome struct {
	// ratio has one entry a run: best valid objective so far over the best there is.
	ratio [MaxRuns]float64
	found [MaxRuns]bool
	// stopAt is the number of runs after which the method said stop; MaxRuns if never.
	stopAt int
	// spent is the sum of the objective over all runs, in units of the best valid one.
	spent [MaxRuns]float64
	// seconds that each suggestion took.
	seconds [MaxRuns]float64
	// supports is how many the search had.
	supports int
	trace    trace
}

// job is one search to do; its result goes to a place of its own.
type job struct {
	method   Method
	scenario *Scenario
	seed     seed
	w        *workload
	out      *outcome
	// prepare, if set, changes the problem before the search; visit sees every
	// evaluation, with the noise that a run on each candidate would have.
	prepare func(p *search.Problem)
	visit   func(n int, e *search.Evaluation, noise []float64)
}

// Run replays the protocol. It returns the context's error if that ends first.
func Run(ctx context.Context, c Config) (*Report, error) {
	start := time.Now()
	if c.Objective == "" {
		c.Objective = search.Cost
	}
	if c.Scenarios == nil {
		c.Scenarios = Scenarios()
	}
	c.SeedSets = max(c.SeedSets, 1)
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	table, skipped, err := newTable(c.Runs, c.Candidates)
	if err != nil {
		return nil, err
	}
	r := &replay{Config: &c, table: table}

	baseline := r.outcomes(c.Baseline, nil)
	rows := make([][]*outcome, 0, len(c.Methods)*len(c.Scenarios))
	var jobs []job
	needTraces := false
	for _, s := range c.Scenarios {
		needTraces = needTraces || s.pool != nil
	}
	for m := range c.Methods {
		for s := range c.Scenarios {
			row := r.outcomes(c.Methods[m], &c.Scenarios[s])
			jobs = append(jobs, row...)
			rows = append(rows, results(row))
		}
	}
	r.total = len(jobs)
	if needTraces {
		r.total += len(baseline)
		if err := r.do(ctx, baseline); err != nil {
			return nil, err
		}
		r.collect(baseline)
	}
	if err := r.do(ctx, jobs); err != nil {
		return nil, err
	}

	report := &Report{Workloads: len(table), Skipped: skipped, Seed: c.Seed, SeedSets: c.SeedSets}
	for i, row := range rows {
		s := &c.Scenarios[i%len(c.Scenarios)]
		report.Rows = append(report.Rows, r.row(c.Methods[i/len(c.Scenarios)].Name, s.Name, row))
		report.Rows[i].SoloScenario = cmp.Or(s.alone, "solo")
	}
	report.compareWithSolo()
	report.WallSeconds = time.Since(start).Seconds()
	return report, nil
}

type replay struct {
	*Config
	table []*workload
	// traces are sets x workloads x searches.
	traces      [][][]trace
	done, total int
}

// outcomes lists the searches of one row, set by set, workload by workload.
func (r *replay) outcomes(m Method, s *Scenario) []job {
	var jobs []job
	for set := range r.SeedSets {
		for i, w := range r.table {
			for t := range w.targets {
				for k := range Repeats {
					jobs = append(jobs, job{method: m, scenario: s, seed: seed{r.Seed, uint64(set), uint64(i), uint64(t), uint64(k)}, w: w, out: &outcome{}})
				}
			}
		}
	}
	return jobs
}

func results(jobs []job) []*outcome {
	out := make([]*outcome, len(jobs))
	for i := range jobs {
		out[i] = jobs[i].out
	}
	return out
}

func (r *replay) collect(jobs []job) {
	r.traces = make([][][]trace, r.SeedSets)
	for set := range r.traces {
		r.traces[set] = make([][]trace, len(r.table))
	}
	for _, j := range jobs {
		of := &r.traces[j.seed.set][j.seed.workload]
		*of = append(*of, j.out.trace)
	}
}

// do runs the jobs on the workers. Each writes only to its own outcome, so the
// order of execution does not matter.
func (r *replay) do(ctx context.Context, jobs []job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan job)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range r.Workers {
		wg.Go(func() {
			methods := map[string]search.Method{}
			for j := range next {
				m := methods[j.method.Name]
				if m == nil || r.Details {
					m = j.method.New()
					methods[j.method.Name] = m
				}
				if err := r.search(m, j); err != nil {
					cancel(fmt.Errorf("searches of %s: %w", j.w.Topic(), err))
					return
				}
				mu.Lock()
				r.done++
				if r.Progress != nil {
					r.Progress(r.done, r.total)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for _, j := range jobs {
		select {
		case next <- j:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// search runs one search to its end.
func (r *replay) search(m search.Method, j job) error {
	w, target := j.w, int(j.seed.target)
	p := w.problem(target, r.Objective)
	p.Seed = j.seed.stream("method").Uint64()
	if !r.NoInputSizes {
		p.InputBytes = w.InputBytes
	}
	if j.scenario != nil {
		if j.scenario.pool != nil {
			p.Supports = j.scenario.supports(w, r.table, r.traces[j.seed.set], j.seed)
		}
		r.hide(p.Supports)
	}
	j.out.supports = len(p.Supports)
	noise := make([]float64, len(w.candidates))
	rng := j.seed.stream("noise")
	for i := range noise {
		noise[i] = noiseSD * rng.NormFloat64()
	}
	measured := r.Objective
	if j.scenario != nil && j.scenario.front != nil {
		p.Objectives, measured = j.scenario.front, j.scenario.measured
	}
	objective := w.objective(target, measured)
	if j.prepare != nil {
		j.prepare(p)
	}

	j.out.trace.of = w
	j.out.stopAt = MaxRuns
	best, spent := math.Inf(1), 0.
	clock := r.clock()
	var observed []search.Observation
	for n := range MaxRuns {
		start := clock()
		e, err := m.Evaluate(p, observed)
		if err != nil {
			return err
		}
		j.out.seconds[n] = clock() - start
		if j.visit != nil {
			j.visit(n, e, noise)
		}
		if e.Stop && j.out.stopAt == MaxRuns {
			j.out.stopAt = n
		}
		if i := e.Next; i >= 0 {
			o := search.Observation{Configuration: w.candidates[i].Configuration, Resources: w.candidates[i].Resources, Outcome: w.outcome[i]}
			if o.Outcome != model.Failed {
				y := w.logRuntime[i] + noise[i]
				o.RuntimeSeconds = math.Exp(y)
				j.out.trace.candidates = append(j.out.trace.candidates, i)
				j.out.trace.logRuntime = append(j.out.trace.logRuntime, y)
			}
			observed = append(observed, o)
			best = min(best, objective.valid[i])
			spent += objective.all[i]
		}
		j.out.ratio[n], j.out.found[n], j.out.spent[n] = NothingValid, false, spent/objective.best
		if !math.IsInf(best, 1) {
			j.out.ratio[n], j.out.found[n] = best/objective.best, true
		}
	}
	return nil
}

// hide removes from supports what the replay says is not shared.
func (r *replay) hide(supports []search.Support) {
	for i := range supports {
		s := &supports[i].Summary
		if r.NoInputSizes {
			s.InputSizeLog2 = 0
		}
		if r.Centred {
			s.Absolute, s.Level = false, 0
		}
	}
}

// objectives of one workload at one target, one entry a candidate.
type objectives struct {
	// valid is +Inf where the run is not a valid answer; all is 0 where the run
	// gave no runtime.
	valid, all []float64
	best       float64
}

func (w *workload) objective(target int, o search.Objective) objectives {
	out := objectives{best: math.Inf(1)}
	for i := range w.candidates {
		offset, known := w.candidates[i].LogOffset(o)
		v := math.Inf(1)
		total := 0.
		if known && w.outcome[i] != model.Failed {
			total = math.Exp(w.logRuntime[i] + offset)
			if w.outcome[i] == model.OK && w.logRuntime[i] <= math.Log(w.targets[target]) {
				v = total
			}
		}
		out.valid, out.all, out.best = append(out.valid, v), append(out.all, total), min(out.best, v)
	}
	return out
}
