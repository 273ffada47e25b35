package model

import (
	"fmt"
	"time"
)

// Bounds of an execution.
const (
	MaxExecutors  = 200_000
	MaxProperties = 256
	// MaxProperty bounds the value of one property, in bytes.
	MaxProperty = 4096
	MaxNotes    = 64
)

// Execution is what a source tells about one application that ran, before anything
// says which workload it belongs to. It holds names, so it is private. Once a
// workload is named it becomes a [Run].
type Execution struct {
	// Origin identifies the execution wherever its record was read, such as
	// "spark/app-20240213185822-0000/1": framework, application, attempt.
	Origin string
	// Framework is a slug such as "spark"; Version is its version, such as "3.5.3".
	Framework, Version string
	// ApplicationID and Attempt are the resource manager's; the attempt may be empty.
	ApplicationID, Attempt string
	// Name, User, Queue and MainClass are what rules name a workload by; each may
	// be empty. They never leave.
	Name, User, Queue, MainClass string
	// QuerySignature is a hash of the operators of the SQL plans in their order,
	// without literals, columns and paths: 16 hex digits, empty without SQL.
	QuerySignature string
	// Properties are the settings that matter for its resources and its plan.
	Properties map[string]string

	// Start and End are when it began and ended. EndEstimated says that the source
	// does not hold the end; it is then the time of the last thing that it holds.
	Start, End   time.Time
	EndEstimated bool
	// Outcome is 0 where the source does not tell how it ended: it still runs, it
	// was killed, or its record is cut.
	Outcome Outcome
	// Jobs and FailedJobs count the actions that it ran.
	Jobs, FailedJobs int

	Cluster   Cluster
	Executors []Executor

	// InputBytes is the size of the data that it read from storage, once where several
	// stages read it again, as iterations over cached data do; 0 is unknown or none.
	InputBytes float64
	Metrics    Metrics
	Tasks      TaskTotals
	// Graph is nil where the source holds no stages.
	Graph *StageGraph

	Quality Quality
}

// Cluster is what an execution ran on, as far as its source tells.
type Cluster struct {
	// Manager is local, standalone, yarn, kubernetes or mesos; empty is unknown.
	Manager string
	// Platform is where it ran, such as "databricks-aws", "emr", "dataproc"; empty is
	// unknown.
	Platform string
	// MachineType of the workers and DriverMachineType; empty is unknown.
	MachineType, DriverMachineType string
	// Hosts is the greatest number of hosts with executors at one time, MaxExecutors
	// of executors at one time. A local run has one of each.
	Hosts, MaxExecutors int
	// ExecutorCores and ExecutorMemoryBytes (heap and overhead) are those of the
	// greatest executor; 0 is unknown.
	ExecutorCores       int
	ExecutorMemoryBytes float64
	// HostCores and HostMemoryBytes are what executors held on one host at most. The
	// host may have more. 0 is unknown.
	HostCores       int
	HostMemoryBytes float64
	// CoreSeconds is the sum over executors of cores x time alive; 0 is unknown.
	CoreSeconds float64
}

// ScaleOut is the number of nodes: hosts with executors at one time where the
// source tells hosts, and otherwise executors; 0 is unknown.
func (c Cluster) ScaleOut() int {
	if c.Hosts > 0 {
		return c.Hosts
	}
	return c.MaxExecutors
}

// Executor is one worker process. Times are seconds since the execution's start.
type Executor struct {
	ID, Host string
	// Cores are its task slots; 0 is unknown.
	Cores int
	// MemoryBytes it was asked for, heap and overhead; 0 is unknown.
	MemoryBytes float64
	// AddedSeconds and RemovedSeconds are when it came and went. Where Removed is
	// false it stayed to the end, and RemovedSeconds is the end.
	AddedSeconds, RemovedSeconds float64
	Removed                      bool
	// Reason is why it was removed. It may hold host names.
	Reason string
}

// Distribution of an amount over the tasks of an execution, in the amount's unit.
// Percentiles are right to 2%.
type Distribution struct{ P10, P50, P90, Max float64 }

