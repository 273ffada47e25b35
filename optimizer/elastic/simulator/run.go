package simulator

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/model/throughput/replay"
)

// Config of simulations.
type Config struct {
	Curves []replay.Curve
	Trace  *Trace
	// Loads, Arms, Seeds, Jobs and CPU (vCPUs of the cluster); zero values are DefaultLoads,
	// Arms, DefaultSeeds, DefaultJobs and DefaultCPU.
	Loads []float64
	Arms  []string
	// FirstSeed is the first of the seeds in a row. The policy's constants were chosen on
	// seeds below ReportedSeed; figures are those of seeds from there on.
	Seeds     int
	FirstSeed uint64
	Jobs      int
	CPU       int
	// Progress, if any, is told how many of the simulations are done.
	Progress func(done, total int)
}

// Defaults of a Config.
const (
	DefaultSeeds = 20
	DefaultJobs  = 80
	DefaultCPU   = 400
	ReportedSeed = 1001
)

// DefaultLoads returns the loads of the report.
func DefaultLoads() []float64 { return []float64{.2, .6, 1.1} }

func (c *Config) defaults() error {
	if len(c.Loads) == 0 {
		c.Loads = DefaultLoads()
	}
	if len(c.Arms) == 0 {
		c.Arms = Arms
	}
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&c.Seeds, DefaultSeeds)
	set(&c.Jobs, DefaultJobs)
	set(&c.CPU, DefaultCPU)
	if c.FirstSeed == 0 {
		c.FirstSeed = ReportedSeed
	}
	for _, a := range c.Arms {
		if !slices.Contains(Arms, a) {
			return fmt.Errorf("arm %q: want one of %s: %w", a, strings.Join(Arms, ", "), throughput.ErrInvalid)
		}
	}
	for _, l := range c.Loads {
		if !(l >= .01 && l <= 10) {
			return fmt.Errorf("load must be between 0.01 and 10: %g: %w", l, throughput.ErrInvalid)
		}
	}
	switch {
	case c.Seeds < 1 || c.Seeds > 10_000 || c.Jobs < 2 || c.Jobs > 1000:
		return fmt.Errorf("seeds must be between 1 and 10000 and jobs between 2 and 1000: %d and %d: %w", c.Seeds, c.Jobs, throughput.ErrInvalid)
	case c.CPU < maxUnits*coresPerUnit || c.CPU > 1_000_000:
		return fmt.Errorf("cores must be between %d and 1000000, so that every job fits: %d: %w", maxUnits*int(coresPerUnit), c.CPU, throughput.ErrInvalid)
	case len(c.Curves) == 0 || c.Trace == nil:
		return fmt.Errorf("simulations need measured curves and traces: %w", throughput.ErrInvalid)
	}
	return nil
}

// task is one simulation.
type task struct {
	load      float64
	arm       string
	seed      uint64
	at        int // place of the seed
	cellIndex int
}

// Run simulates every arm at every load with the same seeds.
func Run(ctx context.Context, c Config) (*Report, error) {
	if err := c.defaults(); err != nil {
		return nil, err
	}
	var curves []*truth
	for _, curve := range c.Curves {
		t, err := newTruth(curve)
		if err != nil {
			return nil, err
		}
		curves = append(curves, t)
	}
	var tasks []task
	outcomes := make([][]outcome, len(c.Loads)*len(c.Arms))
	for s := range c.Seeds {
		for l, load := range c.Loads {
			for a, name := range c.Arms {
				tasks = append(tasks, task{load, name, c.FirstSeed + uint64(s), s, l*len(c.Arms) + a})
			}
		}
	}
	for i := range outcomes {
		outcomes[i] = make([]outcome, c.Seeds)
	}
	if err := c.playAll(ctx, curves, tasks, outcomes); err != nil {
		return nil, err
	}
	return c.report(outcomes), nil
}

// playAll plays the tasks on all cores; results do not depend on their order.
func (c *Config) playAll(ctx context.Context, curves []*truth, tasks []task, outcomes [][]outcome) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu    sync.Mutex
		first error
		next  int
		done  int
		wait  sync.WaitGroup
	)
	take := func() (task, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(tasks) || ctx.Err() != nil {
			return task{}, false
		}
		next++
		return tasks[next-1], true
	}
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				t, ok := take()
				if !ok {
					return
				}
				result, err := c.playOne(curves, t)
				mu.Lock()
				if err != nil && first == nil {
					first = fmt.Errorf("load %g, %s, seed %d: %w", t.load, t.arm, t.seed, err)
					cancel()
				}
				outcomes[t.cellIndex][t.at] = result
				done++
				if c.Progress != nil {
					c.Progress(done, len(tasks))
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}

func (c *Config) playOne(curves []*truth, t task) (outcome, error) {
	units := c.CPU / int(coresPerUnit)
	a, err := newArm(t.arm, curves)
	if err != nil {
		return outcome{}, err
	}
	return play(newJobs(curves, c.Trace, t.seed, c.Jobs, units, t.load), units, a)
}
