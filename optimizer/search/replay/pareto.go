package replay

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// referenceMargin is how far beyond the worst valid value of each objective the
// reference point of a replay lies, in nats: 10%, as is usual (Ishibuchi et al.,
// Evolutionary Computation 26(3), 2018), so that the ends of a front count too.
const referenceMargin = 0.1

// ParetoConfig is a replay of searches for several objectives.
type ParetoConfig struct {
	// Config's Objective has no part in it.
	Config
	// Objectives are the sets to search for; (cost, runtime) and (cost, energy)
	// where empty.
	Objectives [][]search.Objective
	// NoTarget searches without a runtime target: every completed run is valid.
	NoTarget bool
}

// ParetoReport is what [RunPareto] measured.
type ParetoReport struct {
	Rows        []ParetoRow `json:"rows"`
	Workloads   int         `json:"workloads"`
	Skipped     int         `json:"skipped_runs"`
	Seed        uint64      `json:"seed"`
	SeedSets    int         `json:"seed_sets"`
	NoTarget    bool        `json:"no_target"`
	WallSeconds float64     `json:"wall_seconds"`
}

// ParetoRow is one method in one scenario. Lists are over n = 1..MaxRuns runs.
type ParetoRow struct {
	Objectives string `json:"objectives"`
	Method     string `json:"method"`
	Scenario   string `json:"scenario"`
	Searches   int    `json:"searches"`
	// Hypervolume is the mean of the hypervolume of valid runs so far over that of
	// all valid configurations, in log objectives, within a reference point 10% above
	// the worst valid value of each; 0 while nothing is valid.
	Hypervolume []float64 `json:"hypervolume"`
	// HypervolumeSD is the standard deviation of their mean between seed sets.
	HypervolumeSD float64 `json:"hypervolume_sd"`
	// StopRuns is the mean number of runs at which the stop rule ends a search, and
	// StopHypervolume the mean hypervolume then.
	StopRuns        float64 `json:"stop_runs"`
	StopHypervolume float64 `json:"stop_hypervolume"`
	// Volumes has, where Config.Details asks for it, the hypervolume of every search
	// after every run, and Seconds what each suggestion took, in the order of [Spell].
	Volumes [][]float64 `json:"volumes,omitempty"`
	Seconds [][]float64 `json:"seconds,omitempty"`
}

// RunPareto replays the protocol with several objectives. A method that takes one
// only is an error.
func RunPareto(ctx context.Context, c ParetoConfig) (*ParetoReport, error) {
	start := time.Now()
	if c.Objectives == nil {
		c.Objectives = [][]search.Objective{{search.Cost, search.Runtime}, {search.Cost, search.Energy}}
	}
	if c.Scenarios == nil {
		c.Scenarios = Scenarios()
	}
	r, skipped, err := newReplay(ctx, &c.Config)
	if err != nil {
		return nil, err
	}
	report := &ParetoReport{Workloads: len(r.table), Skipped: skipped, Seed: c.Seed, SeedSets: c.SeedSets, NoTarget: c.NoTarget}
	var jobs []job
	var volumes [][][MaxRuns]float64
	for _, objectives := range c.Objectives {
		for _, m := range c.Methods {
			for s := range c.Scenarios {
				row := r.outcomes(m, &c.Scenarios[s])
				volume := make([][MaxRuns]float64, len(row))
				for i := range row {
					j := &row[i]
					if err := j.watchFront(objectives, c.NoTarget, &volume[i]); err != nil {
						return nil, err
					}
				}
				jobs, volumes = append(jobs, row...), append(volumes, volume)
				report.Rows = append(report.Rows, ParetoRow{
					Objectives: names(objectives), Method: m.Name, Scenario: c.Scenarios[s].Name, Searches: len(row),
				})
			}
		}
	}
	if err := r.run(ctx, jobs); err != nil {
		return nil, err
	}
	for i := range report.Rows {
		n := report.Rows[i].Searches
		of := jobs[i*n : (i+1)*n]
		report.Rows[i].add(volumes[i], of, c.SeedSets)
		if c.Details {
			for k := range of {
				report.Rows[i].Volumes = append(report.Rows[i].Volumes, volumes[i][k][:])
				report.Rows[i].Seconds = append(report.Rows[i].Seconds, of[k].out.seconds[:])
			}
		}
	}
	report.WallSeconds = time.Since(start).Seconds()
	return report, nil
}

// watchFront makes the job a search for the objectives and has it note the share of
// the hypervolume found after each run.
func (j *job) watchFront(objectives []search.Objective, noTarget bool, volume *[MaxRuns]float64) error {
	points, err := j.w.validPoints(int(j.seed.target), objectives, noTarget)
	if err != nil {
		return err
	}
	var all [][]float64
	reference := make([]float64, len(objectives))
	for k := range reference {
		reference[k] = math.Inf(-1)
	}
	for _, p := range points {
		if p == nil {
			continue
		}
		all = append(all, p)
		for k, v := range p {
			reference[k] = max(reference[k], v+referenceMargin)
		}
	}
	total := search.Hypervolume(all, reference)
	j.prepare = func(p *search.Problem) {
		p.Objectives = objectives
		if noTarget {
			p.Target = 0
		}
	}
	var found [][]float64
	j.visit = func(n int, e *search.Evaluation, _ []float64) {
		if e.Next >= 0 && points[e.Next] != nil {
			found = append(found, points[e.Next])
		}
		volume[n] = search.Hypervolume(found, reference) / total
	}
	return nil
}

// validPoints are the true log objectives of each candidate, nil where it is not valid.
func (w *workload) validPoints(target int, objectives []search.Objective, noTarget bool) ([][]float64, error) {
	points := make([][]float64, len(w.candidates))
	for i := range w.candidates {
		if w.outcome[i] != model.OK || !noTarget && w.logRuntime[i] > math.Log(w.targets[target]) {
			continue
		}
		for _, o := range objectives {
			offset, known := w.candidates[i].LogOffset(o)
			if !known {
				return nil, fmt.Errorf("%s of %s is not known: %w", o, w.candidates[i].Configuration, ErrTooLittle)
			}
			points[i] = append(points[i], offset+w.logRuntime[i])
		}
	}
	return points, nil
}

func (row *ParetoRow) add(volume [][MaxRuns]float64, jobs []job, seedSets int) {
	sets := make([]float64, seedSets)
	row.Hypervolume = make([]float64, MaxRuns)
	n := float64(len(volume))
	for i := range volume {
		for k, v := range volume[i] {
			row.Hypervolume[k] += v / n
		}
		sets[i/(len(volume)/seedSets)] += mean(volume[i][:]) / n * float64(seedSets)
		stop := jobs[i].out.stopAt
		row.StopRuns += float64(stop) / n
		row.StopHypervolume += volume[i][max(stop, 1)-1] / n
	}
	row.HypervolumeSD = deviation(sets)
}

func names(objectives []search.Objective) string {
	s := make([]string, 0, len(objectives))
	for _, o := range objectives {
		s = append(s, string(o))
	}
	return strings.Join(s, ",")
}

// WriteTable prints the rows as people read them.
func (r *ParetoReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "objectives\tmethod\tscenario\tHV n=1\t2\t3\t5\t10\tmean\t±\tstop\tat\t")
	for _, row := range r.Rows {
		h := row.Hypervolume
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t%.3f\t\n", row.Objectives, row.Method, row.Scenario,
			h[0], h[1], h[2], h[4], h[MaxRuns-1], mean(h), row.HypervolumeSD, row.StopRuns, row.StopHypervolume)
	}
	return t.Flush()
}
