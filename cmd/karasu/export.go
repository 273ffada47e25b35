package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

// argumentPrefix begins the names of columns with arguments.
const argumentPrefix = "arg."

type exportCmd struct {
	Format string `help:"${enum}." enum:"csv,jsonl" default:"csv" placeholder:"FORMAT"`
	Job    string `help:"Only the runs of this job." placeholder:"NAME"`
}

// Help implements kong's interface for examples.
func (exportCmd) Help() string {
	return `Writes runs to standard output, oldest first, with the columns that karasu import csv
reads: into another home they are the same runs, and into this one nothing new. Stages
are not in it. The table holds private names.

Examples:

  karasu export > runs.csv
  karasu export --format jsonl --job nightly-pagerank`
}

// Run writes the runs.
func (c exportCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	if jobs := res.Msg.GetKnownJobs(); len(jobs) > 0 {
		return fmt.Errorf("no runs of the job %s; there are runs of: %s", clean(c.Job), clean(strings.Join(jobs, ", ")))
	}
	columns := exportColumns(res.Msg.GetRuns())
	var out bytes.Buffer
	write := exportCSV
	if c.Format == "jsonl" {
		write = exportJSON
	}
	if err := write(&out, columns, res.Msg.GetRuns()); err != nil {
		return err
	}
	_, err = a.stdout.Write(out.Bytes())
	return err
}

// exportColumns are the documented ones, and one for each argument of a run.
func exportColumns(runs []*karasuv1.Run) []string {
	var names []string
	for _, c := range runtable.Columns() {
		if !strings.HasPrefix(c.Name, argumentPrefix) {
			names = append(names, c.Name)
		}
	}
	arguments := map[string]bool{}
	for _, r := range runs {
		for _, a := range r.GetWorkload().GetArguments() {
			arguments[argumentPrefix+a.GetName()] = true
		}
	}
	return append(names, slices.Sorted(maps.Keys(arguments))...)
}

// exportRow has the values of a run by column; what is unknown is absent.
func exportRow(r *karasuv1.Run) map[string]any {
	w := r.GetWorkload()
	row := map[string]any{
		"infrastructure": w.GetInfrastructure(), "framework": w.GetFramework(), "algorithm": w.GetAlgorithm(), "job": w.GetJob(),
		"machine_type": r.GetConfiguration().GetMachineType(), "nodes": r.GetConfiguration().GetScaleOut(), "outcome": outcome(r.GetOutcome()),
	}
	for name, v := range map[string]float64{"input_bytes": w.GetInputBytes(), "runtime_s": r.GetRuntimeSeconds()} {
		if v != 0 {
			row[name] = v
		}
	}
	for name, v := range map[string]string{"dataset": w.GetDataset(), "execution_origin": r.GetOrigin()} {
		if v != "" {
			row[name] = v
		}
	}
	if ms := r.GetStartUnixMillis(); ms != 0 {
		row["start"] = time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	m := r.GetMetrics()
	for name, p := range map[string]*karasuv1.Percentiles{"cpu": m.GetCpu(), "memory": m.GetMemory(), "disk": m.GetDisk(), "network": m.GetNetwork()} {
		if p != nil {
			row[name+"_p10"], row[name+"_p50"], row[name+"_p90"] = p.GetP10(), p.GetP50(), p.GetP90()
		}
	}
	for _, a := range w.GetArguments() {
		if a.GetText() != "" {
			row[argumentPrefix+a.GetName()] = a.GetText()
		} else {
			row[argumentPrefix+a.GetName()] = a.GetNumber()
		}
	}
	return row
}

func exportCSV(w *bytes.Buffer, columns []string, runs []*karasuv1.Run) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, r := range runs {
		row := exportRow(r)
		record := make([]string, len(columns))
		for i, c := range columns {
			switch v := row[c].(type) {
			case string:
				record[i] = v
			case uint32:
				record[i] = strconv.FormatUint(uint64(v), 10)
			case float64:
				record[i] = strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
		if err := out.Write(record); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// exportJSON writes all columns in every line, so that the first one tells them all.
func exportJSON(w *bytes.Buffer, columns []string, runs []*karasuv1.Run) error {
	for _, r := range runs {
		row := exportRow(r)
		w.WriteByte('{')
		for i, c := range columns {
			if i > 0 {
				w.WriteByte(',')
			}
			name, err := json.Marshal(c)
			if err != nil {
				return fmt.Errorf("write JSON: %w", err)
			}
			value, err := json.Marshal(row[c])
			if err != nil {
				return fmt.Errorf("write JSON: %w", err)
			}
			w.Write(name)
			w.WriteByte(':')
			w.Write(value)
		}
		w.WriteString("}\n")
	}
	return nil
}
