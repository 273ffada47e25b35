// Command calibration fits the constants with which probabilities of meeting a runtime
// target are stated (optimizer/search/calibrate.go), from replays of the search protocol:
//
//	go run ./scripts/calibration --scout DATA/scout/scout.csv --c3o DATA/c3o
//
// It fits on one seed set and prints, on others that the fit did not see, for each fifth
// of [0, 1] the percentage stated and the percentage that met the target: of the
// posterior as it is, with the constants of the source, and with those fitted now. The
// tables are the public ones that docs/objectives.md names.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "calibration:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("calibration", flag.ContinueOnError)
	scout := flags.String("scout", "", "the scout table, a CSV file")
	c3o := flags.String("c3o", "", "the folder of the C3O tables; empty leaves them out")
	fitSeed := flags.Uint64("fit-seed", 0, "seed of the searches that are fitted to")
	seed := flags.Uint64("seed", 101, "first seed of those that the tables are of")
	names := flags.String("scenarios", "", "scenarios of karasu bench search to replay, separated by commas; empty is all")
	sets := flags.Int("sets", 1, "seed sets of both, each with three repeats of every search")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *scout == "":
		return fmt.Errorf("--scout is missing: the scout table")
	case *sets < 1:
		return fmt.Errorf("--sets must be 1 or more: %d", *sets)
	case *seed == *fitSeed:
		return fmt.Errorf("--seed and --fit-seed are both %d: the tables would be of what was fitted", *seed)
	}
	scenarios, err := choose(*names)
	if err != nil {
		return fmt.Errorf("--scenarios: %w", err)
	}
	tables, err := load(ctx, *scout, *c3o)
	if err != nil {
		return err
	}
	fit, held := make([]*replay.Outcomes, len(tables)), make([]*replay.Outcomes, len(tables))
	for i, t := range tables {
		if fit[i], err = t.outcomes(ctx, scenarios, *fitSeed, *sets); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if held[i], err = t.outcomes(ctx, scenarios, *seed, *sets); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	fitted, err := replay.FitCalibration(fit)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "fitted on seed %d: level %.3f, low %.3f, high %.3f\n\n", *fitSeed, fitted.Level, fitted.Low, fitted.High); err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "table\tof\tcalibration\tn\t0-20%\t20-40%\t40-60%\t60-80%\t80-100%\tworst\t")
	for i, t := range tables {
		for _, part := range []struct {
			name  string
			cells *replay.OutcomeCells
		}{{"suggested", &held[i].Suggested}, {"all", &held[i].All}} {
			printBins(out, t.name+"\t"+part.name+"\tnone", part.cells.Bins(func(p float64) float64 { return p }))
			printBins(out, t.name+"\t"+part.name+"\tsource", part.cells.Bins(search.Calibrated))
			printBins(out, t.name+"\t"+part.name+"\tfitted", part.cells.Bins(fitted.Stated))
		}
	}
	return out.Flush()
}

// choose returns the scenarios of the names; none are all.
func choose(names string) ([]replay.Scenario, error) {
	var out []replay.Scenario
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		s, err := replay.ScenariosByName(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	return out, nil
}

// printBins prints stated / met in percent, and the largest difference in points.
func printBins(w io.Writer, label string, bins []replay.CalibrationBin) {
	n, worst, cells := 0, 0., ""
	for _, b := range bins {
		n += b.N
		if e := 100 * b.Error(); e*e > worst*worst {
			worst = e
		}
		cells += fmt.Sprintf("%.0f/%.0f\t", 100*b.Stated, 100*b.Met)
	}
	_, _ = fmt.Fprintf(w, "%s\t%d\t%s%+.1f\t\n", label, n, cells, worst)
}
