package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// historyColumns are those of the history of recurring applications.
var historyColumns = []string{"application", "run_id", "hosts", "started_unix_ms", "data_size",
	"stage_id", "stage_name", "parents", "tasks", "start_ms", "end_ms"}

const (
	columnApplication = 0
	columnRun         = 1
	columnData        = 4
	columnStage       = 5
	columnParents     = 7
	columnStart       = 9
	columnEnd         = 10
)

// History reads the executed stages of recurring applications (CSV, one stage a line,
// the lines of a run together). Two things are assumed, as the data does not tell them:
// a stage that others read writes as many bytes as the run's input has (data_size, in
// gigabytes); a parent that was skipped, as its output was there from before, stands
// for the latest stage that had ended. Errors: ErrFormat with the line, and those of
// [checkpoint.NewGraph].
func History(r io.Reader) ([]Job, error) {
	reader := csv.NewReader(r)
	reader.FieldsPerRecord = len(historyColumns)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil || !slices.Equal(header, historyColumns) {
		return nil, errors.Join(fmt.Errorf("line 1: %w: the columns must be %s", ErrFormat, strings.Join(historyColumns, ",")), err)
	}
	var jobs []Job
	var run historyRun
	finish := func() error {
		if len(run.stages) == 0 {
			return nil
		}
		j, err := run.job()
		if err != nil {
			return fmt.Errorf("run %s: %w", run.id, err)
		}
		jobs = append(jobs, j)
		return nil
	}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		line, _ := reader.FieldPos(0)
		if record[columnRun] != run.id || record[columnApplication] != run.application {
			if err := finish(); err != nil {
				return nil, err
			}
			if len(jobs) == maxJobs {
				return nil, fmt.Errorf("line %d: %w: more than %d runs", line, ErrFormat, maxJobs)
			}
			run = historyRun{application: strings.Clone(record[columnApplication]), id: strings.Clone(record[columnRun])}
		}
		if err := run.add(record); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := finish(); err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%w: it has no runs", ErrFormat)
	}
	return jobs, nil
}

type historyRun struct {
	application, id string
	stages          []checkpoint.Stage
}

func (h *historyRun) add(record []string) error {
	if len(h.stages) == checkpoint.MaxStages {
		return fmt.Errorf("%w: run %s has more than %d stages", ErrFormat, h.id, checkpoint.MaxStages)
	}
	var s checkpoint.Stage
	var err error
	if s.ID, err = strconv.Atoi(record[columnStage]); err != nil {
		return fmt.Errorf("%w: stage_id: %w", ErrFormat, err)
	}
	for _, p := range strings.Fields(record[columnParents]) {
		id, err := strconv.Atoi(p)
		if err != nil {
			return fmt.Errorf("%w: parents: %w", ErrFormat, err)
		}
		s.Parents = append(s.Parents, id)
	}
	var numbers [3]float64
	for i, column := range []int{columnData, columnStart, columnEnd} {
		numbers[i], err = strconv.ParseFloat(record[column], 64)
		if err != nil || !(numbers[i] >= 0 && numbers[i] <= maxMS) {
			return fmt.Errorf("%w: %s must be a number between 0 and %d: %q", ErrFormat, historyColumns[column], int64(maxMS), record[column])
		}
	}
	s.Bytes, s.Start, s.End = 1e9*numbers[0], numbers[1]/1e3, numbers[2]/1e3
	h.stages = append(h.stages, s)
	return nil
}

func (h *historyRun) job() (Job, error) {
	present := make(map[int]bool, len(h.stages))
	for _, s := range h.stages {
		present[s.ID] = true
	}
	read := make(map[int]bool)
	for i := range h.stages {
		s := &h.stages[i]
		all := len(s.Parents)
		s.Parents = slices.DeleteFunc(s.Parents, func(p int) bool { return !present[p] })
		if len(s.Parents) < all {
			if latest := h.before(*s); latest >= 0 {
				s.Parents = append(s.Parents, h.stages[latest].ID)
			}
		}
		for _, p := range s.Parents {
			read[p] = true
		}
	}
	for i := range h.stages {
		if !read[h.stages[i].ID] {
			h.stages[i].Bytes = 0
		}
	}
	g, err := checkpoint.NewGraph(h.stages)
	return Job{Name: h.id, Group: h.application, Graph: g}, err
}

// before is the place of the latest stage that ended before s started, or -1.
func (h *historyRun) before(s checkpoint.Stage) int {
	best := -1
	for i, t := range h.stages {
		if t.End <= s.Start && t.ID < s.ID && (best < 0 || t.End > h.stages[best].End) {
			best = i
		}
	}
	return best
}

// Iterative are the runs of which most stages read another stage's output.
func Iterative(jobs []Job) []Job {
	var out []Job
	for _, j := range jobs {
		readers := 0
		for _, s := range j.Graph.Stages() {
			if len(s.Parents) > 0 {
				readers++
			}
		}
		if 2*readers > j.Graph.Len() {
			out = append(out, j)
		}
	}
	return out
}
