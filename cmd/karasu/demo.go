package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/guptarohit/asciigraph"
	"github.com/schollz/progressbar/v3"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/demo"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/simulator"
)

const (
	// The simulated demo: two workloads of each of 9 algorithms, so that each algorithm that is
	// searched has been run by somebody on another data set.
	demoWorkloads = 18
	demoSeed      = 1
	// demoHistory is how many runs of a workload an organisation holds.
	demoHistory        = 12
	demoInfrastructure = "aws-ec2"
	chartHeight        = 10
)

type demoCmd struct {
	Runs string `help:"Use a real run table (CSV) instead of simulated runs, split by workload over the organisations." placeholder:"FILE" type:"path"`
	tableFlags
	Searches int  `help:"Search at most so many workloads; 0 is all." default:"0"`
	Details  bool `help:"Print the trace of every search, not only of the first."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (demoCmd) Help() string {
	return "Starts organisations as real nodes on loopback in this process, lets them gossip, and searches with and without the network.\n\nExamples:\n\n  karasu demo\n  karasu demo --runs scout.csv --json\n  karasu demo --runs history.csv --map node_count=nodes --infrastructure aws-ec2 --framework spark"
}

// Run plays the demo and prints what came of it.
func (c demoCmd) Run(a *app) error {
	options, err := c.options(a)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karasu-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	options.Dir = dir
	if isTerminal(a.stderr) {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.stderr), progressbar.OptionClearOnFinish())
		options.Progress = func(done, total int, what string) {
			bar.ChangeMax(total)
			bar.Describe(what)
			_ = bar.Set(done)
		}
	}
	report, err := demo.Run(a.ctx, options)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	var out bytes.Buffer
	printDemo(&out, report, c.Details)
	_, err = a.stdout.Write(out.Bytes())
	return err
}

func (c demoCmd) options(a *app) (demo.Options, error) {
	if c.Searches < 0 {
		return demo.Options{}, usagef("--searches must be 0 or more: %d", c.Searches)
	}
	if given := c.given(); c.Runs == "" && len(given) > 0 {
		return demo.Options{}, usagef("%s: how to read a table, so --runs FILE must be there, too", listed(given))
	}
	if c.Runs == "" {
		runs, err := simulated()
		return demo.Options{Runs: runs, Simulated: true, History: demoHistory, MaxSearches: c.Searches}, err
	}
	runs, err := c.read(a, c.Runs)
	return demo.Options{Runs: runs, MaxSearches: c.Searches}, err
}

func simulated() ([]model.Run, error) {
	choices, err := catalog.Builtin().DefaultSpace(demoInfrastructure, false)
	if err != nil {
		return nil, err
	}
	return simulator.Runs(simulator.Workloads(demoInfrastructure, demoWorkloads, demoSeed), search.FromCatalog(choices), 0, demoSeed), nil
}

func printDemo(w *bytes.Buffer, r *demo.Report, details bool) {
	if r.Simulated {
		fmt.Fprintf(w, "%s\n\n", simulator.Notice)
	}
	names := newTable("ORGANISATION", ">PRIVATE RUNS", ">RECORDS SHARED", ">BYTES SHARED", ">RECORDS RECEIVED")
	for _, o := range r.Organisations {
		names.add(o.Name, fmt.Sprint(o.PrivateRuns), fmt.Sprint(o.RecordsShared), size(float64(o.BytesShared)), fmt.Sprint(o.RecordsReceived))
	}
	names.print(w, "")
	for i := 0; i+1 < len(r.Searches) && (details || i == 0); i += 2 {
		printPair(w, r.Searches[i], r.Searches[i+1])
	}
	if len(r.Searches) > 2 {
		fmt.Fprintln(w)
		printMeans(w, r.Searches)
	}
	for _, o := range r.Organisations {
		if o.Sample != "" {
			fmt.Fprintf(w, "\nWhat left %s, as an example (all of it: karasu share preview):\n  %s\n", o.Name, abbreviate(o.Sample))
			break
		}
	}
	fmt.Fprintf(w, "\nTook %s.\n", seconds(r.WallSeconds))
}

// printPair shows one workload's search with the network beside the one alone.
func printPair(w *bytes.Buffer, network, solo demo.Search) {
	fmt.Fprintf(w, "\nThe newcomer, who has no runs, searches the cheapest configuration for %s within %s:\n\n", clean(network.Workload), seconds(network.TargetSeconds))
	t := newTable(">RUN", "WITH THE NETWORK", ">BEST/OPTIMUM", "ALONE", ">BEST/OPTIMUM")
	for i := range max(len(network.Configurations), len(solo.Configurations)) {
		t.add(fmt.Sprint(i+1), at(network.Configurations, i), ratio(network.BestOverOptimum, i), at(solo.Configurations, i), ratio(solo.BestOverOptimum, i))
	}
	t.print(w, "")
	if chart := ratioChart(network, solo); chart != "" {
		fmt.Fprintf(w, "\n%s\n", chart)
	}
	var parts []string
	for _, x := range network.Weights {
		if x.Share >= smallShare {
			parts = append(parts, fmt.Sprintf("%s %s", clean(x.Organisation), percent(x.Share)))
		}
	}
	fmt.Fprintf(w, "\nThe answer with the network rests on: %s\n", strings.Join(parts, ", "))
}

// notYet counts a search without a valid run, as the Karasu evaluation's protocol does.
const notYet = 3.0

func printMeans(w *bytes.Buffer, searches []demo.Search) {
	t := newTable(">RUN", ">MEAN WITH THE NETWORK", ">MEAN ALONE")
	for i := range demo.DefaultSteps {
		t.add(fmt.Sprint(i+1), fmt.Sprintf("%.3f", meanRatio(searches, "network", i)), fmt.Sprintf("%.3f", meanRatio(searches, "solo", i)))
	}
	fmt.Fprintf(w, "Best cost so far over the best there is, mean of %d workloads (no valid run yet, and anything worse, counts %.0f):\n\n", len(searches)/2, notYet)
	t.print(w, "")
}

func meanRatio(searches []demo.Search, mode string, i int) float64 {
	sum, n := 0.0, 0
	for _, s := range searches {
		if s.Mode != mode || len(s.BestOverOptimum) == 0 {
			continue
		}
		n++
		sum += notYet
		if v := s.BestOverOptimum[min(i, len(s.BestOverOptimum)-1)]; v != nil {
			sum += math.Min(*v, notYet) - notYet
		}
	}
	return sum / float64(max(n, 1))
}

// ratioChart draws both traces; runs before the first valid one count as [notYet].
func ratioChart(network, solo demo.Search) string {
	series := func(s demo.Search) []float64 {
		var out []float64
		for _, v := range s.BestOverOptimum {
			if v == nil {
				out = append(out, notYet)
			} else {
				out = append(out, math.Min(*v, notYet))
			}
		}
		return out
	}
	a, b := series(network), series(solo)
	if len(a) < 2 || len(b) < 2 {
		return ""
	}
	// Six columns a run make steps readable.
	return asciigraph.PlotMany([][]float64{a, b}, asciigraph.Height(chartHeight), asciigraph.Width(6*max(len(a), len(b))),
		asciigraph.LowerBound(1), asciigraph.Precision(2), asciigraph.SeriesChars(asciigraph.DefaultCharSet, dotted()),
		asciigraph.Caption("best cost so far / optimum by run: solid with the network, dotted alone"))
}

// dotted tells the second series from the first without colour.
func dotted() asciigraph.CharSet {
	return asciigraph.CreateCharSet("·")
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func ratio(list []*float64, i int) string {
	if i >= len(list) {
		return ""
	}
	if list[i] == nil {
		return "none valid"
	}
	return fmt.Sprintf("%.3f", *list[i])
}

// abbreviate keeps a record readable on a screen.
func abbreviate(s string) string {
	const limit = 420
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + " ..."
	}
	return s
}