// TaskTotals sums over the counted tasks of all stages (see [Stage]).
type TaskTotals struct {
	// Count is the number of counted tasks, Failed of task attempts that failed,
	// Killed of those that were killed, mostly speculative duplicates.
	Count, Failed, Killed int
	// Seconds from launch to finish; RunSeconds, CPUSeconds and GCSeconds as in [Stage].
	Seconds, RunSeconds, CPUSeconds, GCSeconds  float64
	OutputBytes                                 float64
	ShuffleReadBytes, ShuffleWriteBytes         float64
	SpillMemoryBytes, SpillDiskBytes            float64
	DurationSeconds, GCShare                    Distribution
	InputBytesPerTask, OutputBytesPerTask       Distribution
	ShuffleReadPerTask, ShuffleWritePerTask     Distribution
	SpillDiskPerTask, PeakExecutionBytesPerTask Distribution
}

// GCFraction is the share of the executors' run time in garbage collection, in [0, 1].
func (t TaskTotals) GCFraction() float64 {
	if t.RunSeconds <= 0 {
		return 0
	}
	return min(1, t.GCSeconds/t.RunSeconds)
}

// Quality says how whole the source was.
type Quality struct {
	// Bytes is the size of what was read, decompressed; Events the number of events used.
	Bytes, Events int64
	// BadLines could not be read and were skipped, UnknownEvents are of kinds that
	// say nothing about resources.
	BadLines, UnknownEvents int
	// Cut says that the source ends in the middle: a cut file, a missing part.
	Cut bool
	// Notes say what else is not as it should be, for people; at most [MaxNotes].
	Notes []string
}

// RuntimeSeconds is the wall time.
func (e Execution) RuntimeSeconds() float64 { return e.End.Sub(e.Start).Seconds() }

// Finished says whether the source tells how the execution ended.
func (e Execution) Finished() bool { return e.Outcome != 0 }

// Validate checks every field of an execution.
func (e Execution) Validate() error {
	if e.Origin == "" {
		return invalid("origin", "is missing")
	}
	if err := validateSlug("framework", e.Framework); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{
		{"origin", e.Origin}, {"version", e.Version}, {"application id", e.ApplicationID}, {"attempt", e.Attempt},
		{"name", e.Name}, {"user", e.User}, {"queue", e.Queue}, {"main class", e.MainClass},
		{"query signature", e.QuerySignature}, {"manager", e.Cluster.Manager}, {"platform", e.Cluster.Platform},
	} {
		if err := validateName(f.name, f.value); err != nil {
			return err
		}
	}
	if e.Outcome != 0 && outcomeNames[e.Outcome] == "" {
		return invalid("outcome", "must be ok, failed, timeout or unknown")
	}
	if err := e.validateTimes(); err != nil {
		return err
	}
	if err := e.validateAmounts(); err != nil {
		return err
	}
	if err := e.Cluster.validate(); err != nil {
		return err
	}
	if err := e.validateLists(); err != nil {
		return err
	}
	if err := e.Metrics.Validate(); err != nil {
		return err
	}
	if e.Graph != nil {
		return e.Graph.Validate()
	}
	return nil
}

func (e Execution) validateTimes() error {
	for _, t := range []struct {
		name string
		t    time.Time
	}{{"start", e.Start}, {"end", e.End}} {
		if t.t.Year() < 1990 || t.t.Year() > 2200 {
			return invalid(t.name, "is not between the years 1990 and 2200: %s", t.t)
		}
	}
	if d := e.End.Sub(e.Start); d < 0 || d > MaxRuntime {
		return invalid("runtime", "must be between 0 and ten years: %s", d)
	}
	return nil
}

