package replay

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// Budgets that cuts are chosen under, as shares of a graph's output bytes; infinite is
// none.
func Budgets() []float64 { return []float64{math.Inf(1), .5, .25, .1, .05} }

// Methods of choosing a cut.
const (
	Exact     = "exact"
	Heuristic = "heuristic"
	Prefix    = "prefix"
)

// OptimalityRow is what a method reaches on a set of graphs.
type OptimalityRow struct {
	Data string `json:"data"`
	// Budget is the share of all output bytes, and -1 none.
	Budget float64 `json:"budget"`
	Method string  `json:"method"`
	// MeanRatio and MinRatio are over the best that any method found, over the graphs
	// where that frees anything: Counted of Graphs.
	MeanRatio float64 `json:"mean_ratio"`
	MinRatio  float64 `json:"min_ratio"`
	Counted   int     `json:"counted"`
	Graphs    int     `json:"graphs"`
	// Freed is the mean share of all temporary byte-seconds, over all graphs.
	Freed float64 `json:"freed"`
	// Proven is the share of graphs with a gap of 0, MaxGap the largest certified one.
	Proven float64 `json:"proven"`
	MaxGap float64 `json:"max_gap"`
	// MeanMS and MaxMS are the time of one call, in milliseconds; 0 without a clock.
	MeanMS float64 `json:"latency_ms"`
	MaxMS  float64 `json:"max_latency_ms"`
}

// Clock returns seconds since anything; nil is no clock.
type Clock func() float64

func (c Clock) now() float64 {
	if c == nil {
		return 0
	}
	return c()
}

// Limits bound one call of a method in seconds of the clock. Without a clock the work
// is bounded instead.
type Limits struct {
	// ExactSeconds bounds the exact method; 0 is no bound but the work.
	ExactSeconds float64
	// BestRelaxations bounds the exact method, and the search for the best known cut without
	// ExactSeconds; 0 is [checkpoint.DefaultRelaxations].
	BestRelaxations int
}

// Optimality runs all methods on the graphs under all budgets.
func Optimality(data string, jobs []Job, clock Clock, limits Limits) ([]OptimalityRow, error) {
	var rows []OptimalityRow
	for _, budget := range Budgets() {
		byMethod := map[string]*OptimalityRow{}
		for _, m := range []string{Exact, Heuristic, Prefix} {
			row := &OptimalityRow{Data: data, Budget: budget, Method: m, MinRatio: 1, Graphs: len(jobs)}
			if math.IsInf(budget, 1) {
				row.Budget = -1
			}
			byMethod[m] = row
		}
		for _, j := range jobs {
			if err := optimality(j, budget, clock, limits, byMethod); err != nil {
				return nil, fmt.Errorf("%s: %w", j.Name, err)
			}
		}
		for _, m := range []string{Exact, Heuristic, Prefix} {
			row := *byMethod[m]
			row.finish()
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func optimality(j Job, budget float64, clock Clock, limits Limits, rows map[string]*OptimalityRow) error {
	p := checkpoint.Problem{Unlimited: true}
	if !math.IsInf(budget, 1) {
		p = checkpoint.Share(j.Graph, budget)
	}
	var best checkpoint.Result
	if clock != nil { // else the exact method is the same call
		var err error
		if best, err = checkpoint.Solve(j.Graph, p, checkpoint.Options{Relaxations: limits.BestRelaxations}); err != nil {
			return err
		}
	}
	results := map[string]checkpoint.Result{}
	for m, row := range rows {
		start := clock.now()
		r, err := call(m, j.Graph, p, clock, limits)
		if err != nil {
			return err
		}
		ms := 1e3 * (clock.now() - start)
		row.MeanMS += ms
		row.MaxMS = max(row.MaxMS, ms)
		results[m] = r
		if r.ByteSeconds > best.ByteSeconds {
			best = r
		}
	}
	for m, row := range rows {
		row.add(results[m], best.ByteSeconds, j.Graph.ByteSeconds(false))
	}
	return nil
}

func call(method string, g *checkpoint.Graph, p checkpoint.Problem, clock Clock, limits Limits) (checkpoint.Result, error) {
	switch method {
	case Prefix:
		return checkpoint.Prefix(g, p)
	case Heuristic:
		return checkpoint.Heuristic(g, p)
	default:
		o := checkpoint.Options{Relaxations: limits.BestRelaxations}
		if clock != nil && limits.ExactSeconds > 0 {
			end := clock() + limits.ExactSeconds
			o.Stop = func() bool { return clock() >= end }
		}
		return checkpoint.Solve(g, p, o)
	}
}

func (r *OptimalityRow) add(c checkpoint.Result, best, all float64) {
	if best > 0 {
		ratio := c.ByteSeconds / best
		r.MeanRatio += ratio
		r.MinRatio = min(r.MinRatio, ratio)
		r.Counted++
	}
	if all > 0 {
		r.Freed += c.ByteSeconds / all
	}
	if c.Exact {
		r.Proven++
	}
	r.MaxGap = max(r.MaxGap, c.Gap())
}

func (r *OptimalityRow) finish() {
	n := float64(max(r.Graphs, 1))
	if r.Counted > 0 {
		r.MeanRatio /= float64(r.Counted)
	} else {
		r.MeanRatio = 1
	}
	r.Freed /= n
	r.Proven /= n
	r.MeanMS /= n
}
