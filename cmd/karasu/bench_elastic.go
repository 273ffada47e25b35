package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model/throughput"
	throughputreplay "github.com/karasu-project/karasu/model/throughput/replay"
	"github.com/karasu-project/karasu/optimizer/elastic/replay"
	"github.com/karasu-project/karasu/optimizer/elastic/simulator"
)

// Parts of the elastic benchmark.
const (
	partModel      = "model"
	partSimulation = "simulation"
	partDecisions  = "decisions"
)

var elasticParts = []string{partModel, partSimulation, partDecisions}

type benchElasticCmd struct {
	Data  string    `help:"Folder with tensorflow/*.csv and cluster-traces/*.csv." placeholder:"DIR" type:"path" required:""`
	Parts []string  `help:"Of model, simulation and decisions. Default: all." placeholder:"NAME"`
	Seeds int       `help:"Simulations of each arm at each load." default:"20"`
	Seed  uint64    `help:"First seed; the policy's constants were chosen on 1 to 20." default:"1001"`
	Loads []float64 `help:"Demand over what the cluster has. Default: 0.2, 0.6, 1.1." placeholder:"LOAD"`
	Arms  []string  `help:"Arms of the simulation. Default: all." placeholder:"NAME"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchElasticCmd) Help() string {
	return `Predicts the speed of distributed training at numbers of workers that were left out, plays
training jobs on a finite cluster under fixed sizes, under DLRover's rules and under
Karasu's, and measures how long decisions take.

In the simulation speeds against workers, arrivals, requests, run lengths and the spread of
step times are measured. Memory needs, evictions, hot servers, the costs of a change and how
busy cores are, are assumed; so completion rates and utilisations rest on assumptions.

Arms: ` + strings.Join(simulator.Arms, ", ") + `.

Examples:

  karasu bench elastic --data measurements
  karasu bench elastic --data measurements --parts simulation --seeds 5 --loads 0.6 --json`
}

// elasticReport is what is printed.
type elasticReport struct {
	Model []throughputreplay.Row `json:"model,omitempty"`
	*simulator.Report
	DecisionMS  *replay.Timing `json:"decision_ms,omitempty"`
	WallSeconds float64        `json:"wall_seconds"`
}

// Run measures the parts and prints their tables.
func (c benchElasticCmd) Run(a *app) error {
	for _, p := range c.Parts {
		if !slices.Contains(elasticParts, p) {
			return usagef("--parts: %q, want one of %s", p, strings.Join(elasticParts, ", "))
		}
	}
	if c.Seeds < 1 || c.Seed < 1 {
		return usagef("--seeds and --seed must be 1 or more: %d and %d", c.Seeds, c.Seed)
	}
	begin := time.Now()
	report, err := c.measure(a, func() float64 { return time.Since(begin).Seconds() })
	if err != nil {
		return err
	}
	report.WallSeconds = time.Since(begin).Seconds()
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	return report.print(a)
}

func (c benchElasticCmd) wants(part string) bool {
	return len(c.Parts) == 0 || slices.Contains(c.Parts, part)
}

func (c benchElasticCmd) measure(a *app, clock func() float64) (*elasticReport, error) {
	report := &elasticReport{}
	curves, err := c.curves()
	if err != nil {
		return nil, err
	}
	if c.wants(partModel) {
		if report.Model, err = throughputreplay.Run(curves, c.Seed); err != nil {
			return nil, err
		}
	}
	if c.wants(partSimulation) {
		trace, err := simulator.ReadTrace(c.Data)
		if err != nil {
			return nil, missingData(err)
		}
		report.Report, err = simulator.Run(a.ctx, simulator.Config{
			Curves: curves, Trace: trace, Loads: c.Loads, Arms: c.Arms, Seeds: c.Seeds, FirstSeed: c.Seed, Progress: progress(a, "simulations"),
		})
		if errors.Is(err, throughput.ErrInvalid) {
			return nil, usagef("%w", err)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.wants(partDecisions) {
		timing, err := replay.Decisions(clock)
		if err != nil {
			return nil, err
		}
		report.DecisionMS = &timing
	}
	return report, nil
}

// curves are needed by the model and the simulation.
func (c benchElasticCmd) curves() ([]throughputreplay.Curve, error) {
	if !c.wants(partModel) && !c.wants(partSimulation) {
		return nil, nil
	}
	curves, err := throughputreplay.ReadCurves(c.Data)
	return curves, missingData(err)
}

func (r *elasticReport) print(a *app) error {
	space := ""
	if len(r.Model) > 0 {
		if _, err := fmt.Fprintln(a.stdout, "Median error of predicted speed at numbers of workers that were left out:"); err != nil {
			return err
		}
		if err := throughputreplay.Print(a.stdout, r.Model); err != nil {
			return err
		}
		space = "\n"
	}
	if r.Report != nil {
		if _, err := fmt.Fprintf(a.stdout, "%sSimulated jobs, means over %d seeds from %d; a job that dies counts 24 h:\n", space, r.Seeds, r.FirstSeed); err != nil {
			return err
		}
		if err := r.Print(a.stdout); err != nil {
			return err
		}
		space = "\n"
	}
	if t := r.DecisionMS; t != nil {
		_, err := fmt.Fprintf(a.stdout, "%sA decision takes %.3f ms for one job and %.1f ms for %d together.\n", space, t.OneJob, t.Joint, t.JointJobs)
		return err
	}
	return nil
}
