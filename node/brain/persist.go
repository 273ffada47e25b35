package brain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/elastic"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
)

// afterEnd is how much newer than the end of a job a report must be to begin it again, as
// after a pause in which it was taken for finished: further than clocks differ, so that
// reports that come after the end change nothing.
const afterEnd = 10 * time.Minute

// persist takes one kind of metrics.
func (b *Brain) persist(ctx context.Context, m *brainv1.JobMetrics) error {
	id, err := jobID(m.GetJobMeta().GetUuid())
	if err != nil {
		return err
	}
	switch m.GetMetricsType() {
	case brainv1.MetricsType_Runtime_Info:
		return b.report(ctx, id, m.GetRuntimeInfo())
	case brainv1.MetricsType_Job_Exit_Reason:
		return b.finish(ctx, id, m.GetJobExitReason())
	}
	change, err := describing(m)
	if err != nil || change == nil {
		return err
	}
	return b.described.update(id, change)
}

// describing returns what metrics change of a description; nil is nothing.
func describing(m *brainv1.JobMetrics) (func(*description) error, error) {
	switch m.GetMetricsType() {
	case brainv1.MetricsType_Training_Hyper_Params:
		h := m.GetTrainingHyperParams()
		return func(d *description) error {
				d.Batch, d.Epochs, d.Steps = h.GetBatchSize(), h.GetEpoch(), h.GetMaxSteps()
				return nil
			},
			counts(field{"batch_size", h.GetBatchSize(), math.MaxInt32}, field{"epoch", h.GetEpoch(), math.MaxInt32}, field{"max_steps", h.GetMaxSteps(), maxCount})
	case brainv1.MetricsType_Workflow_Feature:
		name := model.NormalizeName(m.GetWorkflowFeature().GetJobName())
		return func(d *description) error { d.Name = name; return nil }, text("job_name", name)
	case brainv1.MetricsType_Training_Set_Feature:
		n := m.GetTrainingSetFeature().GetDatasetSize()
		return func(d *description) error { d.Samples = n; return nil }, counts(field{"dataset_size", n, maxCount})
	case brainv1.MetricsType_Model_Feature:
		n := m.GetModelFeature().GetTotalVariableSize()
		return func(d *description) error { d.ModelBytes = n; return nil }, counts(field{"total_variable_size", n, maxCount})
	case brainv1.MetricsType_Type:
		kind := model.NormalizeName(m.GetType())
		return func(d *description) error { d.Type = kind; return nil }, text("type", kind)
	case brainv1.MetricsType_Resource:
		p, err := asked(m.GetResource())
		return func(d *description) error { d.Asked = p; return nil }, err
	case brainv1.MetricsType_Customized_Data:
		config, err := customised(m.GetCustomizedData())
		return func(d *description) (err error) { d.Settings, err = d.Settings.with(config); return err }, err
	case brainv1.MetricsType_Optimization_Result, brainv1.MetricsType_Optimization:
		return nil, nil // what this service answered, come back
	}
	return nil, fmt.Errorf("metrics_type %d is unknown: %w", m.GetMetricsType(), optimizer.ErrInvalid)
}

// field is a count of a message.
type field struct {
	name        string
	value, most int64
}

// maxCount is the most that a float64 counts.
const maxCount = 1 << 53

func counts(fields ...field) error {
	for _, f := range fields {
		if f.value < 0 || f.value > f.most {
			return fmt.Errorf("%s must be between 0 and %d: %d: %w", f.name, f.most, f.value, optimizer.ErrInvalid)
		}
	}
	return nil
}

// report takes what a job reports of its run, and begins to keep the job at its first.
func (b *Brain) report(ctx context.Context, id string, m *brainv1.RuntimeInfo) error {
	at, err := b.clock("time_stamp", m.GetTimeStamp())
	if err != nil {
		return err
	}
	r := optimizer.Report{Job: id, Time: at, Step: m.GetGlobalStep(), StepsPerSecond: float64(m.GetSpeed())}
	seen := map[string]bool{}
	for _, p := range m.GetRunningPods() {
		role, err := roleOf(p.GetPodName(), "")
		if err != nil {
			return err
		}
		if seen[p.GetPodName()] {
			return fmt.Errorf("pod %s is there twice: %w", model.Clip(p.GetPodName()), optimizer.ErrInvalid)
		}
		seen[p.GetPodName()] = true
		switch role {
		case optimizer.Worker:
			r.Workers++
		case optimizer.Server:
			r.Servers++
		default:
			continue // takes no part in the training
		}
		r.Pods = append(r.Pods, optimizer.PodUsage{Name: p.GetPodName(), Role: role, CPU: p.GetCpuUsage(), Memory: p.GetMemUsage()})
	}
	if err := r.Validate(); err != nil {
		return err
	}
	name := ""
	if len(r.Pods) > 0 {
		name = jobOfPod(r.Pods[0].Name)
	}
	state, err := b.kept(ctx, id, at, name, optimizer.Plan{Workers: optimizer.Group{Replicas: r.Workers}, Servers: optimizer.Group{Replicas: r.Servers}})
	if errors.Is(err, errEnded) {
		return nil // late, and changes nothing
	}
	if err != nil {
		return err
	}
	for i := range r.Pods {
		limit(&r.Pods[i], state.Plan)
	}
	_, err = b.Jobs.Take(ctx, elastic.News{Reports: []optimizer.Report{r}})
	return err
}

