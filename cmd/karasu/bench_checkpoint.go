package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	stagereplay "github.com/karasu-project/karasu/model/stage/replay"
	"github.com/karasu-project/karasu/optimizer/checkpoint/replay"
)

// Parts of the checkpoint benchmark.
const (
	partPredictors = "predictors"
	partPredicted  = "predicted"
	partCuts       = "cuts"
)

// Bounds of one call of the exact method, so that the benchmark ends.
const (
	exactSeconds    = .18
	bestRelaxations = 300
)

type benchCheckpointCmd struct {
	Data  string   `help:"Folder with stages/tpc.jsonl, stages/workflows.jsonl and stages/history.csv." placeholder:"DIR" type:"path" required:""`
	Parts []string `help:"Of predictors, predicted and cuts. Default: all." placeholder:"NAME"`
	Every int      `help:"Leave out one group of queries in so many, to be quicker." default:"1"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchCheckpointCmd) Help() string {
	return `Predicts stages of queries that were left out and of recurring jobs (predictors), plans cuts
from these predictions, once at submission and again whenever a stage ends (predicted), and
cuts public stage graphs (cuts): how much temporary storage a cut frees beside the best known
one, how much work a failure costs with and without, and how long it takes to find. The exact
method has 0.18 s a graph.

Examples:

  karasu bench checkpoint --data measurements
  karasu bench checkpoint --data measurements --parts cuts --json
  karasu bench checkpoint --data measurements --parts predicted --every 5`
}

// checkpointReport is what is printed.
type checkpointReport struct {
	Predictors []stagereplay.Row `json:"predictors"`
	replay.Report
	WallSeconds float64 `json:"wall_seconds"`
}

// Run replays and prints the tables.
func (c benchCheckpointCmd) Run(a *app) error {
	if c.Every < 1 {
		return usagef("--every must be 1 or more: %d", c.Every)
	}
	for _, p := range c.Parts {
		if p != partPredictors && p != partPredicted && p != partCuts {
			return usagef("--parts: %q, want %s, %s or %s", p, partPredictors, partPredicted, partCuts)
		}
	}
	begin := time.Now()
	var report checkpointReport
	if c.wants(partPredictors) || c.wants(partPredicted) {
		if err := c.models(a, &report); err != nil {
			return err
		}
	}
	if c.wants(partCuts) {
		rows, err := c.cuts(begin, progress(a, "graphs"))
		if err != nil {
			return err
		}
		rows.Predicted = report.Predicted
		report.Report = rows
	}
	report.WallSeconds = time.Since(begin).Seconds()
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	if len(report.Predictors) > 0 {
		if err := stagereplay.Print(a.stdout, report.Predictors); err != nil {
			return err
		}
		if len(report.Predicted)+len(report.Optimality) > 0 {
			if _, err := fmt.Fprintln(a.stdout); err != nil {
				return err
			}
		}
	}
	return report.WriteTable(a.stdout)
}

func (c benchCheckpointCmd) wants(part string) bool {
	return len(c.Parts) == 0 || slices.Contains(c.Parts, part)
}

func (c benchCheckpointCmd) open(name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(c.Data, "stages", name))
	if err != nil {
		return nil, missingData(err)
	}
	return f, nil
}

// models predicts stages, and plans from what is predicted, with the same models.
func (c benchCheckpointCmd) models(a *app, report *checkpointReport) error {
	queries, err := readStages(c, "tpc.jsonl", stagereplay.ReadTPC)
	if err != nil {
		return err
	}
	runs, err := readStages(c, "history.csv", stagereplay.ReadHistory)
	if err != nil {
		return err
	}
	options := stagereplay.Options{Every: c.Every, Progress: progress(a, "groups of queries")}
	plans := replay.NewQueryPlans(queries, options)
	if c.wants(partPredictors) {
		report.Predictors, err = c.predictors(a.ctx, queries, runs, options, plans)
	} else {
		err = stagereplay.LeaveOut(a.ctx, queries, options, plans.Each)
	}
	if err != nil || !c.wants(partPredicted) {
		return err
	}
	rows, err := replay.PredictedRuns(a.ctx, replay.DataRecurring, replay.Sized(runs), options)
	report.Predicted = append(plans.Rows(replay.DataBroadcasts), rows...)
	return err
}

// predictors scores the models of queries, which plans get, too, if wanted, and of runs.
func (c benchCheckpointCmd) predictors(ctx context.Context, queries []stagereplay.Query, runs []stagereplay.Run,
	options stagereplay.Options, plans *replay.QueryPlans) ([]stagereplay.Row, error) {
	var more stagereplay.Each
	if c.wants(partPredicted) {
		more = plans.Each
	}
	rows, err := stagereplay.TPC(ctx, queries, options, more)
	if err != nil {
		return nil, err
	}
	recurring, err := stagereplay.History(ctx, runs, options)
	return append(rows, recurring...), err
}

func readStages[T any](c benchCheckpointCmd, name string, read func(io.Reader) ([]T, error)) ([]T, error) {
	f, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	out, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return out, nil
}

// cuts replays the optimizer on all graphs.
func (c benchCheckpointCmd) cuts(begin time.Time, done func(done, total int)) (replay.Report, error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // only read
		}
	}()
	for _, name := range []string{"tpc.jsonl", "workflows.jsonl", "history.csv"} {
		f, err := c.open(name)
		if err != nil {
			return replay.Report{}, err
		}
		files = append(files, f)
	}
	parts := []string{replay.DataQueries, replay.DataBroadcasts, replay.DataWorkflows, replay.DataIterative, "latency"}
	var begun func(string)
	if done != nil {
		begun = func(part string) { done(slices.Index(parts, part), len(parts)) }
	}
	report, err := replay.Run(replay.Sources{Queries: files[0], Workflows: files[1], History: files[2]},
		func() float64 { return time.Since(begin).Seconds() },
		replay.Limits{ExactSeconds: exactSeconds, BestRelaxations: bestRelaxations}, begun)
	if err != nil {
		return replay.Report{}, fmt.Errorf("%s: %w", strings.TrimSuffix(c.Data, "/"), err)
	}
	if done != nil {
		done(len(parts), len(parts))
	}
	return report, nil
}
