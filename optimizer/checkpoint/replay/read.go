package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// ErrFormat says that a file is not what it should be. Errors name the line.
var ErrFormat = errors.New("not a file of stage graphs")

const (
	// maxLine bounds the graph of one line, in bytes: 20,000 stages are about 3 MB.
	maxLine = 64 << 20
	// maxJobs bounds the graphs of a file.
	maxJobs = 100_000
	// slots are the tasks that run at once where a schedule has to be made up.
	slots = 64
)

// Job is a graph of the public data.
type Job struct {
	// Name of the query, workflow or run; Group is the benchmark, family or application.
	Name, Group string
	Graph       *checkpoint.Graph
}

type rawJob struct {
	Name, Family, Benchmark, Query string
	DurationMS                     float64 `json:"duration_ms"`
	Stages                         []rawStage
}

type rawStage struct {
	ID                int
	Parents           []int
	Operators         []string
	ShuffleWriteBytes float64  `json:"shuffle_write_bytes"`
	OutputBytes       float64  `json:"output_bytes"`
	DurationMS        float64  `json:"duration_ms"`
	EndMS             *float64 `json:"end_ms"`
}

// Queries reads stage graphs of SQL queries, one JSON object a line, and completes
// their timelines. The data leaves out who reads a broadcast; with broadcasts, such
// edges are matched. Errors: ErrFormat and those of [checkpoint.NewGraph].
func Queries(broadcasts bool) func(r io.Reader) ([]Job, error) {
	return func(r io.Reader) ([]Job, error) {
		return lines(r, func(raw rawJob) (Job, error) {
			g, err := checkpoint.NewGraph(timeline(raw.Stages, broadcasts))
			return Job{Name: raw.Query, Group: raw.Benchmark, Graph: g}, err
		})
	}
}

// Workflows reads task graphs of scientific workflows, one JSON object a line, and
// schedules them. Errors: as for [Queries].
func Workflows(r io.Reader) ([]Job, error) {
	return lines(r, func(raw rawJob) (Job, error) {
		stages, err := schedule(raw.Stages)
		if err != nil {
			return Job{}, err
		}
		g, err := checkpoint.NewGraph(stages)
		return Job{Name: raw.Name, Group: raw.Family, Graph: g}, err
	})
}

func lines(r io.Reader, job func(rawJob) (Job, error)) ([]Job, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 1<<20), maxLine)
	var jobs []Job
	line := 0
	for scanner.Scan() {
		line++
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		if len(jobs) == maxJobs {
			return nil, fmt.Errorf("line %d: %w: more than %d graphs", line, ErrFormat, maxJobs)
		}
		var raw rawJob
		if err := json.Unmarshal(text, &raw); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", line, ErrFormat, err)
		}
		if err := raw.validate(); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		j, err := job(raw)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		jobs = append(jobs, j)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w: %w", line+1, ErrFormat, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%w: it has no graphs", ErrFormat)
	}
	return jobs, nil
}

// maxMS bounds times, in milliseconds: a year.
const maxMS = 366 * 86_400_000

func (j rawJob) validate() error {
	if len(j.Stages) > checkpoint.MaxStages {
		return fmt.Errorf("%w: %d stages are more than %d", ErrFormat, len(j.Stages), checkpoint.MaxStages)
	}
	edges := 0
	for _, s := range j.Stages {
		if edges += len(s.Parents); edges > checkpoint.MaxEdges {
			return fmt.Errorf("%w: more than %d parents together", ErrFormat, checkpoint.MaxEdges)
		}
		if !(s.DurationMS >= 0 && s.DurationMS <= maxMS) {
			return fmt.Errorf("stage %d: %w: duration_ms must be between 0 and a year: %g", s.ID, ErrFormat, s.DurationMS)
		}
		if s.EndMS != nil && !(*s.EndMS >= 0 && *s.EndMS <= maxMS) {
			return fmt.Errorf("stage %d: %w: end_ms must be between 0 and a year: %g", s.ID, ErrFormat, *s.EndMS)
		}
	}
	return nil
}
