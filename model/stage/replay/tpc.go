package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
)

// ErrInput is wrapped by errors about measurements that cannot be read; they name the line.
var ErrInput = errors.New("unusable measurements of stages")

// Bounds of a file.
const (
	maxLine    = 16 << 20
	maxQueries = 10_000
	maxMillis  = 1e12
)

// Query is one query that ran.
type Query struct {
	Name string
	stage.Job
	// Observed says, by the position of a stage, whether its end was measured. The others
	// follow from the timeline's rules.
	Observed []bool
}

type tpcQuery struct {
	Benchmark string     `json:"benchmark"`
	Query     string     `json:"query"`
	Duration  float64    `json:"duration_ms"`
	Stages    []tpcStage `json:"stages"`
}

type tpcStage struct {
	ID           int      `json:"id"`
	Parents      []int    `json:"parents"`
	Operators    []string `json:"operators"`
	EstBytes     float64  `json:"est_input_bytes"`
	EstRows      float64  `json:"est_input_rows"`
	Partitions   int      `json:"initial_partitions"`
	Input        float64  `json:"input_bytes"`
	Output       float64  `json:"output_bytes"`
	ShuffleRead  float64  `json:"shuffle_read_bytes"`
	ShuffleWrite float64  `json:"shuffle_write_bytes"`
	Duration     float64  `json:"duration_ms"`
	Task         float64  `json:"total_task_ms"`
	End          *float64 `json:"end_ms"`
}

// variant is what names a variant of a query.
var variant = regexp.MustCompile(`[a-z]$`)

// ReadTPC reads one query a line. The data leaves out who reads a broadcast; such edges are
// matched. It wraps [ErrInput].
func ReadTPC(r io.Reader) ([]Query, error) { return readTPC(r, true) }

// ReadTPCUnmatched is [ReadTPC] with only the edges that the data has.
func ReadTPCUnmatched(r io.Reader) ([]Query, error) { return readTPC(r, false) }

func readTPC(r io.Reader, matched bool) ([]Query, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var out []Query
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if len(out) == maxQueries {
			return nil, fmt.Errorf("%w: line %d: more than %d queries", ErrInput, n, maxQueries)
		}
		var q tpcQuery
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrInput, n, err)
		}
		query, err := q.query(matched)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: query %.40q: %w", ErrInput, n, q.Query, err)
		}
		out = append(out, query)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: after query %d: %w", ErrInput, len(out), err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no queries", ErrInput)
	}
	return out, nil
}

func (q *tpcQuery) query(matched bool) (Query, error) {
	out := Query{Name: q.Query}
	out.Group = q.Benchmark + "/" + variant.ReplaceAllString(q.Query, "")
	out.Estimates = make(map[int]stage.Estimate)
	if !(q.Duration > 0 && q.Duration <= maxMillis) {
		return out, fmt.Errorf("duration_ms must be above zero: %g", q.Duration)
	}
	slices.SortFunc(q.Stages, func(a, b tpcStage) int { return a.ID - b.ID })
	for _, s := range q.Stages {
		if !(s.Duration > 0 && s.Duration <= maxMillis && s.Task >= 0 && s.Task <= maxMillis) {
			return out, fmt.Errorf("stage %d: duration_ms and total_task_ms must not be negative: %g, %g", s.ID, s.Duration, s.Task)
		}
		if s.End != nil && !(*s.End >= 0 && *s.End <= maxMillis) {
			return out, fmt.Errorf("stage %d: end_ms must not be negative: %g", s.ID, *s.End)
		}
		out.Graph.Stages = append(out.Graph.Stages, model.Stage{
			ID: s.ID, Parents: s.Parents, Operators: s.Operators, Outcome: model.OK,
			InputBytes: s.Input, OutputBytes: s.Output, ShuffleReadBytes: s.ShuffleRead, ShuffleWriteBytes: s.ShuffleWrite,
			TaskSeconds: s.Task / 1000,
		})
		out.Estimates[s.ID] = stage.Estimate{Bytes: s.EstBytes, Rows: s.EstRows, Partitions: s.Partitions}
		out.Observed = append(out.Observed, s.End != nil)
	}
	if err := out.Graph.Validate(); err != nil {
		return out, err
	}
	if matched {
		out.Broadcasts = broadcasts(out.Graph.Stages)
	}
	timeline(q, &out)
	return out, out.Graph.Validate()
}
