package simulator

import (
	"fmt"
	"io"
	"math/rand/v2"
	"text/tabwriter"
)

// Report of simulations.
type Report struct {
	Rows        []Row        `json:"simulation"`
	Comparisons []Comparison `json:"comparisons"`
	Seeds       int          `json:"seeds"`
	FirstSeed   uint64       `json:"first_seed"`
}

// Interval of 95%, by bootstrap over seeds.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Row is one arm at one load: means over the seeds.
type Row struct {
	Load float64 `json:"load"`
	Arm  string  `json:"arm"`
	// JCTMedian and JCTP90 are hours from arrival to completion; a job that dies counts 24.
	JCTMedian float64 `json:"jct_median"`
	JCTP90    float64 `json:"jct_p90"`
	// CompletionRate is the share of jobs that completed.
	CompletionRate float64 `json:"completion_rate"`
	// CPUUtilisation and MemoryUtilisation are used over asked for, over the time.
	CPUUtilisation    float64 `json:"cpu_utilisation"`
	MemoryUtilisation float64 `json:"memory_utilisation"`
	// ChangesPerJob are those of the number of workers; memory changes in place.
	ChangesPerJob float64 `json:"changes_per_job"`
	ChangesP99    float64 `json:"changes_p99"`
	// Intervals by the names above.
	Intervals map[string]Interval `json:"intervals"`
}

// Comparison is the ratio of two arms' median completion times, means over paired seeds.
type Comparison struct {
	Load    float64 `json:"load"`
	Arm     string  `json:"arm"`
	Against string  `json:"against"`
	Ratio   float64 `json:"jct_median_ratio"`
	Interval
}

// measures of one seed, in the order of a row's fields.
var measures = []struct {
	name string
	of   func(outcome) float64
	to   func(*Row) *float64
}{
	{"jct_median", func(o outcome) float64 { return median(o.hours) }, func(r *Row) *float64 { return &r.JCTMedian }},
	{"jct_p90", func(o outcome) float64 { return quantile(o.hours, .9) }, func(r *Row) *float64 { return &r.JCTP90 }},
	{"completion_rate", func(o outcome) float64 { return 1 - float64(o.dead)/float64(len(o.hours)) }, func(r *Row) *float64 { return &r.CompletionRate }},
	{"cpu_utilisation", func(o outcome) float64 { return o.cpuUsed / o.cpuAsked }, func(r *Row) *float64 { return &r.CPUUtilisation }},
	{"memory_utilisation", func(o outcome) float64 { return o.memoryUsed / o.memoryAsked }, func(r *Row) *float64 { return &r.MemoryUtilisation }},
	{"changes_per_job", func(o outcome) float64 { return mean(o.changes) }, func(r *Row) *float64 { return &r.ChangesPerJob }},
	{"changes_p99", func(o outcome) float64 { return quantile(o.changes, .99) }, func(r *Row) *float64 { return &r.ChangesP99 }},
}

// resamples of the bootstrap.
const resamples = 2000

func (c *Config) report(outcomes [][]outcome) *Report {
	report := &Report{Seeds: c.Seeds, FirstSeed: c.FirstSeed}
	picks := resample(c.Seeds)
	medians := make([][]float64, len(outcomes))
	for i, cell := range outcomes {
		row := Row{Load: c.Loads[i/len(c.Arms)], Arm: c.Arms[i%len(c.Arms)], Intervals: map[string]Interval{}}
		for _, m := range measures {
			values := make([]float64, len(cell))
			for s, o := range cell {
				values[s] = m.of(o)
			}
			*m.to(&row) = mean(values)
			row.Intervals[m.name] = interval95(picks, func(s []int) float64 { return meanAt(values, s) })
			if m.name == "jct_median" {
				medians[i] = values
			}
		}
		report.Rows = append(report.Rows, row)
	}
	for i := range outcomes {
		for k := range c.Arms {
			other := i/len(c.Arms)*len(c.Arms) + k
			if other == i {
				continue
			}
			report.Comparisons = append(report.Comparisons, Comparison{
				Load: c.Loads[i/len(c.Arms)], Arm: c.Arms[i%len(c.Arms)], Against: c.Arms[k],
				Ratio:    mean(medians[i]) / mean(medians[other]),
				Interval: interval95(picks, func(s []int) float64 { return meanAt(medians[i], s) / meanAt(medians[other], s) }),
			})
		}
	}
	return report
}

// resample draws seeds with repetition, the same for all arms: so comparisons are paired.
func resample(seeds int) [][]int {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]int, resamples)
	for i := range out {
		out[i] = make([]int, seeds)
		for k := range out[i] {
			out[i][k] = r.IntN(seeds)
		}
	}
	return out
}

func meanAt(v []float64, at []int) float64 {
	var sum float64
	for _, i := range at {
		sum += v[i]
	}
	return sum / float64(len(at))
}

func interval95(picks [][]int, of func([]int) float64) Interval {
	values := make([]float64, len(picks))
	for i, p := range picks {
		values[i] = of(p)
	}
	return Interval{quantile(values, .025), quantile(values, .975)}
}

// Print writes the rows as a table.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "load\tarm\tmedian h\t95%\tp90 h\tcompleted\tCPU\tmemory\tchanges\tp99\t")
	for _, x := range r.Rows {
		i := x.Intervals["jct_median"]
		_, _ = fmt.Fprintf(t, "%.1f\t%s\t%.2f\t%.2f-%.2f\t%.1f\t%.3f\t%.2f\t%.2f\t%.1f\t%.0f\t\n",
			x.Load, x.Arm, x.JCTMedian, i.Low, i.High, x.JCTP90, x.CompletionRate, x.CPUUtilisation, x.MemoryUtilisation, x.ChangesPerJob, x.ChangesP99)
	}
	return t.Flush()
}

// Against finds the comparison of two arms at a load.
func (r *Report) Against(load float64, arm, other string) (Comparison, bool) {
	for _, c := range r.Comparisons {
		if c.Load == load && c.Arm == arm && c.Against == other {
			return c, true
		}
	}
	return Comparison{}, false
}
