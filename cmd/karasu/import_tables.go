package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/wire"
)

var errInterrupted = errors.New("interrupted; nothing was stored")

const noRuns = "There is no run in it."

// importResult is the JSON form: of a file, or the sums of several and each of them.
type importResult struct {
	File      string         `json:"file,omitempty"`
	Runs      int            `json:"runs"`
	Workloads []importGroup  `json:"workloads"`
	Bad       int            `json:"bad"`
	Repeated  int            `json:"repeated"`
	Imported  uint32         `json:"imported"`
	Unchanged uint32         `json:"unchanged"`
	DryRun    bool           `json:"dry_run"`
	Error     string         `json:"error,omitempty"`
	Files     []importResult `json:"files,omitempty"`
}

// run imports the files one by one. A file with a mistake is left out whole.
func (c importTable) run(a *app, format string) error {
	if err := checkPaths(c.Files); err != nil {
		return err
	}
	for i, f := range c.Files {
		if slices.Contains(c.Files[:i], f) {
			return usagef("the file is named twice: %s", clean(f))
		}
	}
	if len(c.Files) == 1 {
		r, err := c.file(a, format, c.Files[0])
		if err != nil {
			return err
		}
		return c.print(a, r, nil)
	}
	all := importResult{DryRun: c.DryRun}
	skipped := 0
	var stop error
	for i, f := range c.Files {
		r, err := c.file(a, format, f)
		if err != nil && !ofFile(err) {
			if i == 0 {
				return err
			}
			stop = err
			break
		}
		r.File = f
		if err != nil {
			skipped++
			line, _ := describe(err)
			a.note("%s", line)
			r = importResult{File: f, Error: line, DryRun: c.DryRun, Workloads: []importGroup{}}
		}
		all.Files = append(all.Files, r)
		all.Runs, all.Bad, all.Repeated = all.Runs+r.Runs, all.Bad+r.Bad, all.Repeated+r.Repeated
		all.Imported, all.Unchanged = all.Imported+r.Imported, all.Unchanged+r.Unchanged
	}
	all.Workloads = sumGroups(all.Files)
	if err := c.print(a, all, all.Files); err != nil {
		return err
	}
	switch {
	case errors.Is(stop, errInterrupted):
		return fmt.Errorf("interrupted; %s before it", plural(len(all.Files), "file was read", "files were read"))
	case stop != nil:
		return stop
	case skipped > 0:
		return fmt.Errorf("%d of %s cannot be imported, so nothing of them was", skipped, counted(len(c.Files), "file"))
	}
	return nil
}

// fileError is about one file only: others can be imported.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

func ofFile(err error) bool {
	var of *fileError
	return errors.As(err, &of)
}

// file reads a file, checks every line and sends the runs to the daemon.
func (c importTable) file(a *app, format, name string) (importResult, error) {
	report, skipped, err := c.await(a, format, name)
	var usage *usageError
	if err != nil && (errors.Is(err, errInterrupted) || errors.As(err, &usage)) {
		return importResult{}, err
	}
	if err != nil {
		return importResult{}, &fileError{err}
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
		of := ""
		if len(c.Files) > 1 {
			of = clean(name) + ": "
		}
		return importResult{}, &fileError{fmt.Errorf("%s%s of %d cannot be imported, so nothing was; mend the file or add --skip-bad",
			of, counted(report.Bad, "line"), report.Bad+len(report.Runs))}
	}
	r := importResult{Repeated: dropRepeated(report), Bad: report.Bad, DryRun: c.DryRun}
	r.Runs, r.Workloads = len(report.Runs), groups(report.Runs)
	if !c.DryRun {
		r.Imported, r.Unchanged, err = send(a, report.Runs)
	}
	if err != nil && len(c.Files) > 1 && !errors.Is(err, errInterrupted) {
		err = fmt.Errorf("%s: %w", clean(name), err)
	}
	return r, err
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

// sumGroups adds up the workloads of files.
func sumGroups(files []importResult) []importGroup {
	out := []importGroup{}
	for _, f := range files {
		for _, g := range f.Workloads {
			i := slices.IndexFunc(out, func(o importGroup) bool { return o.Job == g.Job && o.Topic == g.Topic && o.Dataset == g.Dataset })
			if i < 0 {
				out = append(out, g)
				continue
			}
			out[i].Runs += g.Runs
			out[i].OK += g.OK
		}
	}
	return out
}

// print prints what became of one file, or of each of several and of all.
func (c importTable) print(a *app, r importResult, files []importResult) error {
	if c.JSON {
		return writeJSON(a.stdout, r)
	}
	return a.print(func(w *bytes.Buffer) {
		if r.DryRun {
			t := newTable("JOB", "TOPIC", "DATASET", ">RUNS", ">OK")
			for _, g := range r.Workloads {
				t.add(dash(g.Job), g.Topic, dash(g.Dataset), fmt.Sprint(g.Runs), fmt.Sprint(g.OK))
			}
			t.print(w, noRuns)
		}
		for _, f := range files {
			if f.Error == "" { // else it was said
				fmt.Fprintf(w, "%s: ", clean(f.File))
				f.print(w)
			}
		}
		if len(files) > 0 {
			fmt.Fprint(w, "Together: ")
		}
		r.print(w)
	})
}

func (r importResult) print(w *bytes.Buffer) {
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "%s would be imported%s; nothing was stored.\n", counted(r.Runs, "run"), countedOnce(r.Repeated))
	case r.Runs == 0:
		fmt.Fprintln(w, noRuns)
	default:
		printCounts(w, len(r.Workloads), r.Imported, r.Unchanged, r.Repeated, r.Bad)
	}
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
