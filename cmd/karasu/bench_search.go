package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

type benchSearchCmd struct {
	Runs string `help:"Run table (CSV)." placeholder:"FILE" type:"path" required:""`
	tableFlags
	Methods   []string `help:"Of evidence, karasu, karasu-trees, cherrypick, arrow and random." default:"evidence"`
	Scenarios []string `help:"Of those above, RQ1, RQ2 and RQ3 for all of theirs. Default: all but those of research questions." placeholder:"NAME"`
	Objective string   `help:"cost, runtime, energy or carbon." default:"cost"`
	Seeds     int      `help:"Number of seed sets, each with three repeats of every search." default:"3"`
	Seed      uint64   `help:"Seed of the first set." default:"1"`
	Export    string   `help:"Write the searches themselves to a file, for methods outside this program, and stop." placeholder:"FILE" type:"path" xor:"output"`
	SVG       string   `name:"svg" help:"Also draw the mean ratio by run to a file, one line a method and scenario." placeholder:"FILE" type:"path" xor:"output"`
	Details   bool     `help:"With --json, add the ratios and seconds of every single search."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchSearchCmd) Help() string {
	return `Every workload of the table is searched at five runtime targets, with noise on what is
seen, knowing traces of other workloads as the scenario says. A workload takes part if it
completed on at least five configurations.

Scenarios:

  solo         nothing is known
  A3, A-all    three, or all, traces (of at most ten runs) of the same framework and
               algorithm on other data
  A-full       the whole history of every such workload
  B3, C3       three traces of the same framework only, or of neither
  real1, full  one trace, or the whole history, of every other workload
  hard1        real1 without the same framework and algorithm
  A3-adv30, real1-adv30   with 30% of the traces permuted or turned upside down
  mis30, mis100           A3 with 30% or all of the traces mislabelled

Research questions of the Karasu paper:

  RQ1          RQ1-1, RQ1-5, RQ1-9: so many traces of the same workload at other
               runtime targets
  RQ2          RQ2-A1, -A3, -A5: so many traces of the same framework and algorithm; -B1,
               -B3, -B5 of the same framework only; -C1, -C3, -C5 of neither; and each
               with -cut at the end, where traces have different lengths, 3 to 10 runs
  RQ3          a Pareto search for cost and energy: RQ3-solo-cost, RQ3-solo-energy,
               RQ3-A3-cost, RQ3-A3-energy, by its best run in the one or the other;
               bench pareto measures the fronts

Examples:

  karasu bench search --runs scout.csv
  karasu bench search --runs history.csv --methods evidence,karasu --scenarios solo,A3 --json
  karasu bench search --runs history.csv --map node_count=nodes --infrastructure aws-ec2 --framework spark
  karasu bench search --runs scout.csv --methods evidence,karasu --scenarios solo,RQ1,RQ2,RQ3 --svg rq.svg
  karasu bench search --runs scout.csv --scenarios solo,A3 --objective energy`
}

// Run replays and prints the table.
func (c benchSearchCmd) Run(a *app) error {
	switch {
	case c.Details && !c.JSON:
		return usagef("--details adds to what --json prints; give both")
	case c.SVG != "":
		if err := canWrite("--svg", c.SVG); err != nil {
			return err
		}
	case c.Export != "":
		if err := canWrite("--export", c.Export); err != nil {
			return err
		}
	}
	config, err := c.config(a)
	if err != nil {
		return err
	}
	if c.Export != "" {
		return c.export(a, config)
	}
	report, err := replay.Run(a.ctx, config)
	if err != nil {
		return unknownValue(err)
	}
	if err := c.print(a, report); err != nil {
		return err
	}
	if c.SVG == "" {
		return nil
	}
	// Last, so that a file that cannot be written does not lose the figures.
	return writeBenchSVG(c.SVG, report)
}

func (c benchSearchCmd) print(a *app, report *replay.Report) error {
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	if err := report.WriteTable(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.stdout, benchLegend, alone(report), savings(report))
	return err
}

// benchLegend explains the columns of the table.
const benchLegend = `
supports traces or histories of other workloads that a search knew, mean
n=1..10  best valid objective so far over the best there is, mean after n runs (nothing valid counts 3)
found@3  share of searches with a valid run among the first three
AUC      mean of (that ratio - 1) over n = 1..10: lower is better; ± is between seed sets
to 10%   runs until within 10% of the best (11: never)
spent    objective summed over ten runs, in units of the best
stop, at runs and ratio where the stop rule ends the search
worst    largest AUC of one workload above its own solo search
`

// alone names the scenarios in which no search knew anything of others: the table has
// no other workload of the kind, and what they show is nobody's knowledge.
func alone(r *replay.Report) string {
	var names []string
	for i := range r.Rows {
		if row := &r.Rows[i]; r.Alone(row) != nil && row.Supports == 0 && !slices.Contains(names, row.Scenario) {
			names = append(names, row.Scenario)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\nWithout supports, so they say nothing of the network: %s. The table has no such workloads.\n", listed(names))
}

// savings says in words what knowing others saved.
func savings(r *replay.Report) string {
	var b strings.Builder
	for i := range r.Rows {
		row := &r.Rows[i]
		solo := r.Alone(row)
		if solo == nil || row.Supports == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s, %s: within 10%% of the best after %.1f runs instead of %.1f; ten runs cost %.1f times the best instead of %.1f.",
			row.Method, row.Scenario, row.RunsTo10Pct, solo.RunsTo10Pct, last(row.Spent), last(solo.Spent))
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

func last(v []float64) float64 { return v[len(v)-1] }

func (c benchSearchCmd) config(a *app) (replay.Config, error) {
	if c.Seeds < 1 {
		return replay.Config{}, usagef("--seeds must be 1 or more: %d", c.Seeds)
	}
	if !search.Objective(c.Objective).Valid() {
		return replay.Config{}, usagef("--objective must be cost, runtime, energy or carbon: %q", c.Objective)
	}
	runs, err := c.read(a, c.Runs)
	if err != nil {
		return replay.Config{}, err
	}
	candidates, err := candidatesOf(runs)
	if err != nil {
		return replay.Config{}, err
	}
	config := replay.Config{
		Runs: runs, Candidates: candidates, Objective: search.Objective(c.Objective), Seed: c.Seed, SeedSets: c.Seeds,
		Details: c.Details, Baseline: replayed("cherrypick"), Progress: progress(a, "searches"),
	}
	for _, name := range c.Methods {
		if _, err := search.New(name); err != nil {
			return config, usagef("--methods: %w", err)
		}
		if slices.ContainsFunc(config.Methods, func(m replay.Method) bool { return strings.EqualFold(m.Name, name) }) {
			return config, usagef("--methods: %s is named twice", name)
		}
		config.Methods = append(config.Methods, replayed(name))
	}
	for _, name := range c.Scenarios {
		scenarios, err := replay.ScenariosByName(name)
		if err != nil {
			return config, usagef("--scenarios: %w", err)
		}
		for _, one := range scenarios {
			if slices.ContainsFunc(config.Scenarios, func(s replay.Scenario) bool { return s.Name == one.Name }) {
				return config, usagef("--scenarios: %s is named twice", one.Name)
			}
			config.Scenarios = append(config.Scenarios, one)
		}
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
