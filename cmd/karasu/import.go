package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/schollz/progressbar/v3"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

type importCmd struct {
	CSV     importCSVCmd     `cmd:"" name:"csv" help:"Import a table with a header, one run a line."`
	JSONL   importJSONLCmd   `cmd:"" name:"jsonl" help:"Import a table of JSON objects, one run a line."`
	Parquet importParquetCmd `cmd:"" help:"Import a Parquet table, one run a row."`

	Spark importSparkCmd `cmd:"" help:"Import Spark event logs."`

	SparkHistory importHistoryCmd `cmd:"" name:"spark-history" help:"Import from a Spark History Server."`
	Hadoop       importHadoopCmd  `cmd:"" help:"Import histories of Hadoop MapReduce jobs."`
	Flink        importFlinkCmd   `cmd:"" help:"Import Flink jobs, from files or a server."`

	Utilisation importUtilisationCmd `cmd:"" help:"Attach utilisation of the nodes to stored runs."`
}

type importCSVCmd struct{ importTable }

type importJSONLCmd struct{ importTable }

type importParquetCmd struct{ importTable }

// importTable are those of imports of run tables.
type importTable struct {
	Files          []string `arg:"" name:"file" help:"Tables; - is standard input." placeholder:"FILE"`
	Map            []string `help:"A column of the file and the documented one that it is, such as node_count=nodes." placeholder:"THEIRS=OURS"`
	Preset         string   `help:"A known public table: scout, c3o, bell or tensorflow; none to recognise nothing. Default: by the header." placeholder:"NAME" xor:"mapping"`
	Mapping        string   `help:"File that says what the columns mean." placeholder:"FILE" type:"path" xor:"mapping"`
	SkipBad        bool     `help:"Import the good lines of a partly bad file."`
	DryRun         bool     `help:"Read and check everything, store nothing. Needs no daemon."`
	Infrastructure string   `help:"Value for a file without that column, such as aws-ec2." placeholder:"SLUG"`
	Framework      string   `help:"Value for a file without that column." placeholder:"SLUG"`
	Algorithm      string   `help:"Value for a file without that column." placeholder:"SLUG"`
	Job            string   `help:"Value for a file without that column." placeholder:"NAME"`
	Dataset        string   `help:"Value for a file without that column." placeholder:"NAME"`
	Catalog        string   `help:"Machine types to check against. Default: those of the home." placeholder:"FILE" type:"path"`
	JSON           bool     `name:"json" help:"Print JSON."`
}

// Help implements kong's interface for examples.
func (importCSVCmd) Help() string {
	text := `Importing a file twice changes nothing: a run is one that is stored already if all
but its utilisation is equal. For the same reason equal lines of a file count once;
where a job really ran twice alike, give the start to tell the runs apart. Of several
files each is imported whole or not at all.

The columns are:

`
	for _, c := range runtable.Columns() {
		need := ""
		if c.Required {
			need = " (needed)"
		}
		text += fmt.Sprintf("  %-15s %s%s\n", c.Name, c.Doc, need)
	}
	return text + `
Commas, semicolons or tabs separate.

Examples:

  karasu import csv runs.csv
  karasu import csv 2025/*.tsv
  karasu import csv history.csv --map node_count=nodes --map secs=runtime_s \
      --infrastructure aws-emr --framework spark --skip-bad`
}

// Run imports the table.
func (c importCSVCmd) Run(a *app) error { return c.run(a, runtable.FormatCSV) }

// Help implements kong's interface for examples.
func (importJSONLCmd) Help() string {
	return `One JSON object a line, with the columns of karasu import csv as keys. An object in an
object is a column with a dot in its name.

Examples:

  karasu import jsonl runs.jsonl
  karasu export --format jsonl | karasu import jsonl - --dry-run`
}

// Run imports the table.
func (c importJSONLCmd) Run(a *app) error { return c.run(a, runtable.FormatJSON) }

// Help implements kong's interface for examples.
func (importParquetCmd) Help() string {
	return `Columns as for karasu import csv. Structures are columns with a dot in their name.

Example:

  karasu import parquet history.parquet --mapping history.toml`
}

// Run imports the table.
func (c importParquetCmd) Run(a *app) error { return c.run(a, runtable.FormatParquet) }

