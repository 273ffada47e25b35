package replay

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Row is how well one model predicts one target. Errors are shares: of the true amount,
// and for starts and ends of the job's length.
type Row struct {
	Data   string `json:"data"`
	Target string `json:"target"`
	Model  string `json:"model"`
	// Chosen says that the model is the one that is used for these.
	Chosen bool `json:"chosen"`
	// MAPE is the mean, MedianAPE the median of absolute errors.
	MAPE      float64 `json:"mape"`
	MedianAPE float64 `json:"median_ape"`
	// R2Log is the share of the variance of logarithms that is explained.
	R2Log float64 `json:"r2_log"`
	// Coverage80 is the share of true amounts in the central 80% of the distribution;
	// nil where the model has none.
	Coverage80 *float64 `json:"coverage80,omitempty"`
	Stages     int      `json:"stages"`
}

// Targets as rows name them.
const (
	duration = "duration"
	taskTime = "task time"
	output   = "output size"
	start    = "start"
	end      = "end"
	// observedEnd is of the stages whose end was measured.
	observedEnd = "end, measured"
)

// point is one prediction beside the truth. unit divides the error.
type point struct{ predicted, truth, unit float64 }

// key of a row.
type key struct{ data, target, model string }

// scores collects points by row, in the order in which rows came first.
type scores struct {
	order   []key
	points  map[key][]point
	covered map[key]int
}

func newScores() *scores {
	return &scores{points: make(map[key][]point), covered: make(map[key]int)}
}

func (s *scores) add(k key, p point) {
	if _, ok := s.points[k]; !ok {
		s.order = append(s.order, k)
	}
	s.points[k] = append(s.points[k], p)
}

// join appends another's points.
func (s *scores) join(o *scores) {
	for _, k := range o.order {
		for _, p := range o.points[k] {
			s.add(k, p)
		}
		if n, ok := o.covered[k]; ok {
			s.covered[k] += n
		}
	}
}

// rows of what was collected; chosen says which models are used.
func (s *scores) rows(chosen func(key) bool) []Row {
	out := make([]Row, 0, len(s.order))
	for _, k := range s.order {
		r := Row{Data: k.data, Target: k.target, Model: k.model, Chosen: chosen(k), Stages: len(s.points[k])}
		r.fill(s.points[k])
		if n, ok := s.covered[k]; ok {
			share := float64(n) / float64(len(s.points[k]))
			r.Coverage80 = &share
		}
		out = append(out, r)
	}
	return out
}

// softSeconds keeps logarithms of starts, which may be 0, finite.
const softSeconds = 1

func (r *Row) fill(points []point) {
	errors := make([]float64, len(points))
	var mean, soft float64
	if r.Target == start || r.Target == end || r.Target == observedEnd {
		soft = softSeconds
	}
	n := float64(len(points))
	for i, p := range points {
		errors[i] = math.Abs(p.predicted-p.truth) / p.unit
		r.MAPE += errors[i] / n
		mean += math.Log(p.truth+soft) / n
	}
	slices.Sort(errors)
	r.MedianAPE = (errors[(len(errors)-1)/2] + errors[len(errors)/2]) / 2
	var rest, all float64
	for _, p := range points {
		t := math.Log(p.truth + soft)
		rest += sq(t - math.Log(p.predicted+soft))
		all += sq(t - mean)
	}
	if all > 0 {
		r.R2Log = 1 - rest/all
	}
}

func sq(v float64) float64 { return v * v }

// Print writes rows as a table.
func Print(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DATA\tTARGET\tMODEL\tMEAN\tMEDIAN\tR2 OF LOGS\tIN 80%\tSTAGES") //nolint:errcheck // Flush reports it
	for _, r := range rows {
		covered, mark := "-", ""
		if r.Coverage80 != nil {
			covered = fmt.Sprintf("%.2f", *r.Coverage80)
		}
		if r.Chosen {
			mark = " *"
		}
		fmt.Fprintf(t, "%s\t%s\t%s%s\t%.3f\t%.3f\t%.3f\t%s\t%d\n", //nolint:errcheck // Flush reports it
			r.Data, r.Target, r.Model, mark, r.MAPE, r.MedianAPE, r.R2Log, covered, r.Stages)
	}
	return t.Flush()
}

// sortKeys is by data, target, model, in the order of the lists.
func rank(list []string, v string) int { return slices.Index(list, v) }

func (s *scores) sort(data, targets, models []string) {
	slices.SortStableFunc(s.order, func(a, b key) int {
		return cmp.Or(rank(data, a.data)-rank(data, b.data), rank(targets, a.target)-rank(targets, b.target),
			rank(models, a.model)-rank(models, b.model))
	})
}
