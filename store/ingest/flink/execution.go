package flink

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/internal/percentile"
	"github.com/karasu-project/karasu/store/ingest/internal/text"
)

// Bounds of a job.
const (
	maxVertices = 10_000
	maxSubtasks = 500_000
)

// Reasons for which a job makes no execution. [errRuns] and [errStopped] are skipped
// by design.
var (
	errNoJob    = errors.New("holds no job of Flink: want the answer to /jobs/<id>, or an archive of the history server")
	errRuns     = errors.New("still runs, so it has no runtime yet; a streaming job never has one")
	errStopped  = errors.New("is a streaming job that was stopped: how long it ran says nothing about its cluster")
	errNoTime   = errors.New("holds no time of start or end")
	errTooLarge = fmt.Errorf("holds more than %d vertices or %d subtasks", maxVertices, maxSubtasks)
)

// job is what is known of one job.
type job struct {
	details details
	config  jobConfig
	// vertices by their ids; there may be none.
	vertices map[string]vertexDetails
	version  string
}

// terminal says whether a state is the last.
func terminal(state string) bool {
	return state == "FINISHED" || state == "FAILED" || state == "CANCELED"
}

// validID says whether it may be the id of a job or a vertex: 32 hex digits.
func validID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// execution turns a job into an execution.
func (j *job) execution() (*model.Execution, error) {
	d := j.details
	streaming := d.Plan.Type == "STREAMING"
	switch {
	case !validID(d.JID) || d.State == "":
		return nil, errNoJob
	case !terminal(d.State):
		return nil, errRuns
	case streaming && d.State == "CANCELED":
		return nil, errStopped
	case d.StartTime <= 0 || d.EndTime <= 0:
		return nil, errNoTime
	case len(d.Vertices) > maxVertices:
		return nil, errTooLarge
	}
	e := &model.Execution{
		Origin: "flink/" + d.JID, Framework: "flink", Version: text.Clip(j.version, 40), ApplicationID: d.JID,
		Name: text.Name(d.Name), Properties: j.properties(),
		Start: time.UnixMilli(int64(d.StartTime)).UTC(), End: time.UnixMilli(int64(d.EndTime)).UTC(),
		Outcome: model.Failed, Jobs: 1, FailedJobs: 1,
	}
	if d.State == "FINISHED" {
		e.Outcome, e.FailedJobs = model.OK, 0
	}
	if e.End.Before(e.Start) {
		return nil, errors.New("ends before it starts")
	}
	if err := j.fill(e); err != nil {
		return nil, err
	}
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("does not make sense: %w", err)
	}
	return e, nil
}

func (j *job) properties() map[string]string {
	p := make(map[string]string)
	for k, v := range map[string]string{"plan type": j.details.Plan.Type, "execution-mode": j.config.Execution.Mode, "restart-strategy": j.config.Execution.Restart} {
		if v != "" && len(v) <= model.MaxProperty {
			p[k] = v
		}
	}
	if n := j.config.Execution.Parallelism; n > 0 {
		p["job-parallelism"] = strconv.FormatInt(int64(n), 10)
	}
	return p
}

// fill adds stages, tasks and what the job ran on.
func (j *job) fill(e *model.Execution) error {
	t, u := &e.Tasks, newUse()
	g := &model.StageGraph{}
	ids := make(map[string]int)
	incomplete := false
	for i, v := range j.details.Vertices {
		if v.StartTime <= 0 {
			continue // it never ran
		}
		s := j.stage(i, v)
		var err error
		if s.TaskSeconds, err = u.add(j.vertices[v.ID].Subtasks, int64(j.details.StartTime), int64(j.details.EndTime)); err != nil {
			return err
		}
		incomplete = incomplete || !v.Metrics.complete()
		if _, twice := ids[v.ID]; !twice {
			ids[v.ID] = i
		}
		g.Stages = append(g.Stages, s)
		t.Count += s.Finished
		t.Failed += bounded(v.Tasks["FAILED"])
		t.Killed += bounded(v.Tasks["CANCELED"])
		t.Seconds += s.TaskSeconds
		t.RunSeconds += s.RunSeconds
		t.ShuffleReadBytes += s.ShuffleReadBytes
		t.ShuffleWriteBytes += s.ShuffleWriteBytes
	}
	t.DurationSeconds = percentile.Distribution(u.durations)
	e.Cluster = model.Cluster{Hosts: len(u.hosts), MaxExecutors: len(u.managers)}
	e.Quality.Events = int64(len(j.details.Vertices))
	if incomplete {
		e.Quality.Notes = append(e.Quality.Notes, "bytes are not complete: a task manager was gone before it reported them")
	}
	if len(g.Stages) > 0 {
		if !j.connect(g, ids) {
			e.Quality.Notes = append(e.Quality.Notes, "vertices that depend on each other in a cycle; those edges are left out")
		}
		e.Graph = g
	}
	return nil
}

