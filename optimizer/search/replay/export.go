package replay

import (
	"context"
	"math"
	"runtime"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// designRuns is the length of the baseline's initial design (CherryPick, NSDI 2017,
// section 3.4).
const designRuns = 3

// Export is the protocol spelt out, so that methods outside this program can be
// measured on exactly the same searches: the same targets, noise and supports.
type Export struct {
	// MaxRuns is the length of a search; NothingValid is what a search without a
	// valid run counts as.
	MaxRuns      int              `json:"max_runs"`
	NothingValid float64          `json:"nothing_valid"`
	NoiseSD      float64          `json:"noise_sd"`
	Searches     []ExportedSearch `json:"searches"`
}

// ExportedSearch is one search. All lists but Supports have one entry a candidate.
type ExportedSearch struct {
	Workload      string  `json:"workload"`
	TargetSeconds float64 `json:"target_seconds"`
	Set           uint64  `json:"set"`
	Repeat        uint64  `json:"repeat"`
	// Features are log2(nodes), log2(cores a node) and log2(GiB a core).
	Features [][3]float64 `json:"features"`
	// LogOffset is, an objective, what to add to ln(seconds) to get the log objective
	// of a run. Objectives that are not known of every candidate are left out.
	LogOffset map[search.Objective][]float64 `json:"log_offset"`
	// LogRuntime is what an observation gives, in ln(seconds); null is none. Outcome
	// is ok, failed or timeout; the log runtime of a timeout is a lower bound.
	LogRuntime []*float64 `json:"log_runtime"`
	Outcome    []string   `json:"outcome"`
	// ValidCost in USD, without noise; null is not valid.
	ValidCost []*float64 `json:"valid_cost"`
	// Design are the candidates that the baseline starts with, before it trusts its
	// model: the same start for methods that need one.
	Design []int `json:"design"`
	// Supports are the traces of scenario A3.
	Supports []ExportedTrace `json:"supports"`
}

// ExportedTrace is one support: n x 3 features and n log runtimes.
type ExportedTrace struct {
	Features   [][3]float64 `json:"features"`
	LogRuntime []float64    `json:"log_runtime"`
}

// Spell returns the searches of the protocol with the supports of scenario A3.
func Spell(ctx context.Context, c Config) (*Export, error) {
	a3, err := ScenarioByName("A3")
	if err != nil {
		return nil, err
	}
	c.Objective = search.Cost
	c.SeedSets = max(c.SeedSets, 1)
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	table, _, err := newTable(c.Runs, c.Candidates)
	if err != nil {
		return nil, err
	}
	r := &replay{Config: &c, table: table}
	baseline := r.outcomes(c.Baseline, nil)
	designs := make([][]int, len(baseline))
	for i := range baseline {
		baseline[i].visit = func(n int, e *search.Evaluation, _ []float64) {
			if n < designRuns && e.Next >= 0 {
				designs[i] = append(designs[i], e.Next)
			}
		}
	}
	r.total = len(baseline)
	if err := r.do(ctx, baseline); err != nil {
		return nil, err
	}
	r.collect(baseline)
	out := &Export{MaxRuns: MaxRuns, NothingValid: NothingValid, NoiseSD: noiseSD}
	for i, j := range r.outcomes(c.Baseline, &a3) {
		s := r.spell(j)
		s.Design = designs[i]
		out.Searches = append(out.Searches, s)
	}
	return out, nil
}

func (r *replay) spell(j job) ExportedSearch {
	w, target := j.w, int(j.seed.target)
	s := ExportedSearch{
		LogOffset:     w.offsets(),
		Workload:      w.Framework + "/" + w.Algorithm + "/" + w.Dataset,
		TargetSeconds: w.targets[target], Set: j.seed.set, Repeat: j.seed.repeat,
	}
	noise := j.seed.stream("noise")
	objective := w.objective(target, search.Cost)
	for i, c := range w.candidates {
		y := w.logRuntime[i] + noiseSD*noise.NormFloat64()
		s.Features = append(s.Features, exportedFeatures(c.Configuration, c.Resources))
		s.LogRuntime = append(s.LogRuntime, optional(y, w.outcome[i] != model.Failed))
		s.Outcome = append(s.Outcome, w.outcome[i].String())
		s.ValidCost = append(s.ValidCost, optional(objective.valid[i], !math.IsInf(objective.valid[i], 1)))
	}
	for _, support := range j.scenario.supports(w, r.table, r.traces[j.seed.set], j.seed) {
		var t ExportedTrace
		for _, p := range support.Summary.Points {
			t.Features = append(t.Features, exportedFeatures(p.Configuration, p.Resources))
			t.LogRuntime = append(t.LogRuntime, p.LogRuntime)
		}
		s.Supports = append(s.Supports, t)
	}
	return s
}

// offsets are the log offsets of the objectives that are known of every candidate.
func (w *workload) offsets() map[search.Objective][]float64 {
	out := map[search.Objective][]float64{}
	for _, o := range search.Objectives() {
		all := make([]float64, 0, len(w.candidates))
		for i := range w.candidates {
			if v, known := w.candidates[i].LogOffset(o); known {
				all = append(all, v)
			}
		}
		if len(all) == len(w.candidates) {
			out[o] = all
		}
	}
	return out
}

func exportedFeatures(c model.Configuration, r model.Resources) [3]float64 {
	return [3]float64{math.Log2(float64(c.ScaleOut)), math.Log2(r.VCPUs), math.Log2(r.MemoryGiB / r.VCPUs)}
}

func optional(v float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &v
}
