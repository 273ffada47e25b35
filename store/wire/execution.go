package wire

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/measure"
)

// MaxExecution bounds the message of one execution, in bytes: a request of 8 MiB has
// room for it. Texts of a graph stand there once, so that it holds 40,000 stages.
const MaxExecution = 6 << 20

// FromExecution returns the message of an execution. What makes it larger than
// [MaxExecution] is left out, the least important first: the details of stages, their
// operators, executors one by one, the stages. Dropped names what was.
func FromExecution(e model.Execution) (m *karasuv1.Execution, dropped []string) {
	return FromExecutionWithin(e, MaxExecution)
}

// FromExecutionWithin is [FromExecution] with another limit, in bytes.
func FromExecutionWithin(e model.Execution, limit int) (m *karasuv1.Execution, dropped []string) {
	m = fromExecution(e)
	stages := func(change func(*model.Stage)) {
		if e.Graph == nil {
			return
		}
		g := model.StageGraph{Stages: append([]model.Stage(nil), e.Graph.Stages...)}
		for i := range g.Stages {
			change(&g.Stages[i])
		}
		e.Graph = &g
		m.Graph = fromGraph(e.Graph)
	}
	for _, step := range []struct {
		what string
		drop func()
	}{
		{"details of stages", func() { stages(func(s *model.Stage) { s.Details = "" }) }},
		{"operators of stages", func() { stages(func(s *model.Stage) { s.Operators = nil }) }},
		{"executors one by one", func() { m.Executors = nil }},
		{"stages", func() { m.Graph = nil }},
		{"properties", func() { m.Properties = nil }},
	} {
		if proto.Size(m) <= limit {
			break
		}
		step.drop()
		dropped = append(dropped, step.what)
	}
	return m, dropped
}

func fromExecution(e model.Execution) *karasuv1.Execution {
	m := &karasuv1.Execution{
		Origin: e.Origin, Framework: e.Framework, Version: e.Version, ApplicationId: e.ApplicationID, Attempt: e.Attempt,
		Name: e.Name, User: e.User, Queue: e.Queue, MainClass: e.MainClass, QuerySignature: e.QuerySignature,
		Properties: e.Properties, StartUnixMillis: FromTime(e.Start), EndUnixMillis: FromTime(e.End), EndEstimated: e.EndEstimated,
		Outcome: outcomeText(e.Outcome), Jobs: uint32(e.Jobs), FailedJobs: uint32(e.FailedJobs),
		InputBytes: e.InputBytes, Metrics: measure.ToProto(e.Metrics),
	}
	c := e.Cluster
	m.Cluster = &karasuv1.ExecutionCluster{
		Manager: c.Manager, Platform: c.Platform, MachineType: c.MachineType, DriverMachineType: c.DriverMachineType,
		Hosts: uint32(c.Hosts), MaxExecutors: uint32(c.MaxExecutors), ExecutorCores: uint32(c.ExecutorCores),
		ExecutorMemoryBytes: c.ExecutorMemoryBytes, HostCores: uint32(c.HostCores), HostMemoryBytes: c.HostMemoryBytes,
		CoreSeconds: c.CoreSeconds,
	}
	for _, x := range e.Executors {
		m.Executors = append(m.Executors, &karasuv1.Executor{
			Id: x.ID, Host: x.Host, Cores: uint32(x.Cores), MemoryBytes: x.MemoryBytes, AddedSeconds: x.AddedSeconds,
			RemovedSeconds: x.RemovedSeconds, Removed: x.Removed, Reason: x.Reason,
		})
	}
	t := e.Tasks
	m.Tasks = &karasuv1.TaskTotals{
		Count: uint64(t.Count), Failed: uint64(t.Failed), Killed: uint64(t.Killed),
		Seconds: t.Seconds, RunSeconds: t.RunSeconds, CpuSeconds: t.CPUSeconds, GcSeconds: t.GCSeconds, OutputBytes: t.OutputBytes,
		ShuffleReadBytes: t.ShuffleReadBytes, ShuffleWriteBytes: t.ShuffleWriteBytes,
		SpillMemoryBytes: t.SpillMemoryBytes, SpillDiskBytes: t.SpillDiskBytes,
		DurationSeconds: fromDistribution(t.DurationSeconds), GcShare: fromDistribution(t.GCShare),
		InputBytesPerTask: fromDistribution(t.InputBytesPerTask), OutputBytesPerTask: fromDistribution(t.OutputBytesPerTask),
		ShuffleReadPerTask: fromDistribution(t.ShuffleReadPerTask), ShuffleWritePerTask: fromDistribution(t.ShuffleWritePerTask),
		SpillDiskPerTask: fromDistribution(t.SpillDiskPerTask), PeakExecutionBytesPerTask: fromDistribution(t.PeakExecutionBytesPerTask),
	}
	q := e.Quality
	m.Quality = &karasuv1.ExecutionQuality{
		Bytes: q.Bytes, Events: q.Events, BadLines: uint64(q.BadLines), UnknownEvents: uint64(q.UnknownEvents), Cut: q.Cut, Notes: q.Notes,
	}
	m.Graph = fromGraph(e.Graph)
	return m
}

