package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bounds of a stage graph. The largest published workflows have some thousand
// stages; streaming applications that run for weeks reach tens of thousands.
const (
	MaxStages = 200_000
	// MaxEdges bounds the parents of all stages together.
	MaxEdges = 2_000_000
	// MaxTasks bounds the tasks of one stage: Spark numbers them with 31 bits.
	MaxTasks = math.MaxInt32
	// MaxDetails bounds the details of a stage, in bytes.
	MaxDetails = 4096
	// MaxOperators bounds the operators of a stage.
	MaxOperators = 256
	// maxAmount bounds bytes and records: 2^80, so that sums stay finite.
	maxAmount = 1 << 80
)

// StageGraph is what one execution ran: its stages and who reads whose output.
// It holds names, so it is private.
type StageGraph struct {
	// Stages in order of ID and attempt.
	Stages []Stage
}

// Stage is one attempt of one stage. Times are seconds since the execution's start.
// Every amount is a sum over the stage's tasks in which each partition counts once:
// by its first success, not by failed, resubmitted or speculative duplicates.
type Stage struct {
	// ID is the framework's number of the stage; attempts share it.
	ID int
	// Attempt counts from 0.
	Attempt int
	// Name is the call site, such as "count at Job.scala:25". It never leaves.
	Name string
	// Details is the long form of the call site, its stack. It never leaves.
	Details string
	// Operators are the plan's operators that the stage ran, without their
	// arguments, such as "Exchange", "HashAggregate"; empty is unknown.
	Operators []string
	// Parents are the IDs of the stages whose output this one read, each of which
	// is in the graph; ascending.
	Parents []int
	// Query is the SQL execution that the stage belongs to; -1 is none.
	Query int

	// Tasks is the number of partitions to compute, Finished of how many a task
	// succeeded, FailedTasks the number of task attempts that failed or were killed.
	Tasks, Finished, FailedTasks int
	// StartSeconds and EndSeconds are when it was submitted and when it ended.
	StartSeconds, EndSeconds float64
	// EndEstimated says that the source does not tell the end; it is then the end of
	// the last task or of the execution.
	EndEstimated bool
	// Outcome of the attempt; 0 is unknown (the source ends before it does).
	Outcome Outcome

	// TaskSeconds is the time from launch to finish over all counted tasks,
	// RunSeconds the part in which executors ran them, CPUSeconds the part on a CPU
	// (0 before Spark 2.1, which did not measure it), GCSeconds in garbage collection.
	TaskSeconds, RunSeconds, CPUSeconds, GCSeconds float64
	// InputBytes were read from storage, OutputBytes written to storage.
	InputBytes, InputRecords, OutputBytes, OutputRecords float64
	// ShuffleReadBytes came from the parents, local and remote, as they were written
	// (compressed); ShuffleWriteBytes are there for the children.
	ShuffleReadBytes, ShuffleReadRecords, ShuffleWriteBytes, ShuffleWriteRecords float64
	// SpillMemoryBytes is the size in memory of what was spilled, SpillDiskBytes on disk.
	SpillMemoryBytes, SpillDiskBytes float64
}

// RuntimeSeconds is the stage's wall time.
func (s Stage) RuntimeSeconds() float64 { return s.EndSeconds - s.StartSeconds }

// Validate checks that stages are unique, amounts finite and not negative, parents
// present and the graph without cycles.
func (g StageGraph) Validate() error {
	if len(g.Stages) > MaxStages {
		return invalid("stages", "are more than %d: %d", MaxStages, len(g.Stages))
	}
	seen := make(map[[2]int]bool, len(g.Stages))
	edges := 0
	for _, s := range g.Stages {
		if key := [2]int{s.ID, s.Attempt}; seen[key] {
			return invalid("stages", "hold stage %d attempt %d twice", s.ID, s.Attempt)
		} else {
			seen[key] = true
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("stage %d attempt %d: %w", s.ID, s.Attempt, err)
		}
		if edges += len(s.Parents); edges > MaxEdges {
			return invalid("stages", "have more than %d parents together", MaxEdges)
		}
	}
	_, err := g.Order()
	return err
}

func (s Stage) validate() error {
	if s.ID < 0 || s.Attempt < 0 {
		return invalid("number", "must not be negative")
	}
	if err := validateName("name", s.Name); err != nil {
		return err
	}
	if len(s.Details) > MaxDetails {
		return invalid("details", "are longer than %d bytes", MaxDetails)
	}
	if len(s.Operators) > MaxOperators {
		return invalid("operators", "are more than %d: %d", MaxOperators, len(s.Operators))
	}
	for _, o := range s.Operators {
		if err := validateName("operator", o); err != nil {
			return err
		}
	}
	if s.Outcome != 0 && outcomeNames[s.Outcome] == "" {
		return invalid("outcome", "must be ok, failed, timeout or unknown")
	}
	for _, n := range []int{s.Tasks, s.Finished, s.FailedTasks} {
		if n < 0 || n > MaxTasks {
			return invalid("tasks", "must be between 0 and %d: %d", MaxTasks, n)
		}
	}
	if !(s.StartSeconds >= 0 && s.StartSeconds <= s.EndSeconds && s.EndSeconds <= MaxRuntime.Seconds()) {
		return invalid("time", "must run forward from 0 to at most ten years: from %g s to %g s", s.StartSeconds, s.EndSeconds)
	}
	return validateAmounts(
		amount{"task time", s.TaskSeconds}, amount{"run time", s.RunSeconds},
		amount{"CPU time", s.CPUSeconds}, amount{"GC time", s.GCSeconds},
		amount{"input bytes", s.InputBytes}, amount{"input records", s.InputRecords},
		amount{"output bytes", s.OutputBytes}, amount{"output records", s.OutputRecords},
		amount{"shuffle read bytes", s.ShuffleReadBytes}, amount{"shuffle read records", s.ShuffleReadRecords},
		amount{"shuffle write bytes", s.ShuffleWriteBytes}, amount{"shuffle write records", s.ShuffleWriteRecords},
		amount{"spilled memory bytes", s.SpillMemoryBytes}, amount{"spilled disk bytes", s.SpillDiskBytes})
}

