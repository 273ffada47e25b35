package replay

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
)

// Run is one run of a recurring application.
type Run struct {
	Application, ID string
	StartedMillis   int64
	stage.Job
	// Skipped are the stages, by ID, that read from one that has no row.
	Skipped map[int]bool
}

// historyColumns in this order.
var historyColumns = []string{
	"application", "run_id", "hosts", "started_unix_ms", "data_size", "stage_id", "stage_name",
	"parents", "tasks", "start_ms", "end_ms",
}

// maxHistory bounds the rows of a history.
const maxHistory = 1_000_000

// ReadHistory reads one stage a row and returns runs in the order in which they started.
// Parents that were skipped, and so have no row, are left out. It wraps [ErrInput].
func ReadHistory(r io.Reader) ([]Run, error) {
	table := csv.NewReader(r)
	table.FieldsPerRecord = len(historyColumns)
	table.ReuseRecord = true
	head, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: line 1: %w", ErrInput, err)
	}
	if !slices.Equal(head, historyColumns) {
		return nil, fmt.Errorf("%w: line 1: columns %.200q, want %s", ErrInput, head, strings.Join(historyColumns, ","))
	}
	place := make(map[string]int)
	var runs []Run
	for n := 0; ; n++ {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // it names the line
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		line, _ := table.FieldPos(0)
		if n == maxHistory {
			return nil, fmt.Errorf("%w: line %d: more than %d rows", ErrInput, line, maxHistory)
		}
		run, s, err := historyRow(row)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrInput, line, err)
		}
		key := run.Application + "\x00" + run.ID
		i, ok := place[key]
		if !ok {
			i = len(runs)
			place[key] = i
			runs = append(runs, run)
		}
		runs[i].Graph.Stages = append(runs[i].Graph.Stages, s)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: no runs", ErrInput)
	}
	for i := range runs {
		if err := runs[i].finish(); err != nil {
			return nil, fmt.Errorf("%w: run %.60q: %w", ErrInput, runs[i].ID, err)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.StartedMillis, b.StartedMillis), cmp.Compare(a.ID, b.ID))
	})
	return runs, nil
}

// finish drops parents that have no row, notes who had them, and checks the graph.
func (r *Run) finish() error {
	ids := make(map[int]bool)
	r.Skipped = make(map[int]bool)
	for _, s := range r.Graph.Stages {
		ids[s.ID] = true
	}
	for i := range r.Graph.Stages {
		s := &r.Graph.Stages[i]
		all := len(s.Parents)
		s.Parents = slices.DeleteFunc(s.Parents, func(p int) bool { return !ids[p] })
		if len(s.Parents) < all {
			r.Skipped[s.ID] = true
		}
		slices.Sort(s.Parents)
	}
	return r.Graph.Validate()
}

func historyRow(row []string) (Run, model.Stage, error) {
	f := fields{row: row}
	run := Run{Application: strings.Clone(row[0]), ID: strings.Clone(row[1]), StartedMillis: f.whole(3)}
	if run.DataSize = f.number(4); row[2] != "" { // else unknown
		run.Hosts = int(f.whole(2))
	}
	s := model.Stage{
		ID: int(f.whole(5)), Name: strings.Clone(row[6]), Tasks: int(f.whole(8)), Query: -1, Outcome: model.OK,
		StartSeconds: f.number(9) / 1000, EndSeconds: f.number(10) / 1000,
	}
	for _, p := range strings.Fields(row[7]) {
		id, err := strconv.Atoi(p)
		if err != nil {
			return run, s, fmt.Errorf("parents: %w", err)
		}
		s.Parents = append(s.Parents, id)
	}
	return run, s, f.err
}

// fields of a row; err is the first that is not a number.
type fields struct {
	row []string
	err error
}

func (f *fields) whole(i int) int64 {
	v, err := strconv.ParseInt(f.row[i], 10, 64)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %w", historyColumns[i], err)
	}
	return v
}

func (f *fields) number(i int) float64 {
	v, err := strconv.ParseFloat(f.row[i], 64)
	if err == nil && !(v >= 0 && v <= maxMillis) {
		err = fmt.Errorf("%g is negative or too large", v)
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %w", historyColumns[i], err)
	}
	return v
}