func (e Execution) validateAmounts() error {
	t := e.Tasks
	for _, n := range []int{e.Jobs, e.FailedJobs, t.Count, t.Failed, t.Killed, e.Quality.BadLines, e.Quality.UnknownEvents} {
		if n < 0 {
			return invalid("count", "must not be negative: %d", n)
		}
	}
	if e.Quality.Bytes < 0 || e.Quality.Events < 0 {
		return invalid("count", "must not be negative: %d bytes, %d events", e.Quality.Bytes, e.Quality.Events)
	}
	if err := validateAmounts(
		amount{"input size", e.InputBytes}, amount{"task time", t.Seconds}, amount{"run time", t.RunSeconds},
		amount{"CPU time", t.CPUSeconds}, amount{"GC time", t.GCSeconds}, amount{"output bytes", t.OutputBytes},
		amount{"shuffle read bytes", t.ShuffleReadBytes}, amount{"shuffle write bytes", t.ShuffleWriteBytes},
		amount{"spilled memory bytes", t.SpillMemoryBytes}, amount{"spilled disk bytes", t.SpillDiskBytes},
	); err != nil {
		return err
	}
	for _, d := range []Distribution{t.DurationSeconds, t.GCShare, t.InputBytesPerTask, t.OutputBytesPerTask,
		t.ShuffleReadPerTask, t.ShuffleWritePerTask, t.SpillDiskPerTask, t.PeakExecutionBytesPerTask} {
		if !(0 <= d.P10 && d.P10 <= d.P50 && d.P50 <= d.P90 && d.P90 <= d.Max && d.Max <= maxAmount) {
			return invalid("task percentiles", "must rise from 0: %v", d)
		}
	}
	return nil
}

func (c Cluster) validate() error {
	for _, m := range []string{c.MachineType, c.DriverMachineType} {
		if m == "" {
			continue
		}
		if err := validateMachineType(m); err != nil {
			return err
		}
	}
	for _, n := range []int{c.Hosts, c.MaxExecutors, c.ExecutorCores, c.HostCores} {
		if n < 0 || n > MaxTasks {
			return invalid("cluster size", "must be between 0 and %d: %d", MaxTasks, n)
		}
	}
	return validateAmounts(amount{"executor memory", c.ExecutorMemoryBytes},
		amount{"memory of a host", c.HostMemoryBytes}, amount{"core time", c.CoreSeconds})
}

func (e Execution) validateLists() error {
	if len(e.Properties) > MaxProperties {
		return invalid("properties", "are more than %d: %d", MaxProperties, len(e.Properties))
	}
	for k, v := range e.Properties {
		if len(k) > MaxName || len(v) > MaxProperty {
			return invalid("property", "%q is longer than %d bytes", Clip(k), MaxProperty)
		}
	}
	if len(e.Quality.Notes) > MaxNotes {
		return invalid("notes", "are more than %d: %d", MaxNotes, len(e.Quality.Notes))
	}
	if len(e.Executors) > MaxExecutors {
		return invalid("executors", "are more than %d: %d", MaxExecutors, len(e.Executors))
	}
	runtime := e.RuntimeSeconds()
	for _, x := range e.Executors {
		if err := x.validate(runtime); err != nil {
			return fmt.Errorf("executor %q: %w", Clip(x.ID), err)
		}
	}
	return nil
}

func (x Executor) validate(runtime float64) error {
	for _, f := range []struct{ name, value string }{{"id", x.ID}, {"host", x.Host}, {"reason", x.Reason}} {
		if err := validateName(f.name, f.value); err != nil {
			return err
		}
	}
	if x.Cores < 0 || x.Cores > maxVCPUs {
		return invalid("cores", "must be between 0 and %d: %d", maxVCPUs, x.Cores)
	}
	// 3 + 0.619 is less than 3.619 in floating point.
	const slack = 1e-6
	if !(0 <= x.AddedSeconds && x.AddedSeconds <= x.RemovedSeconds && x.RemovedSeconds <= runtime+slack) {
		return invalid("time", "must run forward within the execution's %g s: from %g s to %g s", runtime, x.AddedSeconds, x.RemovedSeconds)
	}
	return validateAmounts(amount{"memory", x.MemoryBytes})
}
