package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// ErrTooLittle means that a table has no workload that can be replayed.
var ErrTooLittle = errors.New("too few runs to replay")

// minConfigurations is how many configurations a workload must have completed on
// for its targets to mean anything.
const minConfigurations = 5

// targetPercentiles of a workload's completed runtimes are the runtime targets.
var targetPercentiles = []float64{10, 30, 50, 70, 90}

// workload is one workload's part of the table.
type workload struct {
	model.Workload
	// pseudonym stands for the workload in the supports.
	pseudonym string
	// candidates are the configurations that the workload ran on.
	candidates []search.Candidate
	// logRuntime has one entry a candidate; outcome says what it is worth.
	logRuntime []float64
	outcome    []model.Outcome
	// targets in seconds, rising.
	targets []float64
}

// newTable groups runs by workload and configuration. Runs on configurations that
// are not among the candidates are left out, and counted. Several runs of one
// configuration become one: the median of those that completed.
func newTable(runs []model.Run, candidates []search.Candidate) (table []*workload, skipped int, err error) {
	index := make(map[model.Configuration]int, len(candidates))
	for i, c := range candidates {
		index[c.Configuration] = i
	}
	type cell struct{ ok, timeouts []float64 }
	type group struct {
		w     model.Workload
		bytes []float64
		cells map[int]*cell
	}
	groups := map[string]*group{}
	for _, r := range runs {
		if err := r.Validate(); err != nil {
			return nil, 0, fmt.Errorf("run on %s: %w", r.Configuration, err)
		}
		c, known := index[r.Configuration]
		if !known {
			skipped++
			continue
		}
		id := r.Workload.Identity()
		g := groups[id]
		if g == nil {
			g = &group{w: r.Workload, cells: map[int]*cell{}}
			groups[id] = g
		}
		if r.Workload.InputBytes > 0 {
			g.bytes = append(g.bytes, r.Workload.InputBytes)
		}
		if g.cells[c] == nil {
			g.cells[c] = &cell{}
		}
		switch r.Outcome {
		case model.OK:
			g.cells[c].ok = append(g.cells[c].ok, r.RuntimeSeconds)
		case model.Timeout:
			g.cells[c].timeouts = append(g.cells[c].timeouts, r.RuntimeSeconds)
		}
	}
	most := 0
	for _, g := range groups {
		w := &workload{Workload: g.w}
		w.InputBytes = 0
		if len(g.bytes) > 0 {
			w.InputBytes = percentile(g.bytes, 50)
		}
		var completed []float64
		for i, c := range candidates {
			cell := g.cells[i]
			if cell == nil {
				continue
			}
			w.candidates = append(w.candidates, c)
			outcome, runtime := model.Failed, math.NaN()
			switch {
			case len(cell.ok) > 0:
				outcome, runtime = model.OK, percentile(cell.ok, 50)
				completed = append(completed, runtime)
			case len(cell.timeouts) > 0:
				outcome, runtime = model.Timeout, percentile(cell.timeouts, 50)
			}
			w.outcome, w.logRuntime = append(w.outcome, outcome), append(w.logRuntime, math.Log(runtime))
		}
		most = max(most, len(completed))
		if len(completed) < minConfigurations {
			skipped += len(g.cells)
			continue
		}
		for _, q := range targetPercentiles {
			w.targets = append(w.targets, percentile(completed, q))
		}
		table = append(table, w)
	}
	if len(table) == 0 {
		return nil, skipped, fmt.Errorf("%w: a workload takes part that completed on %d configurations, and of the %d here (infrastructure, framework, algorithm, job and dataset tell them apart) none did on more than %d",
			ErrTooLittle, minConfigurations, len(groups), most)
	}
	slices.SortFunc(table, func(a, b *workload) int { return cmp.Compare(a.Identity(), b.Identity()) })
	for i, w := range table {
		w.pseudonym = fmt.Sprintf("%032x", i+1)
	}
	return table, skipped, nil
}

// problem is the search for the workload at one of its targets.
func (w *workload) problem(target int, objective search.Objective) *search.Problem {
	return &search.Problem{
		Topic: w.Topic(), Candidates: w.candidates, Objective: objective,
		Target: time.Duration(w.targets[target] * float64(time.Second)),
	}
}

// percentile interpolates linearly between order statistics, n >= 1.
func percentile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	pos := q / 100 * float64(len(v)-1)
	i := int(pos)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (pos-float64(i))*(v[i+1]-v[i])
}