// ToExecution returns the validated execution of a message. Errors wrap model.ErrInvalid.
func ToExecution(m *karasuv1.Execution) (model.Execution, error) {
	e := model.Execution{
		Origin: m.GetOrigin(), Framework: m.GetFramework(), Version: m.GetVersion(), ApplicationID: m.GetApplicationId(), Attempt: m.GetAttempt(),
		Name: m.GetName(), User: m.GetUser(), Queue: m.GetQueue(), MainClass: m.GetMainClass(), QuerySignature: m.GetQuerySignature(),
		Properties: m.GetProperties(), EndEstimated: m.GetEndEstimated(), Jobs: int(m.GetJobs()), FailedJobs: int(m.GetFailedJobs()),
		InputBytes: m.GetInputBytes(), Metrics: measure.FromProto(m.GetMetrics()),
	}
	var err error
	if e.Start, err = ToTime("start", m.GetStartUnixMillis()); err != nil {
		return model.Execution{}, err
	}
	if e.End, err = ToTime("end", m.GetEndUnixMillis()); err != nil {
		return model.Execution{}, err
	}
	if e.Outcome, err = parseOutcome(m.GetOutcome()); err != nil {
		return model.Execution{}, err
	}
	c := m.GetCluster()
	e.Cluster = model.Cluster{
		Manager: c.GetManager(), Platform: c.GetPlatform(), MachineType: c.GetMachineType(), DriverMachineType: c.GetDriverMachineType(),
		Hosts: int(c.GetHosts()), MaxExecutors: int(c.GetMaxExecutors()), ExecutorCores: int(c.GetExecutorCores()),
		ExecutorMemoryBytes: c.GetExecutorMemoryBytes(), HostCores: int(c.GetHostCores()), HostMemoryBytes: c.GetHostMemoryBytes(),
		CoreSeconds: c.GetCoreSeconds(),
	}
	for _, x := range m.GetExecutors() {
		e.Executors = append(e.Executors, model.Executor{
			ID: x.GetId(), Host: x.GetHost(), Cores: int(x.GetCores()), MemoryBytes: x.GetMemoryBytes(), AddedSeconds: x.GetAddedSeconds(),
			RemovedSeconds: x.GetRemovedSeconds(), Removed: x.GetRemoved(), Reason: x.GetReason(),
		})
	}
	if e.Tasks, err = toTasks(m.GetTasks()); err != nil {
		return model.Execution{}, err
	}
	q := m.GetQuality()
	if e.Quality, err = toQuality(q); err != nil {
		return model.Execution{}, err
	}
	if e.Graph, err = toGraph(m.GetGraph()); err != nil {
		return model.Execution{}, err
	}
	if err := e.Validate(); err != nil {
		return model.Execution{}, err
	}
	return e, nil
}

func toQuality(q *karasuv1.ExecutionQuality) (model.Quality, error) {
	out := model.Quality{Bytes: q.GetBytes(), Events: q.GetEvents(), Cut: q.GetCut(), Notes: q.GetNotes()}
	err := counts(map[string]uint64{"bad lines": q.GetBadLines(), "unknown events": q.GetUnknownEvents()})
	out.BadLines, out.UnknownEvents = int(q.GetBadLines()), int(q.GetUnknownEvents())
	for _, n := range out.Notes {
		if len(n) > model.MaxProperty {
			return out, &model.FieldError{Field: "note", Problem: fmt.Sprintf("is longer than %d bytes", model.MaxProperty)}
		}
	}
	return out, err
}

func toTasks(t *karasuv1.TaskTotals) (model.TaskTotals, error) {
	err := counts(map[string]uint64{"tasks": t.GetCount(), "failed tasks": t.GetFailed(), "killed tasks": t.GetKilled()})
	return model.TaskTotals{
		Count: int(t.GetCount()), Failed: int(t.GetFailed()), Killed: int(t.GetKilled()),
		Seconds: t.GetSeconds(), RunSeconds: t.GetRunSeconds(), CPUSeconds: t.GetCpuSeconds(), GCSeconds: t.GetGcSeconds(), OutputBytes: t.GetOutputBytes(),
		ShuffleReadBytes: t.GetShuffleReadBytes(), ShuffleWriteBytes: t.GetShuffleWriteBytes(),
		SpillMemoryBytes: t.GetSpillMemoryBytes(), SpillDiskBytes: t.GetSpillDiskBytes(),
		DurationSeconds: toDistribution(t.GetDurationSeconds()), GCShare: toDistribution(t.GetGcShare()),
		InputBytesPerTask: toDistribution(t.GetInputBytesPerTask()), OutputBytesPerTask: toDistribution(t.GetOutputBytesPerTask()),
		ShuffleReadPerTask: toDistribution(t.GetShuffleReadPerTask()), ShuffleWritePerTask: toDistribution(t.GetShuffleWritePerTask()),
		SpillDiskPerTask: toDistribution(t.GetSpillDiskPerTask()), PeakExecutionBytesPerTask: toDistribution(t.GetPeakExecutionBytesPerTask()),
	}, err
}

// counts checks that numbers are counts that a sum of them survives.
func counts(fields map[string]uint64) error {
	for name, n := range fields {
		if n > math.MaxInt64/2 {
			return &model.FieldError{Field: name, Problem: fmt.Sprintf("are too many: %d", n)}
		}
	}
	return nil
}

func fromDistribution(d model.Distribution) *karasuv1.Distribution {
	if d == (model.Distribution{}) {
		return nil
	}
	return &karasuv1.Distribution{P10: d.P10, P50: d.P50, P90: d.P90, Max: d.Max}
}

func toDistribution(d *karasuv1.Distribution) model.Distribution {
	return model.Distribution{P10: d.GetP10(), P50: d.GetP50(), P90: d.GetP90(), Max: d.GetMax()}
}

// outcomeText is empty where the outcome is not known.
func outcomeText(o model.Outcome) string {
	if o == 0 {
		return ""
	}
	return o.String()
}

func parseOutcome(s string) (model.Outcome, error) {
	if s == "" {
		return 0, nil
	}
	return model.ParseOutcome(s)
}
