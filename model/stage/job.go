package stage

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// ErrInput is wrapped by errors about jobs that cannot be used; they say what and where.
var ErrInput = errors.New("unusable stage graph")

// ErrNoHistory is wrapped where nothing is known to predict from.
var ErrNoHistory = errors.New("no history to predict stages from")

// Job is one execution of a job as predictors see it, or one to come: then only what is
// known of the plan need be in its graph, and no time or amount is read. It is private.
type Job struct {
	// Graph of the job; several attempts of a stage count as one (see [model.StageGraph.Collapse]).
	Graph model.StageGraph
	// Broadcasts are further stages, by stage ID, that a stage waits for although it reads
	// no shuffle of theirs, such as those of broadcast joins. nil is none.
	Broadcasts map[int][]int
	// Estimates of the optimizer, by stage ID; nil is none.
	Estimates map[int]Estimate
	// Group keeps together what is not independent, such as runs and variants of one
	// query: a model's own errors are measured on groups that it did not learn from.
	Group string
	// Slots are the tasks that the cluster runs at a time, Hosts its workers; 0 is unknown.
	Slots, Hosts int
	// DataSize is the size of what the job reads, in any unit that the runs of one
	// recurring job share; 0 is unknown.
	DataSize float64
}

// FromExecution makes a job of an execution that was ingested: slots and hosts of its
// cluster, the data that it read, and its query as the group. It wraps [ErrInput] where
// the execution's source holds no stages.
func FromExecution(e *model.Execution) (Job, error) {
	if e.Graph == nil || len(e.Graph.Stages) == 0 {
		return Job{}, fmt.Errorf("%w: the record of %s holds no stages", ErrInput, e.Origin)
	}
	j := Job{Graph: *e.Graph, Group: e.QuerySignature, Hosts: e.Cluster.ScaleOut(), DataSize: e.InputBytes}
	if j.Group == "" && e.MainClass+e.Name != "" {
		j.Group = e.MainClass + "\x00" + e.Name
	}
	if j.Slots = min(e.Cluster.MaxExecutors*e.Cluster.ExecutorCores, maxSlots); j.Slots == 0 {
		j.Slots = min(e.Cluster.Hosts*e.Cluster.HostCores, maxSlots)
	}
	j.Hosts = min(j.Hosts, maxSlots)
	return j, nil
}

// Estimate is what the query optimizer says about a stage's input.
type Estimate struct {
	Bytes, Rows float64
	// Partitions that the plan asks for; 0 is unknown.
	Partitions int
}

// Bounds of a job.
const (
	maxAmount = 1 << 80
	maxSlots  = 1 << 24
)

// compiled is a job with the shape of its graph worked out. Stages are by position.
type compiled struct {
	*Job
	stages []model.Stage
	// parents are all that a stage waits for; shuffles those that it reads a shuffle of.
	parents, shuffles, children [][]int
	order                       []int
	// writes says whether a stage writes a shuffle: exactly those do that another reads.
	writes []bool
}

func compile(j *Job) (*compiled, error) {
	if len(j.Graph.Stages) == 0 {
		return nil, fmt.Errorf("%w: it has no stages", ErrInput)
	}
	if err := j.Graph.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if j.Slots < 0 || j.Slots > maxSlots || j.Hosts < 0 || j.Hosts > maxSlots || !(j.DataSize >= 0 && j.DataSize <= maxAmount) {
		return nil, fmt.Errorf("%w: %d slots, %d hosts, data size %g: want finite numbers from 0", ErrInput, j.Slots, j.Hosts, j.DataSize)
	}
	for id, e := range j.Estimates {
		if !(e.Bytes >= 0 && e.Bytes <= maxAmount && e.Rows >= 0 && e.Rows <= maxAmount) || e.Partitions < 0 {
			return nil, fmt.Errorf("%w: estimate of stage %d must be finite and not negative: %+v", ErrInput, id, e)
		}
	}
	c := &compiled{Job: j, stages: j.Graph.Collapse().Stages}
	at := make(map[int]int, len(c.stages))
	for i, s := range c.stages {
		at[s.ID] = i
	}
	n := len(c.stages)
	c.parents, c.shuffles, c.children = make([][]int, n), make([][]int, n), make([][]int, n)
	c.writes = make([]bool, n)
	all := model.StageGraph{Stages: make([]model.Stage, n)}
	for i, s := range c.stages {
		waits := slices.Concat(s.Parents, j.Broadcasts[s.ID])
		slices.Sort(waits)
		waits = slices.Compact(waits)
		all.Stages[i] = model.Stage{ID: s.ID, Parents: waits}
		for _, p := range waits {
			k, ok := at[p]
			if !ok {
				return nil, fmt.Errorf("%w: stage %d waits for stage %d, which is not in the graph", ErrInput, s.ID, p)
			}
			c.parents[i] = append(c.parents[i], k)
			c.children[k] = append(c.children[k], i)
		}
		for _, p := range s.Parents {
			c.shuffles[i] = append(c.shuffles[i], at[p])
			c.writes[at[p]] = true
		}
	}
	order, err := all.Order()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	c.order = make([]int, n)
	for i, id := range order {
		c.order[i] = at[id]
	}
	return c, nil
}

func compileAll(jobs []Job) ([]*compiled, error) {
	out := make([]*compiled, len(jobs))
	for i := range jobs {
		c, err := compile(&jobs[i])
		if err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
		out[i] = c
	}
	return out, nil
}

// estimate of a stage and whether there is one.
func (c *compiled) estimate(i int) (Estimate, bool) {
	e, ok := c.Estimates[c.stages[i].ID]
	return e, ok
}

// length of the job in seconds: the last end.
func (c *compiled) length() float64 {
	var end float64
	for _, s := range c.stages {
		end = max(end, s.EndSeconds)
	}
	return end
}

// logAmount is ln(1 + v), which takes zero.
func logAmount(v float64) float64 { return math.Log1p(max(0, v)) }

// EstimateSlots returns how many tasks the cluster of these jobs ran at a time, where
// nobody tells: the greatest task time over duration of a stage that ran for at least ten
// seconds, rounded up; 0 where there is no such stage.
func EstimateSlots(jobs []Job) int {
	var most float64
	for _, j := range jobs {
		for _, s := range j.Graph.Stages {
			if d := s.RuntimeSeconds(); d >= 10 {
				most = max(most, s.TaskSeconds/d)
			}
		}
	}
	return int(min(math.Ceil(most), maxSlots))
}

// FillSlots estimates the slots of the jobs whose record tells none, by [EstimateSlots]
// over all jobs on the same number of hosts.
func FillSlots(jobs []Job) {
	on := make(map[int][]Job)
	for _, j := range jobs {
		on[j.Hosts] = append(on[j.Hosts], j)
	}
	estimates := make(map[int]int)
	for i := range jobs {
		j := &jobs[i]
		if j.Slots > 0 {
			continue
		}
		if _, ok := estimates[j.Hosts]; !ok {
			estimates[j.Hosts] = EstimateSlots(on[j.Hosts])
		}
		j.Slots = estimates[j.Hosts]
	}
}
