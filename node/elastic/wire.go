package elastic

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// ToJob returns the job of a message, not yet validated but for what the vocabulary cannot
// hold. Errors wrap elastic.ErrInvalid.
func ToJob(m *karasuv1.ElasticJob) (elastic.Job, error) {
	b := m.GetBounds()
	steps, err := whole("total_steps", m.GetTotalSteps())
	if err != nil {
		return elastic.Job{}, err
	}
	plan, err := toPlan(m.GetCurrent())
	if err != nil {
		return elastic.Job{}, fmt.Errorf("current plan: %w", err)
	}
	return elastic.Job{
		ID:          model.NormalizeName(m.GetId()),
		Topic:       model.Topic{Infrastructure: m.GetInfrastructure(), Framework: m.GetFramework(), Algorithm: m.GetAlgorithm()},
		MachineType: m.GetMachineType(), Mode: throughput.Mode(m.GetMode()), Batch: int(m.GetBatch()), GlobalBatch: int(m.GetGlobalBatch()),
		TotalSteps: steps, TotalSamples: m.GetTotalSamples(),
		Bounds: elastic.Bounds{
			MinWorkers: int(b.GetMinWorkers()), MaxWorkers: int(b.GetMaxWorkers()), WorkerMultiple: int(b.GetWorkerMultiple()),
			MinServers: int(b.GetMinServers()), MaxServers: int(b.GetMaxServers()),
			MaxPodCPU: b.GetMaxPodCpu(), MaxPodMemory: b.GetMaxPodMemoryBytes(),
		},
		Current: plan,
	}, nil
}

// whole is a count that travels as a number of JSON.
func whole(field string, v float64) (int64, error) {
	const most = 1 << 53
	if !(v >= 0 && v <= most) || v != math.Trunc(v) {
		return 0, fmt.Errorf("%s must be a whole number between 0 and 2^53: %g: %w", field, v, elastic.ErrInvalid)
	}
	return int64(v), nil
}

func toPlan(m *karasuv1.ElasticPlan) (elastic.Plan, error) {
	p := elastic.Plan{Workers: toGroup(m.GetWorkers()), Servers: toGroup(m.GetServers()), Replace: m.GetReplace()}
	for _, pod := range m.GetPods() {
		if p.Pods == nil {
			p.Pods = map[string]elastic.Resources{}
		}
		if _, ok := p.Pods[pod.GetName()]; ok {
			return p, fmt.Errorf("pod %s is there twice: %w", model.Clip(pod.GetName()), elastic.ErrInvalid)
		}
		p.Pods[pod.GetName()] = toResources(pod.GetResources())
	}
	return p, nil
}

func toGroup(m *karasuv1.ElasticGroup) elastic.Group {
	return elastic.Group{Replicas: int(m.GetReplicas()), Pod: toResources(m.GetPod())}
}

func toResources(m *karasuv1.ElasticResources) elastic.Resources {
	return elastic.Resources{CPU: m.GetCpu(), Memory: m.GetMemoryBytes()}
}

// ToReport returns the report of a message; a time that is missing is now.
func ToReport(m *karasuv1.ElasticReport, now time.Time) (elastic.Report, error) {
	at, err := toTime(m.GetUnixMillis(), now)
	if err != nil {
		return elastic.Report{}, err
	}
	step, err := whole("step", m.GetStep())
	if err != nil {
		return elastic.Report{}, err
	}
	r := elastic.Report{
		Job: model.NormalizeName(m.GetJob()), Time: at, Step: step, Samples: m.GetSamples(), StepsPerSecond: m.GetStepsPerSecond(),
		Seconds: m.GetSeconds(), Workers: int(m.GetWorkers()), Servers: int(m.GetServers()),
	}
	for _, p := range m.GetPods() {
		r.Pods = append(r.Pods, elastic.PodUsage{
			Name: p.GetName(), Role: elastic.Role(p.GetRole()), CPU: p.GetCpu(), CPULimit: p.GetCpuLimit(),
			Memory: p.GetMemoryBytes(), MemoryLimit: p.GetMemoryLimitBytes(), StepSeconds: p.GetStepSeconds(),
		})
	}
	return r, nil
}

// ToEvent returns the event of a message; a time that is missing is now.
func ToEvent(m *karasuv1.ElasticEvent, now time.Time) (elastic.Event, error) {
	at, err := toTime(m.GetUnixMillis(), now)
	return elastic.Event{
		Job: model.NormalizeName(m.GetJob()), Time: at, Kind: elastic.EventKind(m.GetKind()), Role: elastic.Role(m.GetRole()),
		Pod: m.GetPod(), Pods: int(m.GetPods()), Memory: m.GetMemoryBytes(),
	}, err
}

func toTime(millis float64, now time.Time) (time.Time, error) {
	at, err := wire.ToTime("unix_millis", millis)
	if err != nil {
		return at, fmt.Errorf("%w: %w", err, elastic.ErrInvalid)
	}
	if at.IsZero() {
		return now.UTC(), nil
	}
	return at, nil
}

