package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/naming"
)

// resultText is imported, updated or unchanged.
func resultText(r karasuv1.ImportResult) string { return node.ImportResultText(r) }

// dryNamer names executions by the rules and machine types of the home, if there is one.
func (a *app) dryNamer() (func(model.Execution, naming.Hints) importedExecution, error) {
	machines, err := a.catalog("")
	if err != nil {
		return nil, err
	}
	var config node.Config
	if h, err := a.home(); err == nil {
		if config, err = node.LoadConfig(h); err != nil && !errors.Is(err, node.ErrNoHome) {
			return nil, err
		}
	}
	rules, err := config.Rules()
	if err != nil {
		return nil, err
	}
	check := func(infrastructure, machineType string) (string, error) {
		m, err := machines.Lookup(infrastructure, machineType)
		return m.Name, err
	}
	return func(e model.Execution, h naming.Hints) importedExecution {
		out := importedExecution{Origin: e.Origin, Name: e.Name, Result: "read", Dropped: []string{}}
		run, err := rules.Run(e, h, check)
		if err != nil {
			reason, detail := naming.ReasonOf(err)
			out.Reason, out.Detail = string(reason), detail
			return out
		}
		out.RunID, out.Job, out.Topic = run.ID(), run.Workload.Job, run.Workload.Topic().String()
		return out
	}, nil
}

// executionsResult is the JSON form.
type executionsResult struct {
	Files      int                 `json:"files"`
	Executions []importedExecution `json:"executions"`
	Imported   int                 `json:"imported"`
	Updated    int                 `json:"updated"`
	Unchanged  int                 `json:"unchanged"`
	Unmatched  int                 `json:"unmatched"`
	Skipped    []skippedItem       `json:"skipped"`
	DryRun     bool                `json:"dry_run"`
}

// summary prints what became of it all. Where nothing could be read that is an error.
func (im *executionImport) summary(what noun, files int) error {
	r := executionsResult{Files: files, Executions: im.done, Skipped: im.skipped, DryRun: im.flags.DryRun}
	if r.Executions == nil {
		r.Executions = []importedExecution{}
	}
	if r.Skipped == nil {
		r.Skipped = []skippedItem{}
	}
	for _, e := range im.done {
		switch e.Result {
		case "imported":
			r.Imported++
		case "updated":
			r.Updated++
		case "unchanged":
			r.Unchanged++
		}
		if e.RunID == "" {
			r.Unmatched++
		}
	}
	if more := len(im.skipped) - maxShownProblems; more > 0 && !im.flags.JSON {
		im.a.note("and %s like these", counted(more, "more file"))
	}
	var err error
	if im.flags.JSON {
		err = writeJSON(im.a.stdout, r)
	} else if len(im.done) > 0 {
		err = im.a.print(func(w *bytes.Buffer) { im.print(w, r) })
	}
	switch {
	case err != nil || len(im.done) > 0:
		return err
	case im.service && len(im.skipped) == 0:
		if im.flags.JSON {
			return nil
		}
		_, err := fmt.Fprintln(im.a.stdout, "Nothing is new.")
		return err
	case len(im.skipped) == 1:
		return fmt.Errorf("nothing was imported: the only file holds no %s", what.one)
	case len(im.skipped) > 1:
		return fmt.Errorf("nothing was imported: none of %d files holds %s", len(im.skipped), article(what.one))
	}
	return fmt.Errorf("there is no file; name %s or folders with them", what.many)
}

// noun is what a file holds.
type noun struct{ one, many string }

var (
	sparkLogs     = noun{"Spark event log", "Spark event logs"}
	hadoopHistory = noun{"Hadoop job history", "Hadoop job histories"}
	flinkJobs     = noun{"Flink job that has ended", "Flink jobs that have ended"}
)

// article puts "a" or "an" before a word.
func article(what string) string {
	if strings.ContainsRune("aeiou", rune(what[0])) {
		return "an " + what
	}
	return "a " + what
}