// limit is what a pod may use under a plan, as the master does not tell.
func limit(p *optimizer.PodUsage, plan optimizer.Plan) {
	of := plan.Workers.Pod
	if p.Role == optimizer.Server {
		of = plan.Servers.Pod
	}
	p.CPULimit, p.MemoryLimit = of.CPU, of.Memory
	if own, ok := plan.Pods[p.Name]; ok {
		p.CPULimit, p.MemoryLimit = max(own.CPU, of.CPU), max(own.Memory, of.Memory)
	}
}

// kept returns a job that the service keeps. One that it does not keep starts as it was
// described, on what runs, unless it has ended and nothing newer happened.
func (b *Brain) kept(ctx context.Context, id string, at time.Time, name string, running optimizer.Plan) (optimizer.JobState, error) {
	state, err := b.Jobs.Job(id)
	if !errors.Is(err, optimizer.ErrUnknownJob) {
		return state, err
	}
	if last, err := b.Jobs.Last(id); err == nil && at.Sub(last.At) < afterEnd {
		return state, fmt.Errorf("job %q: %w at %s", model.Clip(id), errEnded, last.At.UTC().Format(time.RFC3339))
	}
	if at.Sub(b.Now()) > afterEnd {
		return state, fmt.Errorf("time %s is ahead of %s: %w", at.Format(time.RFC3339), b.Now().UTC().Format(time.RFC3339), optimizer.ErrInvalid)
	}
	d, _ := b.described.get(id)
	if name != "" {
		d.Name = name
	}
	j := d.job(id, running, b.Alias)
	j.Submitted = b.Now().UTC()
	if _, err := b.Jobs.Start(ctx, j); err != nil && !errors.Is(err, optimizer.ErrJobExists) {
		return state, err
	}
	return b.Jobs.Job(id)
}

// finish takes why a job has ended. A job that is not kept has nothing to end.
func (b *Brain) finish(ctx context.Context, id, reason string) error {
	if err := text("job_exit_reason", reason); err != nil {
		return err
	}
	b.described.forget(id)
	_, err := b.Jobs.Job(id)
	if err == nil {
		if role, ok := map[string]optimizer.Role{"WorkerOOM": optimizer.Worker, "PSOOM": optimizer.Server}[reason]; ok {
			e := optimizer.Event{Job: id, Time: b.Now().UTC(), Kind: optimizer.OutOfMemory, Role: role}
			_, err = b.Jobs.Notice(ctx, e)
		}
	}
	if err == nil {
		_, err = b.Jobs.Finish(ctx, id)
	}
	if errors.Is(err, optimizer.ErrUnknownJob) {
		return nil
	}
	if err == nil {
		b.Logger.InfoContext(ctx, "a job of DLRover has ended", "job", id, "reason", reason)
	}
	return err
}

// other is the role of pods that take no part in the training.
const other optimizer.Role = ""

// roleOf reads the role of a pod from its type or, where that is empty, from its name, which
// ends in -ROLE-NUMBER.
func roleOf(pod, kind string) (optimizer.Role, error) {
	if err := text("name of a pod", pod); err != nil {
		return other, err
	}
	if strings.HasSuffix(pod, "-dlrover-master") {
		return other, nil
	}
	if kind == "" {
		parts := strings.Split(pod, "-")
		if len(parts) >= 2 {
			kind = parts[len(parts)-2]
		}
	}
	switch kind {
	case "worker", "chief":
		return optimizer.Worker, nil
	case "ps":
		return optimizer.Server, nil
	case "master", "evaluator":
		return other, nil
	}
	return other, fmt.Errorf("pod %q: its role is not known; names end in -worker-N, -chief-N, -ps-N, -evaluator-N or -master-N: %w", model.Clip(pod), optimizer.ErrInvalid)
}

// jobOfPod is the name of the job that a pod is of, as the master composes it; empty where
// the pod is named otherwise. It is better than the name that the master reports of the job
// (dlrover 0.6 sends the namespace).
func jobOfPod(pod string) string {
	name, _, ok := strings.Cut(pod, "-edljob-")
	if !ok {
		return ""
	}
	return model.NormalizeName(name)
}