// stage turns a vertex that ran into a stage.
func (j *job) stage(id int, v vertex) model.Stage {
	start, end := int64(j.details.StartTime), int64(j.details.EndTime)
	s := model.Stage{
		ID: id, Name: text.Name(v.Name), Query: -1, Tasks: bounded(v.Parallelism), Finished: bounded(v.Tasks["FINISHED"]),
		FailedTasks:      bounded(v.Tasks["FAILED"]) + bounded(v.Tasks["CANCELED"]),
		ShuffleReadBytes: float64(v.Metrics.ReadBytes), ShuffleReadRecords: float64(v.Metrics.ReadRecords),
		ShuffleWriteBytes: float64(v.Metrics.WriteBytes), ShuffleWriteRecords: float64(v.Metrics.WriteRecords),
		RunSeconds: float64(v.Metrics.Busy) / 1000,
	}
	s.StartSeconds = offset(int64(v.StartTime), start, end)
	if v.EndTime > 0 {
		s.EndSeconds = max(s.StartSeconds, offset(int64(v.EndTime), start, end))
	} else {
		s.EndSeconds, s.EndEstimated = offset(end, start, end), true
	}
	switch v.Status {
	case "FINISHED":
		s.Outcome = model.OK
	case "FAILED", "CANCELED":
		s.Outcome = model.Failed
	}
	return s
}

// use collects what subtasks tell.
type use struct {
	durations       []percentile.Sample
	hosts, managers map[string]bool
	subtasks        int
}

func newUse() *use { return &use{hosts: make(map[string]bool), managers: make(map[string]bool)} }

// add takes the subtasks of a vertex and returns the time of those that finished.
func (u *use) add(subtasks []subtask, start, end int64) (seconds float64, err error) {
	if u.subtasks += len(subtasks); u.subtasks > maxSubtasks {
		return 0, errTooLarge
	}
	for _, s := range subtasks {
		if h := s.host(); h != "" {
			u.hosts[h] = true
		}
		if s.TaskManagerID != "" && !strings.HasPrefix(s.TaskManagerID, "(") {
			u.managers[s.TaskManagerID] = true
		}
		if s.Status == "FINISHED" && s.StartTime > 0 && s.EndTime >= s.StartTime {
			d := offset(int64(s.EndTime), start, end) - offset(int64(s.StartTime), start, end)
			seconds += d
			u.durations = append(u.durations, percentile.Of(d, 1))
		}
	}
	return seconds, nil
}

// connect adds the parents that ran, and says whether that makes no cycle.
func (j *job) connect(g *model.StageGraph, ids map[string]int) bool {
	at := make(map[int]int, len(g.Stages))
	for i, s := range g.Stages {
		at[s.ID] = i
	}
	for _, n := range j.details.Plan.Nodes {
		id, ran := ids[n.ID]
		if !ran {
			continue
		}
		s := &g.Stages[at[id]]
		for _, in := range n.Inputs {
			if parent, ran := ids[in.ID]; ran && parent != id {
				s.Parents = append(s.Parents, parent)
			}
		}
		slices.Sort(s.Parents)
		s.Parents = slices.Compact(s.Parents)
	}
	if _, err := g.Order(); err == nil {
		return true
	}
	for i := range g.Stages {
		s := &g.Stages[i]
		s.Parents = slices.DeleteFunc(s.Parents, func(p int) bool { return p >= s.ID })
	}
	return false
}

// offset returns seconds since the start, within the run.
func offset(at, start, end int64) float64 { return float64(min(max(at, start), end)-start) / 1000 }

func bounded(w whole) int { return int(min(max(w, 0), 1<<20)) }