// FromJob returns the message of a job.
func FromJob(j elastic.Job) *karasuv1.ElasticJob {
	b := j.Bounds
	return &karasuv1.ElasticJob{
		Id: j.ID, Infrastructure: j.Topic.Infrastructure, Framework: j.Topic.Framework, Algorithm: j.Topic.Algorithm,
		MachineType: j.MachineType, Mode: string(j.Mode), Batch: uint32(j.Batch), GlobalBatch: uint32(j.GlobalBatch),
		TotalSteps: float64(j.TotalSteps), TotalSamples: j.TotalSamples,
		Bounds: &karasuv1.ElasticBounds{
			MinWorkers: uint32(b.MinWorkers), MaxWorkers: uint32(b.MaxWorkers), WorkerMultiple: uint32(b.WorkerMultiple),
			MinServers: uint32(b.MinServers), MaxServers: uint32(b.MaxServers), MaxPodCpu: b.MaxPodCPU, MaxPodMemoryBytes: b.MaxPodMemory,
		},
		Current: FromPlan(j.Current),
	}
}

// FromPlan returns the message of a plan.
func FromPlan(p elastic.Plan) *karasuv1.ElasticPlan {
	m := &karasuv1.ElasticPlan{Workers: fromGroup(p.Workers), Servers: fromGroup(p.Servers), Replace: p.Replace}
	for _, name := range slices.Sorted(maps.Keys(p.Pods)) {
		m.Pods = append(m.Pods, &karasuv1.ElasticPod{Name: name, Resources: fromResources(p.Pods[name])})
	}
	return m
}

func fromGroup(g elastic.Group) *karasuv1.ElasticGroup {
	return &karasuv1.ElasticGroup{Replicas: uint32(g.Replicas), Pod: fromResources(g.Pod)}
}

func fromResources(r elastic.Resources) *karasuv1.ElasticResources {
	return &karasuv1.ElasticResources{Cpu: r.CPU, MemoryBytes: r.Memory}
}

// FromDecision returns the message of a decision.
func FromDecision(d elastic.Decision) *karasuv1.ElasticDecision {
	m := &karasuv1.ElasticDecision{
		Job: d.Job, Number: uint32(d.Number), UnixMillis: wire.FromTime(d.Time), Kind: string(d.Kind),
		Plan: FromPlan(d.Plan), Before: FromPlan(d.Before), Reason: d.Reason,
	}
	for _, e := range d.Evidence {
		m.Evidence = append(m.Evidence, &karasuv1.ElasticEvidence{Name: e.Name, Value: e.Value, Unit: e.Unit})
	}
	return m
}

// FromReport returns the message of a report.
func FromReport(r elastic.Report) *karasuv1.ElasticReport {
	m := &karasuv1.ElasticReport{
		Job: r.Job, UnixMillis: wire.FromTime(r.Time), Step: float64(r.Step), Samples: r.Samples, StepsPerSecond: r.StepsPerSecond,
		Seconds: r.Seconds, Workers: uint32(r.Workers), Servers: uint32(r.Servers),
	}
	for _, p := range r.Pods {
		m.Pods = append(m.Pods, &karasuv1.ElasticPodUsage{
			Name: p.Name, Role: string(p.Role), Cpu: p.CPU, CpuLimit: p.CPULimit,
			MemoryBytes: p.Memory, MemoryLimitBytes: p.MemoryLimit, StepSeconds: p.StepSeconds,
		})
	}
	return m
}

// FromEvent returns the message of an event.
func FromEvent(e elastic.Event) *karasuv1.ElasticEvent {
	return &karasuv1.ElasticEvent{
		Job: e.Job, UnixMillis: wire.FromTime(e.Time), Kind: string(e.Kind), Role: string(e.Role), Pod: e.Pod,
		Pods: uint32(e.Pods), MemoryBytes: e.Memory,
	}
}

// FromState returns the message of what is known of a job, where all is set with its
// decisions and events. A zero time of finishing is a job that runs.
func FromState(s elastic.JobState, finished time.Time, all bool) *karasuv1.ElasticStatus {
	m := &karasuv1.ElasticStatus{
		Job: FromJob(s.Job), StartedUnixMillis: wire.FromTime(s.Started), Plan: FromPlan(s.Plan), History: s.History,
		Reports: uint32(s.Reports), Changes: uint32(s.Changes), LastDecision: FromDecision(s.LastDecision),
	}
	if s.Last != nil {
		m.LastReport = FromReport(*s.Last)
	}
	if !finished.IsZero() {
		m.FinishedUnixMillis = wire.FromTime(finished)
	}
	m.Speeds = fromSpeeds(s)
	if !all {
		return m
	}
	for _, d := range s.Decisions {
		m.Decisions = append(m.Decisions, FromDecision(d))
	}
	for _, e := range s.Events {
		m.Events = append(m.Events, FromEvent(e))
	}
	return m
}

// fromSpeeds returns what was measured, by workers, beside what was fitted to it.
func fromSpeeds(s elastic.JobState) []*karasuv1.ElasticSpeed {
	fitted, err := s.Throughput()
	var out []*karasuv1.ElasticSpeed
	for _, v := range s.Speeds {
		m := &karasuv1.ElasticSpeed{Workers: uint32(v.Workers), Minutes: v.Minutes, PushesPerSecond: math.Exp(v.Log)}
		if err == nil && len(s.Speeds) > 1 {
			if speed, ok := pushes(s, fitted, v.Workers); ok {
				m.Fitted = &speed
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *karasuv1.ElasticSpeed) int { return int(a.GetWorkers()) - int(b.GetWorkers()) })
	return out
}

// pushes a second of so many workers by the fitted terms.
func pushes(s elastic.JobState, m *throughput.Model, workers int) (float64, bool) {
	seconds, _ := m.StepSeconds(s.Setting(workers))
	speed := float64(workers) / seconds
	if s.Job.GlobalBatch > 0 {
		speed = 1 / seconds
	}
	return speed, speed > 0 && !math.IsInf(speed, 0)
}
