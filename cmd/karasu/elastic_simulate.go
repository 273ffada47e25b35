package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/model/throughput/replay"
	"github.com/karasu-project/karasu/optimizer/elastic/simulator"
)

type elasticSimulateCmd struct {
	Data  string    `help:"Folder with tensorflow/*.csv and cluster-traces/*.csv." placeholder:"DIR" type:"path" required:""`
	Loads []float64 `help:"Demand over what the cluster has. Default: 0.6." placeholder:"LOAD" default:"0.6"`
	Arms  []string  `help:"Who decides. Default: manual, dlrover-rules, karasu-alone and karasu-peers." placeholder:"NAME" default:"manual,dlrover-rules,karasu-alone,karasu-peers"`
	Jobs  replicas  `help:"Training jobs." placeholder:"N" default:"80"`
	Cores replicas  `help:"Cores of the cluster for workers." placeholder:"N" default:"400"`
	Seeds replicas  `help:"Simulations of each arm at each load." placeholder:"N" default:"3"`
	Seed  replicas  `help:"First seed." placeholder:"N" default:"1001"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticSimulateCmd) Help() string {
	return `Plays training jobs with measured speeds, arrivals and requests on a cluster of your size.
Memory needs, evictions and the costs of a change are assumed (docs/elastic.md). The figures
that Karasu is judged by are those of: karasu bench elastic.

Arms: ` + strings.Join(simulator.Arms, ", ") + `.

Examples:

  karasu elastic simulate --data measurements
  karasu elastic simulate --data measurements --cores 1000 --jobs 200 --loads 0.3,0.9 --json`
}

// Run plays and prints.
func (c elasticSimulateCmd) Run(a *app) error {
	curves, err := replay.ReadCurves(c.Data)
	if err != nil {
		return missingData(err)
	}
	trace, err := simulator.ReadTrace(c.Data)
	if err != nil {
		return missingData(err)
	}
	report, err := simulator.Run(a.ctx, simulator.Config{
		Curves: curves, Trace: trace, Loads: c.Loads, Arms: c.Arms, Seeds: int(c.Seeds), FirstSeed: uint64(c.Seed),
		Jobs: int(c.Jobs), CPU: int(c.Cores), Progress: progress(a, "simulations"),
	})
	if errors.Is(err, throughput.ErrInvalid) {
		return usagef("%w", err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	if _, err := fmt.Fprintf(a.stdout, "%d jobs on %d cores, means over %d seeds from %d; a job that dies counts 24 h:\n", c.Jobs, c.Cores, c.Seeds, c.Seed); err != nil {
		return err
	}
	return report.Print(a.stdout)
}