func (im *executionImport) print(w *bytes.Buffer, r executionsResult) {
	if r.DryRun {
		im.printRead(w)
		runs := len(r.Executions) - r.Unmatched
		fmt.Fprintf(w, "%s in %s: %s would be runs; nothing was stored.\n", plural(len(r.Executions), "application", "applications"), counted(r.Files, "file"), number(uint32(runs)))
	} else {
		fmt.Fprintf(w, "Imported %s", counted(r.Imported, "application"))
		for _, c := range []struct {
			n    int
			what string
		}{{r.Updated, "updated"}, {r.Unchanged, "unchanged"}} {
			if c.n > 0 {
				fmt.Fprintf(w, ", %s %s", number(uint32(c.n)), c.what)
			}
		}
		fmt.Fprintln(w, ".")
		jobs := map[string]bool{}
		for _, e := range r.Executions {
			if e.RunID != "" {
				jobs[e.Topic+"\x00"+e.Job] = true
			}
		}
		if runs := len(r.Executions) - r.Unmatched; runs > 0 {
			fmt.Fprintf(w, "%s of %s.\n", plural(runs, "is a run", "are runs"), counted(len(jobs), "job"))
		}
	}
	im.printReasons(w, r)
}

// printReasons says why applications are no runs and why files were skipped.
func (im *executionImport) printReasons(w *bytes.Buffer, r executionsResult) {
	count := map[string]int{}
	for _, e := range r.Executions {
		if e.RunID == "" {
			count[e.Detail]++
		}
	}
	if len(count) > 0 {
		fmt.Fprintf(w, "%s, and not shared:\n", plural(r.Unmatched, "is no run", "are no runs"))
		printCounted(w, count)
		if !r.DryRun {
			fmt.Fprintln(w, "karasu workloads --unmatched lists them and suggests rules.")
		}
	}
	count = map[string]int{}
	for _, s := range r.Skipped {
		count[s.Reason]++
	}
	if len(count) > 0 {
		fmt.Fprintf(w, "Skipped %s:\n", counted(len(r.Skipped), "file"))
		printCounted(w, count)
	}
}

// printCounted prints texts with how often each came, the most frequent first, at most
// ten.
func printCounted(w *bytes.Buffer, count map[string]int) {
	const most = 10
	texts := slices.SortedFunc(maps.Keys(count), func(x, y string) int { return cmp.Or(count[y]-count[x], strings.Compare(x, y)) })
	for i, t := range texts {
		if i == most {
			fmt.Fprintf(w, "  and %s\n", counted(len(texts)-most, "other reason"))
			break
		}
		fmt.Fprintf(w, "  %d: %s\n", count[t], oneLine(t))
	}
}

// printRead prints the applications of a dry run.
func (im *executionImport) printRead(w *bytes.Buffer) {
	t := newTable("APPLICATION", "VERSION", "START", ">RUNTIME", "OUTCOME", ">NODES", ">STAGES", ">INPUT", "JOB", "TOPIC")
	for _, d := range im.done {
		e := d.execution
		result, nodes := unknown, unknown
		if e.Outcome != 0 {
			result = e.Outcome.String()
		}
		if n := e.Cluster.ScaleOut(); n > 0 {
			nodes = fmt.Sprint(n)
		}
		runtime := seconds(e.RuntimeSeconds())
		if e.EndEstimated {
			runtime = "~" + runtime
		}
		t.add(dash(cmp.Or(e.Name, e.ApplicationID)), dash(e.Version), e.Start.UTC().Format("2006-01-02 15:04 MST"), runtime, result, nodes,
			fmt.Sprint(d.stages), size(e.InputBytes), dash(d.Job), dash(strings.TrimPrefix(d.Topic, model.TopicPrefix)))
	}
	t.print(w, "")
}

// plainList joins words: a, b and c.
func plainList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