// dropRepeated keeps one of equal runs and says how many it dropped.
func dropRepeated(report *ingest.Report) int {
	seen := make(map[string]bool, len(report.Runs))
	before := len(report.Runs)
	report.Runs = slices.DeleteFunc(report.Runs, func(r model.Run) bool {
		id := r.ID()
		was := seen[id]
		seen[id] = true
		return was
	})
	return before - len(report.Runs)
}

// await reads the file until it ends or the user has enough, also of a standard input
// that nothing comes from.
func (c importTable) await(a *app, format, file string) (*ingest.Report, []runtable.Skipped, error) {
	type result struct {
		report  *ingest.Report
		skipped []runtable.Skipped
		err     error
	}
	done := make(chan result, 1)
	go func() {
		report, skipped, err := c.read(a, format, file)
		done <- result{report, skipped, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-a.ctx.Done():
	}
	if a.ctx.Err() != nil {
		return nil, nil, errInterrupted
	}
	return r.report, r.skipped, r.err
}

func (c importTable) read(a *app, format, file string) (*ingest.Report, []runtable.Skipped, error) {
	machines, err := a.catalog(c.Catalog)
	if err != nil {
		return nil, nil, err
	}
	mapping, err := runtable.ParseMap(c.Map)
	if err != nil {
		return nil, nil, &usageError{fmt.Errorf("--map: %w", err)}
	}
	var meaning *runtable.Mapping
	if c.Mapping != "" {
		if meaning, err = readMapping(c.Mapping); err != nil {
			return nil, nil, &usageError{err}
		}
	}
	defaults := map[string]string{}
	for column, value := range map[string]string{
		"infrastructure": c.Infrastructure, "framework": c.Framework, "algorithm": c.Algorithm, "job": c.Job, "dataset": c.Dataset,
	} {
		if value != "" {
			defaults[column] = value
		}
	}
	in, name := a.stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in, name = f, file
		if bar := a.readingBar(f, format); bar != nil {
			defer func() { _ = bar.Finish() }() // it is only for looking at
			r := progressbar.NewReader(f, bar)
			in = &r
		}
	}
	table := runtable.New(in, runtable.Options{
		Name: name, Map: mapping, Defaults: defaults, Preset: c.Preset, Mapping: meaning, Format: format,
		CheckMachine: func(infrastructure, machineType string) error {
			_, err := machines.Lookup(infrastructure, machineType)
			return err
		},
	})
	report, err := ingest.Collect(a.ctx, table)
	if errors.Is(err, runtable.ErrOptions) {
		return nil, nil, &usageError{err}
	}
	return report, table.Skipped(), err
}

// minReadingBar is the size of a table from which reading it takes a second or so, in bytes.
const minReadingBar = 4 << 20

// readingBar is the progress of reading a large table on a terminal, or nil. Parquet is
// not read from front to back.
func (a *app) readingBar(f *os.File, format string) *progressbar.ProgressBar {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < minReadingBar || format == runtable.FormatParquet || !isTerminal(a.stderr) {
		return nil
	}
	return progressbar.NewOptions64(info.Size(), progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}

// send stores the runs in batches. Each batch is stored whole or not at all; one that
// is on its way when the user interrupts is waited for, so that the count is right.
func send(a *app, runs []model.Run) (imported, unchanged uint32, err error) {
	if len(runs) == 0 {
		return 0, 0, nil
	}
	client, err := a.client()
	if err != nil {
		return 0, 0, err
	}
	var bar *progressbar.ProgressBar
	if len(runs) > importBatch && isTerminal(a.stderr) {
		bar = progressbar.NewOptions(len(runs), progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	}
	sent := 0
	for req := range importRequests(runs) {
		if a.ctx.Err() != nil && sent > 0 {
			return imported, unchanged, fmt.Errorf("interrupted; %s of %s were stored", number(uint32(sent)), counted(len(runs), "run"))
		}
		if a.ctx.Err() != nil {
			return 0, 0, errInterrupted
		}
		res, err := client.ImportRuns(context.WithoutCancel(a.ctx), connect.NewRequest(req))
		if err != nil {
			if sent > 0 {
				a.note("at least %s of %s were stored, and what is imported again changes nothing", number(uint32(sent)), counted(len(runs), "run"))
			}
			return imported, unchanged, err
		}
		imported += res.Msg.GetImported()
		unchanged += res.Msg.GetUnchanged()
		sent += len(req.GetRuns())
		if bar != nil {
			_ = bar.Add(len(req.GetRuns())) // a progress bar that fails is no reason to stop
		}
	}
	return imported, unchanged, nil
}
