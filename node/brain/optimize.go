package brain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/elastic"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
)

// part of a plan that a stage asks for.
type part int

const (
	whole part = iota
	workersOnly
	serversOnly
)

// stages of a job, as the master names them (JobOptStage of dlrover 0.6).
var stages = map[string]part{
	"":                         whole,
	"job_stage_create":         whole,
	"job_stage_ps_initial":     serversOnly,
	"job_stage_ps_running":     serversOnly,
	"job_stage_worker_initial": workersOnly,
	"job_stage_worker_running": workersOnly,
}

const (
	// maxJobs of one request; a master asks for its own.
	maxJobs = 256
	// sameOOM is how soon a pod cannot run out of memory again: it has to start first. A
	// request that comes again says nothing new.
	sameOOM = time.Minute
)

// optimize plans the jobs of a request.
func (b *Brain) optimize(ctx context.Context, m *brainv1.OptimizeRequest) ([]*brainv1.JobOptimizePlan, error) {
	ask, ok := stages[m.GetType()]
	switch {
	case !ok:
		return nil, fmt.Errorf("type must be one of %q: %q: %w", slices.Sorted(maps.Keys(stages)), model.Clip(m.GetType()), optimizer.ErrInvalid)
	case len(m.GetJobs()) == 0 || len(m.GetJobs()) > maxJobs:
		return nil, fmt.Errorf("jobs must be 1 to %d: %d: %w", maxJobs, len(m.GetJobs()), optimizer.ErrInvalid)
	}
	config := m.GetConfig().GetCustomizedConfig()
	if _, err := (settings{}).with(config); err != nil {
		return nil, err
	}
	asks := make([]asking, len(m.GetJobs()))
	for i, j := range m.GetJobs() {
		a, err := b.asking(j)
		if err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(m.GetJobs()), err)
		}
		asks[i] = a
	}
	var plans []*brainv1.JobOptimizePlan
	for _, a := range asks {
		if err := b.described.update(a.id, func(d *description) (err error) { d.Settings, err = d.Settings.with(config); return err }); err != nil {
			return nil, err
		}
		plan, err := b.plan(ctx, a, ask)
		if err != nil {
			return nil, err
		}
		if plan != nil {
			plans = append(plans, plan)
		}
	}
	return plans, nil
}

// asking is a job that a plan is asked for, and which of its pods ran out of memory.
type asking struct {
	id  string
	at  time.Time
	oom []optimizer.Event
}

func (b *Brain) asking(m *brainv1.OptimizeJobMeta) (asking, error) {
	id, err := jobID(m.GetUid())
	if err != nil {
		return asking{}, err
	}
	at, err := b.clock("timestamp", m.GetState().GetTimestamp())
	if err != nil {
		return asking{}, err
	}
	if at.Sub(b.Now()) > afterEnd {
		return asking{}, fmt.Errorf("timestamp %s is ahead of %s: %w", at.Format(time.RFC3339), b.Now().UTC().Format(time.RFC3339), optimizer.ErrInvalid)
	}
	a := asking{id: id, at: at}
	pods := m.GetState().GetPods()
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[name]
		if !pod.GetIsOom() {
			continue
		}
		role, err := roleOf(name, pod.GetType())
		if err != nil {
			return asking{}, err
		}
		if role == other {
			continue
		}
		e := optimizer.Event{Job: id, Time: at, Kind: optimizer.OutOfMemory, Role: role, Pod: name, Memory: float64(pod.GetResource().GetMemory())}
		if err := e.Validate(); err != nil {
			return asking{}, err
		}
		a.oom = append(a.oom, e)
	}
	return a, nil
}

// plan answers for one job; nil where nothing changes.
func (b *Brain) plan(ctx context.Context, a asking, ask part) (*brainv1.JobOptimizePlan, error) {
	if len(a.oom) > 0 {
		return b.repair(ctx, a)
	}
	d, _ := b.described.get(a.id)
	decision, err := b.Jobs.Plan(ctx, a.id)
	servers := d.told.Servers.Replicas
	switch {
	case errors.Is(err, optimizer.ErrUnknownJob):
		if last, ended := b.Jobs.Last(a.id); ended == nil && a.at.Sub(last.At) < afterEnd {
			return nil, fmt.Errorf("job %q: %w at %s", model.Clip(a.id), errEnded, last.At.UTC().Format(time.RFC3339))
		}
		// It has not reported yet, and will start as it was told.
		if decision, err = b.Jobs.Preview(ctx, d.job(a.id, d.planned(), b.Alias)); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if state, err := b.Jobs.Job(a.id); err == nil && state.Last != nil {
			servers = state.Last.Servers
		}
	}
	if ask == serversOnly && sameServers(decision.Plan, d.told) && servers == decision.Plan.Servers.Replicas {
		return nil, nil // the master then asks for workers
	}
	return b.tell(a.id, decision, ask, nil)
}

