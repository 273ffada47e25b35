package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"connectrpc.com/connect"
	"github.com/schollz/progressbar/v3"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
	"github.com/karasu-project/karasu/store/wire"
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
	File           string   `arg:"" help:"Table; - is standard input." placeholder:"FILE"`
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
where a job really ran twice alike, give the start to tell the runs apart.

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

// run reads the file, checks every line and sends the runs to the daemon.
func (c importTable) run(a *app, format string) error {
	report, skipped, err := c.await(a, format)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		a.note("%s", oneLine(p.Error()))
	}
	if more := report.Bad - len(report.Problems); more > 0 {
		a.note("and %s like these", counted(more, "more line"))
	}
	for _, s := range skipped {
		a.note("left out %s: %s", counted(s.Rows, "row"), oneLine(s.Reason))
	}
	if report.Bad > 0 && !c.SkipBad {
		return fmt.Errorf("%s of %d cannot be imported, so nothing was; mend the file or add --skip-bad", counted(report.Bad, "line"), report.Bad+len(report.Runs))
	}
	repeated := dropRepeated(report)
	if c.DryRun {
		return c.summarise(a, report, repeated)
	}
	imported, unchanged, err := send(a, report.Runs)
	if err != nil {
		return err
	}
	return c.print(a, report, repeated, imported, unchanged)
}

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
func (c importTable) await(a *app, format string) (*ingest.Report, []runtable.Skipped, error) {
	type result struct {
		report  *ingest.Report
		skipped []runtable.Skipped
		err     error
	}
	done := make(chan result, 1)
	go func() {
		report, skipped, err := c.read(a, format)
		done <- result{report, skipped, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-a.ctx.Done():
	}
	if a.ctx.Err() != nil {
		return nil, nil, errors.New("interrupted; nothing was stored")
	}
	return r.report, r.skipped, r.err
}

func (c importTable) read(a *app, format string) (*ingest.Report, []runtable.Skipped, error) {
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
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in, name = f, c.File
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
			return 0, 0, errors.New("interrupted; nothing was stored")
		}
		res, err := client.ImportRuns(context.WithoutCancel(a.ctx), connect.NewRequest(req))
		if err != nil && sent > 0 {
			return imported, unchanged, fmt.Errorf("after %d of %d runs, which are stored: %w", sent, len(runs), err)
		}
		if err != nil {
			return 0, 0, err
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

// importResult is the JSON form.
type importResult struct {
	Runs      int           `json:"runs"`
	Workloads []importGroup `json:"workloads"`
	Bad       int           `json:"bad"`
	Repeated  int           `json:"repeated"`
	Imported  uint32        `json:"imported"`
	Unchanged uint32        `json:"unchanged"`
	DryRun    bool          `json:"dry_run"`
}

type importGroup struct {
	Job     string `json:"job"`
	Topic   string `json:"topic"`
	Dataset string `json:"dataset"`
	Runs    int    `json:"runs"`
	OK      int    `json:"ok"`
}

// groups counts runs by workload, in order of appearance.
func groups(runs []model.Run) []importGroup {
	at := map[string]int{}
	out := []importGroup{}
	for _, r := range runs {
		id := r.Workload.Identity()
		i, seen := at[id]
		if !seen {
			i = len(out)
			at[id] = i
			out = append(out, importGroup{Job: r.Workload.Job, Dataset: r.Workload.Dataset, Topic: topicOf(wire.FromWorkload(r.Workload))})
		}
		out[i].Runs++
		if r.Outcome == model.OK {
			out[i].OK++
		}
	}
	return out
}

func (c importTable) summarise(a *app, report *ingest.Report, repeated int) error {
	if c.JSON {
		return writeJSON(a.stdout, importResult{Runs: len(report.Runs), Workloads: groups(report.Runs), Bad: report.Bad, Repeated: repeated, DryRun: true})
	}
	t := newTable("JOB", "TOPIC", "DATASET", ">RUNS", ">OK")
	for _, g := range groups(report.Runs) {
		t.add(dash(g.Job), g.Topic, dash(g.Dataset), fmt.Sprint(g.Runs), fmt.Sprint(g.OK))
	}
	return a.print(func(w *bytes.Buffer) {
		t.print(w, "The file holds no run.")
		fmt.Fprintf(w, "%s would be imported%s; nothing was stored.\n", counted(len(report.Runs), "run"), countedOnce(repeated))
	})
}

func (c importTable) print(a *app, report *ingest.Report, repeated int, imported, unchanged uint32) error {
	if c.JSON {
		return writeJSON(a.stdout, importResult{Runs: len(report.Runs), Workloads: groups(report.Runs), Bad: report.Bad, Repeated: repeated, Imported: imported, Unchanged: unchanged})
	}
	if len(report.Runs) == 0 {
		_, err := fmt.Fprintln(a.stdout, "The file holds no run.")
		return err
	}
	return a.print(func(w *bytes.Buffer) {
		printCounts(w, len(groups(report.Runs)), imported, unchanged, repeated, report.Bad)
	})
}

// countedOnce says that lines of a file are equal.
func countedOnce(repeated int) string {
	if repeated == 0 {
		return ""
	}
	return fmt.Sprintf("; %s counted once", counted(repeated, "repeated line"))
}

func printCounts(w *bytes.Buffer, workloads int, imported, unchanged uint32, repeated, bad int) {
	fmt.Fprintf(w, "Imported %s of %s%s", counted(imported, "run"), counted(workloads, "workload"), countedOnce(repeated))
	if unchanged > 0 {
		fmt.Fprintf(w, "; %s stored before", number(unchanged))
	}
	if bad > 0 {
		fmt.Fprintf(w, "; %s skipped", counted(bad, "bad line"))
	}
	fmt.Fprintln(w, ".")
}
