package replay

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Report is what a replay measured. Its JSON is what `karasu bench search --json`
// prints.
type Report struct {
	Rows []Row `json:"rows"`
	// Workloads replayed, and Runs left out for want of a known machine type or of
	// enough others.
	Workloads   int     `json:"workloads"`
	Skipped     int     `json:"skipped_runs"`
	Seed        uint64  `json:"seed"`
	SeedSets    int     `json:"seed_sets"`
	WallSeconds float64 `json:"wall_seconds"`
}

// Row is one method in one scenario. Lists are over n = 1..MaxRuns runs.
type Row struct {
	Method   string `json:"method"`
	Scenario string `json:"scenario"`
	Searches int    `json:"searches"`
	// Supports is the mean number of supports of a search; 0 says that the row tells
	// nothing of what others know.
	Supports float64 `json:"supports"`
	// Mean and Median over the searches of best valid objective so far over the
	// best there is; [NothingValid] where none is.
	Mean   []float64 `json:"mean"`
	Median []float64 `json:"median"`
	// Found is the share of searches with a valid run.
	Found []float64 `json:"found"`
	// AUC is the mean over n of Mean - 1; AUCSD its standard deviation between seed sets.
	AUC   float64 `json:"auc"`
	AUCSD float64 `json:"auc_sd"`
	// RunsTo10Pct is the mean number of runs until within 10% of the best;
	// MaxRuns + 1 where a search never is.
	RunsTo10Pct float64 `json:"runs_to_10pct"`
	// Spent is the mean sum of the objective over all runs, in units of the best.
	Spent []float64 `json:"spent"`
	// StopRuns and StopRatio are means where each search ends by the stop rule.
	StopRuns  float64 `json:"stop_runs"`
	StopRatio float64 `json:"stop_ratio"`
	// WorkloadAUC is the AUC of every workload, in the order of the table.
	WorkloadAUC []float64 `json:"workload_auc"`
	// Ratios has, where Config.Details asks for it, the ratio of every search after
	// every run, in the order of [Spell].
	Ratios [][]float64 `json:"ratios,omitempty"`
	// Seconds has, too, what each suggestion took: processor time with one worker, else
	// wall time. The first of a search includes what is kept for the others.
	Seconds [][]float64 `json:"seconds,omitempty"`
	// WorstExcess is the largest WorkloadAUC above that of the same method's solo
	// row, where there is one and the row has supports.
	WorstExcess *float64 `json:"worst_excess,omitempty"`
	// SoloScenario is the scenario of the row without supports; see [Report.Alone].
	SoloScenario string `json:"solo_scenario"`
}

// row aggregates outcomes, which are set by set, workload by workload.
func (r *replay) row(method, scenario string, all []*outcome) Row {
	row := Row{Method: method, Scenario: scenario, Searches: len(all)}
	for _, o := range all {
		row.Supports += float64(o.supports) / float64(len(all))
	}
	if r.Details {
		for _, o := range all {
			row.Ratios, row.Seconds = append(row.Ratios, o.ratio[:]), append(row.Seconds, o.seconds[:])
		}
	}
	column := make([]float64, len(all))
	for n := range MaxRuns {
		found, spent := 0., 0.
		for i, o := range all {
			column[i] = o.ratio[n]
			spent += o.spent[n]
			if o.found[n] {
				found++
			}
		}
		row.Mean, row.Median = append(row.Mean, mean(column)), append(row.Median, percentile(column, 50))
		row.Found, row.Spent = append(row.Found, found/float64(len(all))), append(row.Spent, spent/float64(len(all)))
	}
	var workloads = make([][]float64, len(r.table))
	perSet := len(all) / r.SeedSets
	aucs, sets := make([]float64, len(all)), make([]float64, r.SeedSets)
	for i, o := range all {
		aucs[i] = mean(o.ratio[:]) - 1
		sets[i/perSet] += aucs[i] / float64(perSet)
		w := i % perSet / (len(targetPercentiles) * Repeats)
		workloads[w] = append(workloads[w], aucs[i])

		near := MaxRuns + 1
		for n := MaxRuns - 1; n >= 0 && o.found[n] && o.ratio[n] <= 1.1; n-- {
			near = n + 1
		}
		row.RunsTo10Pct += float64(near) / float64(len(all))
		row.StopRuns += float64(o.stopAt) / float64(len(all))
		row.StopRatio += o.ratio[max(o.stopAt, 1)-1] / float64(len(all))
	}
	row.AUC = mean(aucs)
	row.AUCSD = deviation(sets)
	for _, w := range workloads {
		row.WorkloadAUC = append(row.WorkloadAUC, mean(w))
	}
	return row
}

func deviation(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	m, sum := mean(v), 0.
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(v)-1))
}

func (r *Report) compareWithSolo() {
	for i := range r.Rows {
		solo := r.Alone(&r.Rows[i])
		if solo == nil || r.Rows[i].Supports == 0 {
			continue
		}
		worst := math.Inf(-1)
		for k, v := range r.Rows[i].WorkloadAUC {
			worst = max(worst, v-solo.WorkloadAUC[k])
		}
		r.Rows[i].WorstExcess = &worst
	}
}

// Alone returns the row of the same method and objective without supports; nil where
// there is none or it is the row itself.
func (r *Report) Alone(row *Row) *Row {
	if solo := r.Row(row.Method, row.SoloScenario); solo != row {
		return solo
	}
	return nil
}

// Row returns the row of a method and a scenario, nil where there is none.
func (r *Report) Row(method, scenario string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Method == method && r.Rows[i].Scenario == scenario {
			return &r.Rows[i]
		}
	}
	return nil
}

// WriteTable prints the rows as people read them.
func (r *Report) WriteTable(w io.Writer) error {
	var text bytes.Buffer
	text.WriteString("method\tscenario\tsupports\tn=1\t2\t3\t5\t10\tfound@3\tAUC\t±\tto 10%\tspent\tstop\tat\tworst\t\n")
	for _, row := range r.Rows {
		worst := ""
		if row.WorstExcess != nil {
			worst = fmt.Sprintf("%+.2f", *row.WorstExcess)
		}
		fmt.Fprintf(&text, "%s\t%s\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%.3f\t%s\t\n", row.Method, row.Scenario, row.Supports,
			row.Mean[0], row.Mean[1], row.Mean[2], row.Mean[4], row.Mean[9], row.Found[2], row.AUC, row.AUCSD, row.RunsTo10Pct, row.Spent[MaxRuns-1], row.StopRuns, row.StopRatio, worst)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := t.Write(text.Bytes()); err != nil {
		return err
	}
	return t.Flush()
}
