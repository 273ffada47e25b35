package main

import (
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

// replayFlags are what replays of the search protocol have in common.
type replayFlags struct {
	Runs string `help:"Run table (CSV)." placeholder:"FILE" type:"path" required:""`
	tableFlags
	Methods   []string `help:"Of evidence, karasu, karasu-trees, cherrypick, arrow and random." default:"${methods}" placeholder:"NAMES"`
	Scenarios []string `help:"Of those of bench search. Default: all." placeholder:"NAMES"`
	Seeds     int      `help:"Number of seed sets, each with three repeats of every search." default:"3"`
	Seed      uint64   `help:"Seed of the first set." default:"1"`
	jsonFlag
}

func (f replayFlags) config(a *app) (replay.Config, error) {
	return benchSearchCmd{
		Runs: f.Runs, tableFlags: f.tableFlags, Methods: f.Methods, Scenarios: f.Scenarios,
		Objective: string(search.Cost), Seeds: f.Seeds, Seed: f.Seed,
	}.config(a)
}

type benchParetoCmd struct {
	replayFlags `set:"methods=evidence,random"`
	Objectives  []goals `help:"Sets of objectives to search for, separated by semicolons." sep:";" default:"cost,runtime;cost,energy" placeholder:"LISTS"`
	NoTarget    bool    `help:"Search without runtime targets."`
	Details     bool    `help:"With --json, add the hypervolumes and seconds of every single search."`
	Region      string  `help:"Whose grid carbon is counted for. Default: by infrastructure." placeholder:"NAME"`
}

// Help implements kong's interface for examples.
func (benchParetoCmd) Help() string {
	return `The figures are the hypervolume of the valid runs so far over that of all valid
configurations, in the logs of the objectives, within a point 10% beyond the worst of them.

Examples:

  karasu bench pareto --runs scout.csv
  karasu bench pareto --runs history.csv --objectives 'cost,runtime;cost,carbon,runtime' --json`
}

// Run replays and prints the table.
func (c benchParetoCmd) Run(a *app) error {
	if c.Details && !c.JSON {
		return usagef("--details adds to what --json prints; give both")
	}
	config, err := c.config(a)
	if err != nil {
		return err
	}
	config.Details = c.Details
	pareto := replay.ParetoConfig{Config: config, NoTarget: c.NoTarget}
	for _, g := range c.Objectives {
		objectives, err := search.ParseObjectives(string(g))
		if err != nil {
			return err
		}
		if len(objectives) < 2 {
			return usagef("--objectives: a Pareto front has two or three, separated by commas: %q", g)
		}
		pareto.Objectives = append(pareto.Objectives, objectives)
	}
	if c.Region != "" {
		for _, infrastructure := range infrastructures(config.Runs) {
			region, err := catalog.LookupRegion(infrastructure, c.Region)
			if err != nil {
				return usagef("--region: %w", err)
			}
			for i := range config.Candidates {
				config.Candidates[i].GramsPerKWh = region.GramsPerKWh
			}
		}
	}
	report, err := replay.RunPareto(a.ctx, pareto)
	if err != nil {
		return unknownValue(err)
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	return report.WriteTable(a.stdout)
}

// infrastructures of a table's runs, in their order.
func infrastructures(runs []model.Run) []string {
	var out []string
	for _, r := range runs {
		if !slices.Contains(out, r.Workload.Infrastructure) {
			out = append(out, r.Workload.Infrastructure)
		}
	}
	return out
}

type benchCalibrationCmd struct {
	replayFlags `set:"methods=evidence"`
}

// Help implements kong's interface for examples.
func (benchCalibrationCmd) Help() string {
	return `Says how often configurations met the runtime target that were said to with some
probability: for each fifth, the percentage stated and the percentage that met it.

Example:

  karasu bench calibration --runs scout.csv`
}

// Run replays and prints the table.
func (c benchCalibrationCmd) Run(a *app) error {
	config, err := c.config(a)
	if err != nil {
		return err
	}
	report, err := replay.RunCalibration(a.ctx, config)
	if err != nil {
		return unknownValue(err)
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	return report.WriteTable(a.stdout)
}
