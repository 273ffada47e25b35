package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

type benchSearchCmd struct {
	Runs           string   `help:"Run table (CSV)." placeholder:"FILE" type:"path" required:""`
	Infrastructure string   `help:"Infrastructure of a table that does not say it." default:"aws-ec2"`
	Methods        []string `help:"Of evidence, karasu, cherrypick and random." default:"evidence"`
	Scenarios      []string `help:"Of those of docs/search.md. Default: all." placeholder:"NAME"`
	Objective      string   `help:"cost, runtime or energy." default:"cost"`
	Seeds          int      `help:"Number of seed sets, each with three repeats of every search." default:"3"`
	Seed           uint64   `help:"Seed of the first set." default:"1"`
	Export         string   `help:"Write the searches themselves to a file, for methods outside this program, and stop." placeholder:"FILE" type:"path"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchSearchCmd) Help() string {
	return `Every workload of the table is searched at five runtime targets, with noise on what is
seen, knowing traces of other workloads as the scenario says. The figures are the best
valid objective so far over the best there is.

Examples:

  karasu bench search --runs scout.csv
  karasu bench search --runs history.csv --methods evidence,karasu --scenarios solo,A3 --json`
}

// Run replays and prints the table.
func (c benchSearchCmd) Run(a *app) error {
	config, err := c.config(a)
	if err != nil {
		return err
	}
	if c.Export != "" {
		return c.export(a, config)
	}
	report, err := replay.Run(a.ctx, config)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	return report.WriteTable(a.stdout)
}

func (c benchSearchCmd) config(a *app) (replay.Config, error) {
	if c.Seeds < 1 {
		return replay.Config{}, usagef("--seeds must be 1 or more: %d", c.Seeds)
	}
	if !search.Objective(c.Objective).Valid() {
		return replay.Config{}, usagef("--objective must be cost, runtime or energy: %q", c.Objective)
	}
	runs, err := readTable(a, c.Runs, c.Infrastructure)
	if err != nil {
		return replay.Config{}, err
	}
	candidates, err := candidatesOf(runs)
	if err != nil {
		return replay.Config{}, err
	}
	config := replay.Config{
		Runs: runs, Candidates: candidates, Objective: search.Objective(c.Objective), Seed: c.Seed, SeedSets: c.Seeds,
		Baseline: replayed("cherrypick"), Progress: progress(a, "searches"),
	}
	for _, name := range c.Methods {
		if _, err := search.New(name); err != nil {
			return config, usagef("--methods: %w", err)
		}
		config.Methods = append(config.Methods, replayed(name))
	}
	for _, name := range c.Scenarios {
		s, err := replay.ScenarioByName(name)
		if err != nil {
			return config, usagef("--scenarios: %w", err)
		}
		config.Scenarios = append(config.Scenarios, s)
	}
	return config, nil
}

// replayed is a method by its name, which is known to exist.
func replayed(name string) replay.Method {
	return replay.Method{Name: strings.ToLower(name), New: func() search.Method {
		m, err := search.New(name)
		if err != nil {
			panic(fmt.Sprintf("method %q was checked before: %v", name, err))
		}
		return m
	}}
}

func (c benchSearchCmd) export(a *app, config replay.Config) error {
	spelt, err := replay.Spell(a.ctx, config)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(spelt)
	if err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	if err := os.WriteFile(c.Export, raw, 0o644); err != nil { //nolint:gosec // public measurements
		return fmt.Errorf("--export: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "Wrote %d searches to %s.\n", len(spelt.Searches), c.Export)
	return err
}
