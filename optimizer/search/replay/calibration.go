package replay

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// AllScenarios names the row over the searches of all scenarios of a replay.
const AllScenarios = "all"

// CalibrationBins divide [0, 1] evenly.
const CalibrationBins = 5

// CalibrationReport says how often what was said to meet the target with some
// probability did.
type CalibrationReport struct {
	Rows        []CalibrationRow `json:"rows"`
	Workloads   int              `json:"workloads"`
	Skipped     int              `json:"skipped_runs"`
	Seed        uint64           `json:"seed"`
	SeedSets    int              `json:"seed_sets"`
	WallSeconds float64          `json:"wall_seconds"`
}

// CalibrationRow is one method in one scenario, or in [AllScenarios].
type CalibrationRow struct {
	Method   string `json:"method"`
	Scenario string `json:"scenario"`
	Searches int    `json:"searches"`
	// Suggested are the predictions of configurations that were tried next; All are
	// of every configuration that had not been tried, at every step.
	Suggested []CalibrationBin `json:"suggested"`
	All       []CalibrationBin `json:"all"`
}

// CalibrationBin collects the predictions of a probability within [From, To).
type CalibrationBin struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	N    int     `json:"n"`
	// Stated is the mean probability, Met the share of runs that met the target; 0
	// without predictions.
	Stated float64 `json:"stated"`
	Met    float64 `json:"met"`
}

// Error is Met - Stated: below 0, more was promised than was kept.
func (b CalibrationBin) Error() float64 { return b.Met - b.Stated }

// RunCalibration replays the protocol and compares the probability of meeting the
// target, as predicted before each run, with what a run would have shown, noise
// included. A run that was stopped or failed has not met it.
func RunCalibration(ctx context.Context, c Config) (*CalibrationReport, error) {
	start := time.Now()
	if c.Scenarios == nil {
		c.Scenarios = Scenarios()
	}
	r, skipped, err := newReplay(ctx, &c)
	if err != nil {
		return nil, err
	}
	report := &CalibrationReport{Workloads: len(r.table), Skipped: skipped, Seed: c.Seed, SeedSets: c.SeedSets}
	var jobs []job
	for _, m := range c.Methods {
		for s := range c.Scenarios {
			row := r.outcomes(m, &c.Scenarios[s])
			report.Rows = append(report.Rows, CalibrationRow{Method: m.Name, Scenario: c.Scenarios[s].Name, Searches: len(row)})
			jobs = append(jobs, row...)
		}
	}
	counts := make([]calibration, len(jobs))
	for i := range jobs {
		jobs[i].watchCalibration(&counts[i])
	}
	if err := r.run(ctx, jobs); err != nil {
		return nil, err
	}
	perRow := len(jobs) / len(report.Rows)
	for m := range c.Methods {
		var all calibration
		for i := m * len(c.Scenarios); i < (m+1)*len(c.Scenarios); i++ {
			var sum calibration
			for _, c := range counts[i*perRow : (i+1)*perRow] {
				sum.merge(&c)
			}
			all.merge(&sum)
			report.Rows[i].Suggested, report.Rows[i].All = sum.suggested.bins(), sum.all.bins()
		}
		report.Rows = append(report.Rows, CalibrationRow{
			Method: c.Methods[m].Name, Scenario: AllScenarios, Searches: perRow * len(c.Scenarios),
			Suggested: all.suggested.bins(), All: all.all.bins(),
		})
	}
	report.WallSeconds = time.Since(start).Seconds()
	return report, nil
}

// calibration counts the predictions of one search, or of many.
type calibration struct{ suggested, all bins }

type bins [CalibrationBins]struct {
	n           int
	stated, met float64
}

func (b *bins) add(probability float64, met bool) {
	bin := &b[min(int(probability*CalibrationBins), CalibrationBins-1)]
	bin.n++
	bin.stated += probability
	if met {
		bin.met++
	}
}

func (c *calibration) merge(o *calibration) {
	for i := range CalibrationBins {
		for _, p := range []struct{ to, from *bins }{{&c.suggested, &o.suggested}, {&c.all, &o.all}} {
			p.to[i].n += p.from[i].n
			p.to[i].stated += p.from[i].stated
			p.to[i].met += p.from[i].met
		}
	}
}

func (b *bins) bins() []CalibrationBin {
	out := make([]CalibrationBin, CalibrationBins)
	for i, bin := range b {
		out[i] = CalibrationBin{From: float64(i) / CalibrationBins, To: float64(i+1) / CalibrationBins, N: bin.n}
		if bin.n > 0 {
			out[i].Stated, out[i].Met = bin.stated/float64(bin.n), bin.met/float64(bin.n)
		}
	}
	return out
}

func (j *job) watchCalibration(c *calibration) {
	w, limit := j.w, math.Log(j.w.targets[j.seed.target])
	tried := make([]bool, len(w.candidates))
	j.visit = func(_ int, e *search.Evaluation, noise []float64) {
		for i := range tried {
			if tried[i] {
				continue
			}
			met := w.outcome[i] == model.OK && w.logRuntime[i]+noise[i] <= limit
			c.all.add(e.Predictions[i].MeetsTarget, met)
			if i == e.Next {
				c.suggested.add(e.Predictions[i].MeetsTarget, met)
			}
		}
		if e.Next >= 0 {
			tried[e.Next] = true
		}
	}
}

// WriteTable prints, a bin, the probability stated and the share that met the target.
func (r *CalibrationReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "method\tscenario\tof\tn\t0-20%\t20-40%\t40-60%\t60-80%\t80-100%\tworst\t")
	for _, row := range r.Rows {
		for _, part := range []struct {
			name string
			bins []CalibrationBin
		}{{"suggested", row.Suggested}, {"all", row.All}} {
			n, worst, cells := 0, 0., ""
			for _, b := range part.bins {
				n += b.N
				if b.N > 0 && math.Abs(b.Error()) > math.Abs(worst) {
					worst = b.Error()
				}
				cells += fmt.Sprintf("%.0f/%.0f\t", 100*b.Stated, 100*b.Met)
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s%+.1f\t\n", row.Method, row.Scenario, part.name, n, cells, 100*worst)
		}
	}
	return t.Flush()
}