type amount struct {
	name  string
	value float64
}

func validateAmounts(amounts ...amount) error {
	for _, a := range amounts {
		if !(a.value >= 0 && a.value <= maxAmount) {
			return invalid(a.name, "must be finite and not negative: %g", a.value)
		}
	}
	return nil
}

// Order returns the stage IDs so that parents come first, and otherwise in
// ascending order. A parent that is not in the graph, and a cycle, are errors.
func (g StageGraph) Order() ([]int, error) {
	parents := make(map[int][]int)
	for _, s := range g.Stages {
		parents[s.ID] = append(parents[s.ID], s.Parents...)
	}
	children := make(map[int][]int)
	missing := make(map[int]int, len(parents)) // number of parents not yet in order
	for id, list := range parents {
		slices.Sort(list)
		list = slices.Compact(list)
		missing[id] = len(list)
		for _, p := range list {
			if _, ok := parents[p]; !ok {
				return nil, invalid("parent", "of stage %d is not in the graph: %d", id, p)
			}
			children[p] = append(children[p], id)
		}
	}
	order := make([]int, 0, len(parents))
	var ready intHeap
	for id, n := range missing {
		if n == 0 {
			ready.push(id)
		}
	}
	for len(ready) > 0 {
		id := ready.pop()
		order = append(order, id)
		for _, c := range children[id] {
			if missing[c]--; missing[c] == 0 {
				ready.push(c)
			}
		}
	}
	if len(order) < len(parents) {
		return nil, invalid("stages", "depend on each other in a cycle (%d of %d stages)", len(parents)-len(order), len(parents))
	}
	return order, nil
}

// Collapse returns the graph with one stage an ID. Times of several attempts add up
// from the first start to the last end; amounts are scaled so that each partition
// counts once although a later attempt computed it again.
func (g StageGraph) Collapse() StageGraph {
	var out []Stage
	at := make(map[int]int)
	for _, s := range sortedStages(g.Stages) {
		i, ok := at[s.ID]
		if !ok {
			at[s.ID] = len(out)
			s.Parents = slices.Clone(s.Parents)
			out = append(out, s)
			continue
		}
		out[i].join(s)
	}
	for i := range out {
		out[i].once()
	}
	return StageGraph{Stages: out}
}

// join adds a later attempt.
func (s *Stage) join(t Stage) {
	s.Attempt, s.Outcome, s.EndEstimated = t.Attempt, t.Outcome, t.EndEstimated
	s.Tasks = max(s.Tasks, t.Tasks)
	s.Finished += t.Finished
	s.FailedTasks += t.FailedTasks
	s.StartSeconds = min(s.StartSeconds, t.StartSeconds)
	s.EndSeconds = max(s.EndSeconds, t.EndSeconds)
	s.Parents = append(s.Parents, t.Parents...)
	slices.Sort(s.Parents)
	s.Parents = slices.Compact(s.Parents)
	from := t.amounts()
	for i, p := range s.amounts() {
		*p += *from[i]
	}
	s.TaskSeconds += t.TaskSeconds
	s.RunSeconds += t.RunSeconds
	s.CPUSeconds += t.CPUSeconds
	s.GCSeconds += t.GCSeconds
}

// once scales the amounts down to one success a partition.
func (s *Stage) once() {
	if s.Finished <= s.Tasks {
		return
	}
	f := float64(s.Tasks) / float64(s.Finished)
	for _, p := range s.amounts() {
		*p *= f
	}
	s.Finished = s.Tasks
}

func (s *Stage) amounts() []*float64 {
	return []*float64{&s.InputBytes, &s.InputRecords, &s.OutputBytes, &s.OutputRecords,
		&s.ShuffleReadBytes, &s.ShuffleReadRecords, &s.ShuffleWriteBytes, &s.ShuffleWriteRecords,
		&s.SpillMemoryBytes, &s.SpillDiskBytes}
}

func sortedStages(stages []Stage) []Stage {
	out := slices.Clone(stages)
	slices.SortFunc(out, func(a, b Stage) int { return cmp.Or(a.ID-b.ID, a.Attempt-b.Attempt) })
	return out
}

// intHeap is a binary heap with the least number first.
type intHeap []int

func (h *intHeap) push(v int) {
	a := append(*h, v)
	for i := len(a) - 1; i > 0 && a[(i-1)/2] > a[i]; i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
	*h = a
}

func (h *intHeap) pop() int {
	a := *h
	least := a[0]
	a[0] = a[len(a)-1]
	a = a[:len(a)-1]
	for i := 0; 2*i+1 < len(a); {
		c := 2*i + 1
		if c+1 < len(a) && a[c+1] < a[c] {
			c++
		}
		if a[i] <= a[c] {
			break
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
	*h = a
	return least
}
