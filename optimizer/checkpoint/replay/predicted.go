package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/stage"
	stagereplay "github.com/karasu-project/karasu/model/stage/replay"
	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// Plans from predictions.
const (
	// PlanOnce is made at submission, and carried out whatever the stages turn out to be.
	PlanOnce = "once"
	// PlanResolved is made again whenever a stage ends, and committed to as soon as it holds
	// only finished stages.
	PlanResolved = "re-solved"
)

// PredictedRow is what plans from predictions free, measured with true sizes and times.
type PredictedRow struct {
	// Data are unseen queries, or runs of recurring jobs.
	Data string `json:"data"`
	// Budget is the share of all true output bytes, and -1 none.
	Budget float64 `json:"budget"`
	Plan   string  `json:"plan"`
	// MeanRatio and MedianRatio are over the true optimum, over the graphs where that frees
	// anything: Counted of Graphs. A plan whose true size is beyond the budget frees nothing.
	MeanRatio   float64 `json:"mean_ratio"`
	MedianRatio float64 `json:"median_ratio"`
	Counted     int     `json:"counted"`
	Graphs      int     `json:"graphs"`
	// Broken is the share of graphs whose plan is beyond the true budget, Without the share
	// that has an optimum, and no plan.
	Broken  float64 `json:"broken"`
	Without float64 `json:"without"`
}

// PredictedBudgets are those that plans from predictions are made for.
func PredictedBudgets() []float64 { return []float64{math.Inf(1), .5, .25, .1} }

// forecaster predicts a job of which some stages, by ID, have finished. Times and amounts
// of the others must not matter.
type forecaster func(finished func(id int) bool) (*stage.Forecast, error)

// outcome is what a plan frees beside the optimum, in byte-seconds.
type outcome struct {
	freed, best float64
	broken      bool
}

// QueryPlans are plans for queries, each with a general model that has seen none of its
// group.
type QueryPlans struct{ parts [][]outcome }

// NewQueryPlans makes room for what [stagereplay.LeaveOut] leaves out.
func NewQueryPlans(queries []stagereplay.Query, o stagereplay.Options) *QueryPlans {
	return &QueryPlans{make([][]outcome, len(stagereplay.Groups(queries, o)))}
}

