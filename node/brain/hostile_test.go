package brain_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	brainv1 "github.com/karasu-project/karasu/proto/brain"
)

// TestHostile: what cannot be is refused with what it is, and begins no job.
func TestHostile(t *testing.T) {
	d := newDaemon(t)
	c := d.dial(t)
	report := func(change func(*brainv1.RuntimeInfo)) *brainv1.JobMetrics {
		m := runtimeOf("u-1", noon, 10, 5, 2, 1, 4)
		change(m.RuntimeInfo)
		return m
	}
	with := func(kind brainv1.MetricsType, change func(*brainv1.JobMetrics)) *brainv1.JobMetrics {
		m := metrics("u-1", kind)
		change(m)
		return m
	}
	for _, v := range []struct {
		name    string
		request any
		want    string
	}{
		{"no job", metrics("", brainv1.MetricsType_Type), "uuid of the job is missing"},
		{"long uuid", metrics(strings.Repeat("u", 600), brainv1.MetricsType_Type), "longer than 512 bytes"},
		{"escape in uuid", metrics("u\x1b[2J", brainv1.MetricsType_Type), "control characters"},
		{"metrics of no kind", metrics("u-1", 77), "metrics_type 77 is unknown"},
		{"NaN speed", report(func(r *brainv1.RuntimeInfo) { r.Speed = nan }), "steps_per_second must be between"},
		{"infinite speed", report(func(r *brainv1.RuntimeInfo) { r.Speed = float32(math.Inf(1)) }), "steps_per_second must be between"},
		{"negative speed", report(func(r *brainv1.RuntimeInfo) { r.Speed = -1 }), "steps_per_second must be between"},
		{"negative step", report(func(r *brainv1.RuntimeInfo) { r.GlobalStep = -1 }), "step must be between"},
		{"NaN memory", report(func(r *brainv1.RuntimeInfo) { r.RunningPods[0].MemUsage = math.NaN() }), "memory must be between"},
		{"negative cores", report(func(r *brainv1.RuntimeInfo) { r.RunningPods[0].CpuUsage = -2 }), "cpu must be between"},
		{"speed of nobody", report(func(r *brainv1.RuntimeInfo) { r.RunningPods = nil }), "without workers"},
		{"pod of no role", report(func(r *brainv1.RuntimeInfo) { r.RunningPods[0].PodName = "x" }), `pod "x": its role is not known`},
		{"pod twice", report(func(r *brainv1.RuntimeInfo) { r.RunningPods[0].PodName = r.RunningPods[1].PodName }), "is there twice"},
		{"before 1970", report(func(r *brainv1.RuntimeInfo) { r.TimeStamp = -1 }), "time_stamp must be seconds since 1970"},
		{"milliseconds", report(func(r *brainv1.RuntimeInfo) { r.TimeStamp *= 1000 }), "time_stamp must be seconds since 1970"},
		{"tomorrow", report(func(r *brainv1.RuntimeInfo) { r.TimeStamp += 86400 }), "is ahead of"},
		{"negative batch", with(brainv1.MetricsType_Training_Hyper_Params, func(m *brainv1.JobMetrics) {
			m.TrainingHyperParams = &brainv1.TrainingHyperParams{BatchSize: -1}
		}), "batch_size must be between"},
		{"huge data set", with(brainv1.MetricsType_Training_Set_Feature, func(m *brainv1.JobMetrics) {
			m.TrainingSetFeature = &brainv1.TrainingSetFeature{DatasetSize: math.MaxInt64}
		}), "dataset_size must be between"},
		{"negative model", with(brainv1.MetricsType_Model_Feature, func(m *brainv1.JobMetrics) {
			m.ModelFeature = &brainv1.ModelFeature{TotalVariableSize: math.MinInt64}
		}), "total_variable_size must be between"},
		{"resource of no JSON", with(brainv1.MetricsType_Resource, func(m *brainv1.JobMetrics) { m.Resource = "{" }), "resource must be an object of JSON"},
		{"resource of too much", with(brainv1.MetricsType_Resource, func(m *brainv1.JobMetrics) {
			m.Resource = `{"node_group_resources":{"worker":{"count":99999999}}}`
		}), "resource: workers must be between"},
		{"long data", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) {
			m.CustomizedData = `"` + strings.Repeat("x", 1<<17) + `"`
		}), "customized_data is longer than"},
		{"two objects", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) { m.CustomizedData = `{}{}` }), "goes on after"},
		{"misspelt setting", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) {
			m.CustomizedData = `{"karasu.algoritm":"x"}`
		}), "karasu.algoritm: no such setting"},
		{"setting of no text", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) {
			m.CustomizedData = `{"karasu.mode":[]}`
		}), "karasu.mode must be text or a number"},
		{"bad slug", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) {
			m.CustomizedData = `{"karasu.framework":"A B"}`
		}), "karasu.framework: must be 1 to"},
		{"bounds crossed", with(brainv1.MetricsType_Customized_Data, func(m *brainv1.JobMetrics) {
			m.CustomizedData = `{"karasu.min_workers":5,"karasu.max_workers":2}`
		}), "karasu.min_workers 5 is above karasu.max_workers 2"},
		{"exit in two lines", with(brainv1.MetricsType_Job_Exit_Reason, func(m *brainv1.JobMetrics) { m.JobExitReason = "a\nb" }), "job_exit_reason must be text"},
		{"no stage", ask("u-1", "job_stage_lunch"), `type must be one of`},
		{"no jobs", &brainv1.OptimizeRequest{Type: "job_stage_create"}, "jobs must be 1 to 256: 0"},
		{"job of no uuid", ask("", "job_stage_create"), "job 1 of 1: uuid of the job is missing"},
		{"out of memory, of no role", askOOM("u-1", "job_stage_create", "pod"), "its role is not known"},
		{"no count", &brainv1.OptimizeRequest{
			Jobs:   []*brainv1.OptimizeJobMeta{{Uid: "u-1"}},
			Config: &brainv1.OptimizeConfig{CustomizedConfig: map[string]string{"karasu.max_servers": "many"}},
		}, "karasu.max_servers: must be a whole number"},
		{"metrics of no job", &brainv1.JobMetricsRequest{}, "uuid of the job is missing"},
	} {
		t.Run(v.name, func(t *testing.T) {
			var err error
			switch m := v.request.(type) {
			case *brainv1.JobMetrics:
				_, err = c.PersistMetrics(t.Context(), connect.NewRequest(m))
			case *brainv1.OptimizeRequest:
				_, err = c.Optimize(t.Context(), connect.NewRequest(m))
			case *brainv1.JobMetricsRequest:
				_, err = c.GetJobMetrics(t.Context(), connect.NewRequest(m))
			}
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), v.want) {
				t.Errorf("error %v, want invalid_argument with %q", err, v.want)
			}
		})
	}
	if jobs := d.jobs.Jobs(); len(jobs) != 0 {
		t.Errorf("%d jobs began", len(jobs))
	}
	res, err := c.GetJobMetrics(t.Context(), connect.NewRequest(&brainv1.JobMetricsRequest{JobUuid: "u-9"}))
	if err != nil || res.Msg.GetResponse().GetSuccess() || !strings.Contains(res.Msg.GetResponse().GetReason(), "no such job") {
		t.Errorf("metrics of an unknown job: %v, error %v", res, err)
	}
}

// TestTooLong: a message above the bound is refused before it is read.
func TestTooLong(t *testing.T) {
	c := newDaemon(t).dial(t)
	m := metrics("u-1", brainv1.MetricsType_Type)
	m.ExtraInfo = strings.Repeat("x", 5<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.PersistMetrics(ctx, connect.NewRequest(m)); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("error %v, want resource_exhausted", err)
	}
}
