package replay

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is what a replay measured. Its JSON is what `karasu bench predict --json`
// prints.
type Report struct {
	Rows []Row `json:"rows"`
	// Coverage80 is the share of all held-out runs that lie in the default's 80%
	// interval.
	Coverage80 float64 `json:"coverage80"`
	// Calibration says how often runs stay below the default's quantiles: what a
	// deadline is kept with, against what was stated.
	Calibration []Calibration `json:"calibration"`
	// Deadline says, a protocol, with what probability deadlines are kept.
	Deadline []Deadline `json:"deadline"`
	// PretrainSeconds is the longest time that the default took to fit a whole table,
	// FinetuneMS the mean time to condition it on six runs of a context and to predict.
	PretrainSeconds float64 `json:"pretrain_seconds"`
	FinetuneMS      float64 `json:"finetune_ms"`
	WallSeconds     float64 `json:"wall_seconds"`
	Seed            uint64  `json:"seed"`
}

// Calibration compares a stated probability with the share of runs.
type Calibration struct {
	Probability float64 `json:"probability"`
	Share       float64 `json:"share"`
}

// Row is one model on one job, split and number of runs. Errors are in percent and
// seconds.
type Row struct {
	Protocol string `json:"protocol"`
	Split    string `json:"split"`
	Job      string `json:"job"`
	Model    string `json:"model"`
	// N is the number of known runs of the target, or of training points.
	N int `json:"n"`
	// MRE is the mean over targets of the mean relative error in percent, MRESE the
	// standard error of that mean. MAPE is the same under the name of C3O's protocol.
	MRE   float64 `json:"mre"`
	MRESE float64 `json:"mre_se"`
	MAPE  float64 `json:"mape"`
	// MAE in seconds, and its standard error.
	MAE   float64 `json:"mae"`
	MAESE float64 `json:"mae_se"`
	// Coverage80 is the share of runs in the 80% interval.
	Coverage80 float64 `json:"coverage80"`
	// Targets are contexts, or random splits.
	Targets int `json:"targets"`
	// Runs that were predicted.
	Runs int `json:"runs"`
}

// report aggregates in the order of the configuration.
func report(c *Config, tasks []*task) *Report {
	r := &Report{Seed: c.Seed}
	place := map[key]int{}
	var groups [][]means
	for _, t := range tasks {
		for _, res := range t.results {
			i, ok := place[res.key]
			if !ok {
				i = len(groups)
				place[res.key] = i
				groups = append(groups, nil)
				r.Rows = append(r.Rows, Row{Protocol: res.protocol, Split: res.split, Job: res.job, Model: res.model, N: res.n})
			}
			groups[i] = append(groups[i], res.means)
		}
	}
	var covered, runs int
	var counts below
	kept := newKept()
	for i := range r.Rows {
		row := &r.Rows[i]
		row.fill(groups[i])
		if row.Model == c.Models[0].Learner.Name() {
			for _, s := range groups[i] {
				kept.add(row.Protocol, &s)
				covered += s.covered
				runs += s.runs
				for k, n := range s.below {
					counts[k] += n
				}
			}
		}
	}
	if runs > 0 {
		r.Coverage80 = float64(covered) / float64(runs)
		for k, n := range counts {
			r.Calibration = append(r.Calibration, Calibration{Probabilities[k], float64(n) / float64(runs)})
		}
	}
	r.Deadline = kept.rows()
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Protocols, a.Protocol), slices.Index(Protocols, b.Protocol)),
			cmp.Compare(b.Split, a.Split), cmp.Compare(a.N, b.N))
	})
	return r
}

func (row *Row) fill(all []means) {
	var square, squareAbsolute float64
	var covered int
	row.Targets = len(all)
	for _, s := range all {
		e := 100 * s.relative / float64(s.draws)
		row.MRE += e / float64(len(all))
		square += e * e / float64(len(all))
		a := s.absolute / float64(s.draws)
		row.MAE += a / float64(len(all))
		squareAbsolute += a * a / float64(len(all))
		covered += s.covered
		row.Runs += s.runs
	}
	row.MAPE = row.MRE
	row.Coverage80 = float64(covered) / float64(row.Runs)
	if n := float64(len(all)); n > 1 {
		row.MRESE = math.Sqrt(max(square-row.MRE*row.MRE, 0) / (n - 1))
		row.MAESE = math.Sqrt(max(squareAbsolute-row.MAE*row.MAE, 0) / (n - 1))
	}
}

// WriteTable prints the mean over jobs of the MRE in percent: one line a model, one
// column a split and n.
func (r *Report) WriteTable(w io.Writer) error {
	for _, p := range Protocols {
		if err := r.writeProtocol(w, p); err != nil {
			return err
		}
	}
	for _, c := range r.Calibration {
		if _, err := fmt.Fprintf(w, "stated %.0f%%: %.1f%% of runs; ", 100*c.Probability, 100*c.Share); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := r.writeDeadlines(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "80%% intervals hold %.1f%% of runs; fit %.2f s, conditioning %.2f ms; %.0f s in all\n",
		100*r.Coverage80, r.PretrainSeconds, r.FinetuneMS, r.WallSeconds)
	return err
}

type column struct {
	split string
	n     int
}

func (r *Report) writeProtocol(w io.Writer, protocol string) error {
	var columns []column
	var models []string
	cells := map[string][]float64{}
	id := func(model, split string, n int) string { return fmt.Sprint(model, "|", split, "|", n) }
	byJob := protocol == Splits || protocol == Points
	for _, row := range r.Rows {
		if row.Protocol != protocol {
			continue
		}
		split := row.Split
		if byJob {
			split = row.Job
		}
		if c := (column{split, row.N}); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		if !slices.Contains(models, row.Model) {
			models = append(models, row.Model)
		}
		k := id(row.Model, split, row.N)
		cells[k] = append(cells[k], row.MRE)
	}
	if len(models) == 0 {
		return nil
	}
	slices.SortStableFunc(columns, func(a, b column) int {
		if byJob {
			return strings.Compare(a.split, b.split)
		}
		order := []string{All, Interpolation, Extrapolation}
		return cmp.Or(cmp.Compare(slices.Index(order, a.split), slices.Index(order, b.split)), cmp.Compare(a.n, b.n))
	})
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(t, "%s MRE %%\t", protocol) // a tabwriter reports errors on Flush
	for _, c := range columns {
		_, _ = fmt.Fprintf(t, "%.6s n=%d\t", c.split, c.n)
	}
	_, _ = fmt.Fprintln(t)
	for _, m := range models {
		_, _ = fmt.Fprintf(t, "%s\t", m)
		for _, c := range columns {
			v := cells[id(m, c.split, c.n)]
			if len(v) == 0 {
				_, _ = fmt.Fprint(t, "-\t")
				continue
			}
			var mean float64
			for _, e := range v {
				mean += e / float64(len(v))
			}
			_, _ = fmt.Fprintf(t, "%.2f\t", mean)
		}
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}