// repair takes that pods ran out of memory, and answers with all of the plan: the master
// looks for workers in their group, and for parameter servers among the single pods.
func (b *Brain) repair(ctx context.Context, a asking) (*brainv1.JobOptimizePlan, error) {
	d, _ := b.described.get(a.id)
	state, err := b.kept(ctx, a.id, a.at, jobOfPod(a.oom[0].Pod), d.planned())
	if err != nil {
		return nil, err
	}
	var news elastic.News
	for _, e := range a.oom {
		if !slices.ContainsFunc(state.Events, func(f optimizer.Event) bool {
			return f.Kind == e.Kind && f.Pod == e.Pod && e.Time.Sub(f.Time).Abs() < sameOOM
		}) {
			news.Events = append(news.Events, e)
		}
	}
	if _, err := b.Jobs.Take(ctx, news); err != nil {
		return nil, err
	}
	var decision optimizer.Decision
	for range 2 { // one role at a time
		if decision, err = b.Jobs.Plan(ctx, a.id); err != nil {
			return nil, err
		}
	}
	return b.tell(a.id, decision, whole, a.oom)
}

// tell writes the part of a plan that was asked for, and remembers it.
func (b *Brain) tell(id string, decision optimizer.Decision, ask part, oom []optimizer.Event) (*brainv1.JobOptimizePlan, error) {
	plan := decision.Plan
	err := b.described.update(id, func(d *description) error {
		if ask != serversOnly {
			d.told.Workers = plan.Workers
		}
		if ask != workersOnly {
			d.told.Servers, d.told.Pods = plan.Servers, maps.Clone(plan.Pods)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &brainv1.JobOptimizePlan{
		Timestamp: uint64(max(decision.Time.Unix(), 0)), Resource: resources(plan, ask, oom), Job: &brainv1.OptimizeJobMeta{Uid: id},
	}, nil
}

func sameServers(a, b optimizer.Plan) bool {
	return a.Servers == b.Servers && maps.Equal(a.Pods, b.Pods)
}

// resources writes a part of a plan.
func resources(plan optimizer.Plan, ask part, oom []optimizer.Event) *brainv1.JobResource {
	out := &brainv1.JobResource{TaskGroupResources: map[string]*brainv1.TaskGroupResource{}, PodResources: map[string]*brainv1.PodResource{}}
	if ask != serversOnly {
		out.TaskGroupResources["worker"] = group(plan.Workers)
		for _, name := range plan.Replace { // the master starts pods again that it is told the size of
			out.PodResources[name] = pod(plan.Workers.Pod)
		}
	}
	if ask != workersOnly && plan.Servers.Replicas > 0 {
		out.TaskGroupResources["ps"] = group(plan.Servers)
		for name, r := range plan.Pods {
			out.PodResources[name] = pod(single(plan, r))
		}
	}
	for _, e := range oom {
		if e.Role == optimizer.Server {
			out.PodResources[e.Pod] = pod(single(plan, plan.Pods[e.Pod]))
		}
	}
	return out
}

// single is the size of a parameter server; what it does not differ in is its group's.
func single(plan optimizer.Plan, r optimizer.Resources) optimizer.Resources {
	if r.CPU == 0 {
		r.CPU = plan.Servers.Pod.CPU
	}
	if r.Memory == 0 {
		r.Memory = plan.Servers.Pod.Memory
	}
	return r
}

func group(g optimizer.Group) *brainv1.TaskGroupResource {
	return &brainv1.TaskGroupResource{Count: int64(g.Replicas), Resource: pod(g.Pod)}
}

// pod rounds memory up to MiB, which the master counts in, and cuts.
func pod(r optimizer.Resources) *brainv1.PodResource {
	return &brainv1.PodResource{Cpu: float32(r.CPU), Memory: int64(math.Ceil(r.Memory/mib)) * mib}
}