// Each is a [stagereplay.Each].
func (p *QueryPlans) Each(_ context.Context, at int, left []stagereplay.Query, _ []stage.Job, model *stage.General) error {
	for _, q := range left {
		list, err := planned(truth(q.Job), func(finished func(int) bool) (*stage.Forecast, error) {
			return model.Predict(seen(q.Job, finished), finished)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
		p.parts[at] = append(p.parts[at], list...)
	}
	return nil
}

// Rows of all that was planned.
func (p *QueryPlans) Rows(data string) []PredictedRow { return predictedRows(data, p.parts) }

// PredictedRuns plans for runs of recurring jobs, each from the runs before it.
func PredictedRuns(ctx context.Context, data string, runs []stagereplay.Run, o stagereplay.Options) ([]PredictedRow, error) {
	parts := make([][]outcome, stagereplay.Predicted(runs, o))
	err := stagereplay.Backtest(ctx, runs, o, func(ctx context.Context, at int, run stagereplay.Run, known []stage.Job) error {
		model, err := stage.FitRecurring(ctx, known)
		if err != nil {
			return err
		}
		parts[at], err = planned(truth(run.Job), func(finished func(int) bool) (*stage.Forecast, error) {
			return model.Predict(seen(run.Job, finished), finished)
		})
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
		return nil
	})
	return predictedRows(data, parts), err
}

// seen is a job as it is known while it runs: stages that have not finished have no times
// and amounts but the optimizer's estimates.
func seen(j stage.Job, finished func(int) bool) stage.Job {
	plan := stagereplay.Plan(j)
	if finished == nil {
		return plan
	}
	for i, s := range j.Graph.Collapse().Stages {
		if finished(s.ID) {
			plan.Graph.Stages[i] = s
		}
	}
	return plan
}

// truth are the stages of a job that ran.
func truth(j stage.Job) []checkpoint.Stage {
	var out []checkpoint.Stage
	for _, s := range j.Graph.Collapse().Stages {
		out = append(out, checkpoint.Stage{ID: s.ID, Parents: slices.Concat(s.Parents, j.Broadcasts[s.ID]),
			Bytes: s.ShuffleWriteBytes, Start: s.StartSeconds, End: s.EndSeconds})
	}
	return out
}

// predicted are stages with what a forecast of them says.
func predicted(stages []checkpoint.Stage, f *stage.Forecast) []checkpoint.Stage {
	out := slices.Clone(stages)
	for i, p := range f.Stages { // both by ascending ID
		out[i].Bytes, out[i].Start, out[i].End = p.OutputBytes.Quantile(checkpoint.SizeQuantile), p.StartSeconds, p.EndSeconds
	}
	return out
}

// planned returns the outcomes of all budgets and plans, in the order of
// [PredictedBudgets], once and re-solved.
func planned(stages []checkpoint.Stage, forecast forecaster) ([]outcome, error) {
	g, err := checkpoint.NewGraph(stages)
	if err != nil {
		return nil, err
	}
	submission, err := forecast(nil)
	if err != nil {
		return nil, err
	}
	guess := predicted(stages, submission)
	first, err := checkpoint.NewGraph(guess)
	if err != nil {
		return nil, err
	}
	var out []outcome
	var planners []*checkpoint.Planner
	for _, b := range PredictedBudgets() {
		p := checkpoint.Problem{Unlimited: true}
		if !math.IsInf(b, 1) {
			p = checkpoint.Share(g, b)
		}
		best, err := checkpoint.Solve(g, p, checkpoint.Options{})
		if err != nil {
			return nil, err
		}
		once, err := checkpoint.Solve(first, p, checkpoint.Options{})
		if err != nil {
			return nil, err
		}
		o := outcome{best: best.ByteSeconds}
		written, freed := carriedOut(g, once.Before)
		if o.broken = !p.Unlimited && written > p.Budget*(1+1e-9); !o.broken {
			o.freed = freed
		}
		planner, err := checkpoint.NewPlanner(guess, p, checkpoint.Options{})
		if err != nil {
			return nil, err
		}
		planners = append(planners, planner)
		out = append(out, o, outcome{best: best.ByteSeconds})
	}
	cuts, err := resolve(g, planners, forecast)
	for i, before := range cuts {
		_, out[2*i+1].freed = carriedOut(g, before)
	}
	return out, err
}

// resolve tells planners of each stage that ends and of what is then predicted of the
// others, and returns the stages before the cut of each; nil where none was decided on.
func resolve(g *checkpoint.Graph, planners []*checkpoint.Planner, forecast forecaster) ([][]int, error) {
	cuts := make([][]int, len(planners))
	ended := g.Stages()
	slices.SortStableFunc(ended, func(a, b checkpoint.Stage) int { return cmp.Compare(a.End, b.End) })
	finished := make(map[int]bool, len(ended))
	open := len(planners)
	for _, s := range ended {
		finished[s.ID] = true
		f, err := forecast(func(id int) bool { return finished[id] })
		if err != nil {
			return nil, err
		}
		for i, p := range planners {
			if cuts[i] != nil {
				continue
			}
			if err := p.Finish(s.ID, s.Bytes, s.Start, s.End); err != nil {
				return nil, err
			}
			for _, q := range f.Stages {
				if finished[q.ID] {
					continue
				}
				if err := p.Predict(q.ID, q.OutputBytes.Quantile(checkpoint.SizeQuantile), q.StartSeconds, q.EndSeconds); err != nil {
					return nil, err
				}
			}
			d, err := p.Decide()
			if err != nil {
				return nil, err
			}
			if d.Commit {
				cuts[i] = d.Before
				open--
			}
		}
		if open == 0 {
			break
		}
	}
	return cuts, nil
}

// carriedOut is what a cut truly writes, in bytes, and frees, in byte-seconds, as soon as
// all before it has ended.
func carriedOut(g *checkpoint.Graph, before []int) (written, freed float64) {
	in := make(map[int]bool, len(before))
	for _, id := range before {
		in[id] = true
	}
	crosses := make(map[int]bool)
	var worth, at float64
	stages := g.Stages()
	for _, s := range stages {
		if in[s.ID] {
			worth += s.Bytes
			at = max(at, s.End)
			continue
		}
		for _, p := range s.Parents {
			crosses[p] = in[p]
		}
	}
	for _, s := range stages {
		if crosses[s.ID] {
			written += s.Bytes
		}
	}
	return written, worth * (g.Seconds() - at)
}

// predictedRows sums outcomes up, which are those of [planned] by part, one graph after the
// other.
func predictedRows(data string, parts [][]outcome) []PredictedRow {
	budgets, plans := PredictedBudgets(), []string{PlanOnce, PlanResolved}
	width := len(budgets) * len(plans)
	list := slices.Concat(parts...)
	var rows []PredictedRow
	for k := range width {
		row := PredictedRow{Data: data, Budget: budgets[k/len(plans)], Plan: plans[k%len(plans)], Graphs: len(list) / width}
		if math.IsInf(row.Budget, 1) {
			row.Budget = -1
		}
		var ratios []float64
		for i := k; i < len(list); i += width {
			o := list[i]
			if o.broken {
				row.Broken++
			}
			if o.best <= 0 {
				continue
			}
			ratios = append(ratios, o.freed/o.best)
			if o.freed == 0 && !o.broken {
				row.Without++
			}
		}
		row.finish(ratios)
		rows = append(rows, row)
	}
	return rows
}

func (r *PredictedRow) finish(ratios []float64) {
	n := float64(max(1, r.Graphs))
	r.Broken /= n
	r.Without /= n
	if r.Counted = len(ratios); r.Counted == 0 {
		return
	}
	for _, x := range ratios {
		r.MeanRatio += x / float64(len(ratios))
	}
	slices.Sort(ratios)
	r.MedianRatio = (ratios[(len(ratios)-1)/2] + ratios[len(ratios)/2]) / 2
}
