package replay

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model/throughput"
)

// Curve is the measured speed of one training job on one machine type over the number
// of workers, with one parameter server.
type Curve struct {
	// Network is what was trained, such as "cnn".
	Network     string
	Mode        throughput.Mode
	Batch       int
	MachineType string
	// Cores of one machine.
	Cores  int
	Points []CurvePoint
}

// CurvePoint is the median over learning rates at one number of workers.
type CurvePoint struct {
	Workers int
	// StepSeconds is the time of a worker's step.
	StepSeconds float64
}

// Pushes a second of all workers.
func (p CurvePoint) Pushes() float64 { return float64(p.Workers) / p.StepSeconds }

// Job names the curve without its machine type.
func (c Curve) Job() string { return fmt.Sprintf("%s/%s/%d", c.Network, c.Mode, c.Batch) }

// Networks whose measurements are read.
var networks = []string{"cnn", "multilayer"}

// cores of the machine types that were measured (AWS t2).
var cores = map[string]int{"t2.small": 1, "t2.medium": 2, "t2.xlarge": 4, "t2.2xlarge": 8}

// maxRows of one table.
const maxRows = 1_000_000

// ReadCurves reads tensorflow/*.csv below a folder: rows of runs with columns n_workers,
// batch_size, synchronism, training_time (s), vm_flavor and total_iterations (global
// steps). Curves are in the order of network, mode, batch and cores.
func ReadCurves(dir string) ([]Curve, error) {
	var out []Curve
	for _, name := range networks {
		path := filepath.Join(dir, "tensorflow", name+".csv")
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		curves, err := readCurves(f, name)
		_ = f.Close() // only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, curves...)
	}
	return out, nil
}

// columns that are read, in the order of run's fields.
var columns = []string{"n_workers", "batch_size", "synchronism", "training_time", "vm_flavor", "total_iterations"}

// readCurves reads one network's table.
func readCurves(r io.Reader, network string) ([]Curve, error) {
	table := csv.NewReader(r)
	header, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	var at [6]int
	for i, name := range columns {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return nil, fmt.Errorf("column %q is missing: %w", name, throughput.ErrInvalid)
		}
	}
	runs := map[curveKey]map[int][]float64{}
	for line := 2; ; line++ {
		record, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && line > maxRows {
			err = fmt.Errorf("more than %d rows: %w", maxRows, throughput.ErrInvalid)
		}
		if err != nil {
			return nil, err
		}
		var fields [6]string
		for i, k := range at {
			fields[i] = record[k]
		}
		k, workers, seconds, err := parseRun(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if runs[k] == nil {
			runs[k] = map[int][]float64{}
		}
		runs[k][workers] = append(runs[k][workers], seconds)
	}
	return medians(network, runs), nil
}

// curveKey tells curves of one network apart.
type curveKey struct {
	mode        throughput.Mode
	batch       int
	machineType string
}

// parseRun reads one row, its fields in the order of columns.
func parseRun(fields [6]string) (k curveKey, workers int, stepSeconds float64, err error) {
	fail := func(i int) error {
		return fmt.Errorf("%s: %q: %w", columns[i], fields[i], throughput.ErrInvalid)
	}
	if workers, err = strconv.Atoi(fields[0]); err != nil || workers < 1 || workers > 10_000 {
		return k, 0, 0, fail(0)
	}
	if k.batch, err = strconv.Atoi(fields[1]); err != nil || k.batch < 1 {
		return k, 0, 0, fail(1)
	}
	k.mode, k.machineType = throughput.Mode(fields[2]), fields[4]
	if k.mode != throughput.Sync && k.mode != throughput.Async {
		return k, 0, 0, fail(2)
	}
	seconds, err := strconv.ParseFloat(fields[3], 64)
	if err != nil || !(seconds > 0 && seconds < 1e9) {
		return k, 0, 0, fail(3)
	}
	if cores[k.machineType] == 0 {
		return k, 0, 0, fail(4)
	}
	steps, err := strconv.Atoi(fields[5])
	if err != nil || steps < 1 {
		return k, 0, 0, fail(5)
	}
	return k, workers, float64(workers) / k.mode.Pushes(float64(steps)/seconds, workers), nil
}

// medians turns runs into curves.
func medians(network string, runs map[curveKey]map[int][]float64) []Curve {
	var out []Curve
	for k, byWorkers := range runs {
		c := Curve{Network: network, Mode: k.mode, Batch: k.batch, MachineType: k.machineType, Cores: cores[k.machineType]}
		for workers, seconds := range byWorkers {
			c.Points = append(c.Points, CurvePoint{workers, median(seconds)})
		}
		slices.SortFunc(c.Points, func(a, b CurvePoint) int { return a.Workers - b.Workers })
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Curve) int {
		return cmp.Or(strings.Compare(string(a.Mode), string(b.Mode)), a.Batch-b.Batch, a.Cores-b.Cores)
	})
	return out
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
