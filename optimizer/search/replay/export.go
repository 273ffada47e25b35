package replay

import (
	"context"
	"math"
	"runtime"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

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
	// LogRate is ln(USD per second of the whole configuration).
	LogRate []float64 `json:"log_rate"`
	// LogRuntime is what an observation gives, in ln(seconds); null is none.
	LogRuntime []*float64 `json:"log_runtime"`
	// ValidCost in USD, without noise; null is not valid.
	ValidCost []*float64 `json:"valid_cost"`
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
	r.total = len(baseline)
	if err := r.do(ctx, baseline); err != nil {
		return nil, err
	}
	r.collect(baseline)
	out := &Export{MaxRuns: MaxRuns, NothingValid: NothingValid, NoiseSD: noiseSD}
	for _, j := range r.outcomes(c.Baseline, &a3) {
		out.Searches = append(out.Searches, r.spell(j))
	}
	return out, nil
}

func (r *replay) spell(j job) ExportedSearch {
	w, target := j.w, int(j.seed.target)
	s := ExportedSearch{
		Workload:      w.Framework + "/" + w.Algorithm + "/" + w.Dataset,
		TargetSeconds: w.targets[target], Set: j.seed.set, Repeat: j.seed.repeat,
	}
	noise := j.seed.stream("noise")
	objective := w.objective(target, search.Cost)
	for i, c := range w.candidates {
		y := w.logRuntime[i] + noiseSD*noise.NormFloat64()
		s.Features = append(s.Features, exportedFeatures(c.Configuration, c.Resources))
		rate, _ := c.LogOffset(search.Cost)
		s.LogRate = append(s.LogRate, rate)
		s.LogRuntime = append(s.LogRuntime, optional(y, w.outcome[i] != model.Failed))
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

func exportedFeatures(c model.Configuration, r model.Resources) [3]float64 {
	return [3]float64{math.Log2(float64(c.ScaleOut)), math.Log2(r.VCPUs), math.Log2(r.MemoryGiB / r.VCPUs)}
}

func optional(v float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &v
}
