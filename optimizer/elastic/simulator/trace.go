package simulator

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/karasu-project/karasu/model/throughput"
)

// Trace is what real clusters tell.
type Trace struct {
	// Arrivals are seconds at which pods were created, ascending.
	Arrivals []float64
	// Cores that pods requested, and Memory a core as a share of its median.
	Cores, Memory []float64
	usualCores    float64 // their median
	// Lengths of jobs in seconds.
	Lengths []float64
	// Sync and Async are factors on the time of a step, minute by minute, one sequence a
	// job: of the slowest worker and of the mean one, beside their usual.
	Sync, Async [][]float64
}

// Bounds of what is read.
const (
	maxTraceRows = 1_000_000
	// Lengths that are used: those of training runs that are worth a plan.
	shortest, longest = 1800., 6 * 3600.
	// around is how many steps on each side a step's usual time is the median of.
	around = 12
)

// ReadTrace reads cluster-traces/*.csv below a folder.
func ReadTrace(dir string) (*Trace, error) {
	t := &Trace{}
	dir = filepath.Join(dir, "cluster-traces")
	if err := t.readPods(filepath.Join(dir, "openb_pod_list_default.csv")); err != nil {
		return nil, err
	}
	err := readTable(filepath.Join(dir, "philly_runtime.csv"), []string{"runtime"}, func(v []float64) {
		if v[0] >= shortest && v[0] <= longest {
			t.Lengths = append(t.Lengths, v[0])
		}
	})
	if err != nil {
		return nil, err
	}
	for i := 1; i <= 4; i++ {
		if err := t.readSteps(filepath.Join(dir, fmt.Sprintf("job_%d_norm.csv", i))); err != nil {
			return nil, err
		}
	}
	return t, t.validate()
}

func (t *Trace) validate() error {
	if n := len(t.Arrivals); n < 1000 || t.Arrivals[0] == t.Arrivals[n-1] || len(t.Lengths) < 100 {
		return fmt.Errorf("cluster traces hold %d arrivals and %d run lengths, too few to draw from: %w", len(t.Arrivals), len(t.Lengths), throughput.ErrInvalid)
	}
	for _, s := range slices.Concat(t.Sync, t.Async) {
		if len(s) < 10 {
			return fmt.Errorf("a trace of mini-batch times holds %d steps, too few: %w", len(s), throughput.ErrInvalid)
		}
	}
	return nil
}

// readTable reads columns of a file.
func readTable(path string, columns []string, row func([]float64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if err := parseTable(f, columns, row); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// parseTable reads columns of numbers from 0; any other row is an error.
func parseTable(r io.Reader, columns []string, row func([]float64)) error {
	table := csv.NewReader(r)
	table.ReuseRecord = true
	header, err := table.Read()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	at := make([]int, len(columns))
	for i, name := range columns {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return fmt.Errorf("column %q is missing: %w", name, throughput.ErrInvalid)
		}
	}
	values := make([]float64, len(columns))
	for line := 2; ; line++ {
		record, err := table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line > maxTraceRows {
			return fmt.Errorf("more than %d rows: %w", maxTraceRows, throughput.ErrInvalid)
		}
		for i, k := range at {
			values[i], err = strconv.ParseFloat(record[k], 64)
			if err != nil || !(values[i] >= 0) || math.IsInf(values[i], 0) {
				return fmt.Errorf("line %d: %s: %q is no number from 0: %w", line, columns[i], record[k], throughput.ErrInvalid)
			}
		}
		row(values)
	}
}

func (t *Trace) readPods(path string) error {
	err := readTable(path, []string{"creation_time", "cpu_milli", "memory_mib"}, func(v []float64) {
		if v[1] <= 0 || v[2] <= 0 {
			return // asks for nothing
		}
		t.Arrivals = append(t.Arrivals, v[0])
		t.Cores = append(t.Cores, v[1]/1000)
		t.Memory = append(t.Memory, v[2]/v[1])
	})
	if err != nil {
		return err
	}
	slices.Sort(t.Arrivals)
	t.usualCores = median(t.Cores)
	usual := median(t.Memory)
	for i := range t.Memory {
		t.Memory[i] /= usual
	}
	return nil
}

func median(v []float64) float64 { return quantile(v, .5) }

// quantile interpolates between the sorted values.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Clone(v)
	slices.Sort(v)
	x := q * float64(len(v)-1)
	i := int(x)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (x-float64(i))*(v[i+1]-v[i])
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// readSteps turns mini-batch times of one job's workers into its two sequences.
func (t *Trace) readSteps(path string) error {
	steps := map[float64][]float64{}
	err := readTable(path, []string{"time", "batch_time_norm"}, func(v []float64) {
		if v[1] > 0 {
			steps[v[0]] = append(steps[v[0]], v[1])
		}
	})
	if err != nil {
		return err
	}
	times := make([]float64, 0, len(steps))
	for at := range steps {
		times = append(times, at)
	}
	slices.Sort(times)
	var slowest, usual []float64
	for _, at := range times {
		slowest = append(slowest, slices.Max(steps[at]))
		usual = append(usual, mean(steps[at]))
	}
	t.Sync = append(t.Sync, factors(slowest))
	t.Async = append(t.Async, factors(usual))
	return nil
}

// factors divides each time by the median around it, and all by their mean: what the
// measured speeds contain already is not counted again.
func factors(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] / median(v[max(i-around, 0):min(i+around+1, len(v))])
	}
	m := mean(out)
	for i := range out {
		out[i] /= m
	}
	return out
}
