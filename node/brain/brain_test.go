package brain_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/node/brain"
	"github.com/karasu-project/karasu/node/elastic"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
	"github.com/karasu-project/karasu/proto/brain/brainconnect"
	"github.com/karasu-project/karasu/store/private"
)

const gib = 1 << 30

// noon is when tests begin.
var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// memory keeps jobs as a private store does.
type memory struct {
	mu       sync.Mutex
	running  map[string]private.ElasticJob
	finished []private.ElasticJob
}

func (m *memory) PutElasticJobs(_ context.Context, jobs ...private.ElasticJob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range jobs {
		m.running[j.ID] = j
	}
	return nil
}

func (m *memory) FinishElasticJob(_ context.Context, _ time.Time, j private.ElasticJob, _ int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, j.ID)
	m.finished = append(m.finished, j)
	return nil
}

func (m *memory) ElasticJobs(_ context.Context, finished bool) ([]private.ElasticJob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if finished {
		return slices.Clone(m.finished), nil
	}
	return slices.SortedFunc(maps.Values(m.running), func(a, b private.ElasticJob) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// daemon is a Brain with a clock that stands still until it is moved.
type daemon struct {
	store *memory
	brain *brain.Brain
	jobs  *elastic.Service

	mu  sync.Mutex
	now time.Time
}

func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{store: &memory{running: map[string]private.ElasticJob{}}, now: noon}
	d.restart(t)
	return d
}

// restart leaves only what is stored.
func (d *daemon) restart(t testing.TB) {
	t.Helper()
	jobs, err := elastic.New(t.Context(), elastic.Options{Store: d.store, Now: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	d.jobs = jobs
	d.brain = brain.New(brain.Options{Jobs: jobs, Now: d.clock, Alias: func(name string) string {
		sum := sha256.Sum256([]byte(name))
		return hex.EncodeToString(sum[:])
	}})
}

func (d *daemon) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *daemon) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = t
}

// dial serves the daemon on loopback and returns a gRPC client of it.
func (d *daemon) dial(t *testing.T) brainconnect.BrainClient {
	t.Helper()
	s := brain.NewServer("127.0.0.1:0", d.brain)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return brainconnect.NewBrainClient(&http.Client{Transport: transport}, "http://"+s.Addr().String(), connect.WithGRPC())
}

// persist sends metrics that must be taken.
func persist(t *testing.T, c brainconnect.BrainClient, m *brainv1.JobMetrics) {
	t.Helper()
	if _, err := c.PersistMetrics(t.Context(), connect.NewRequest(m)); err != nil {
		t.Fatalf("persist_metrics %s: %v", m.GetMetricsType(), err)
	}
}

// optimize asks for the plan of one job; nil is none.
func optimize(t *testing.T, c brainconnect.BrainClient, m *brainv1.OptimizeRequest) *brainv1.JobOptimizePlan {
	t.Helper()
	res, err := c.Optimize(t.Context(), connect.NewRequest(m))
	if err != nil {
		t.Fatalf("optimize %s: %v", m.GetType(), err)
	}
	if !res.Msg.GetResponse().GetSuccess() {
		t.Fatalf("optimize %s: no success: %s", m.GetType(), res.Msg.GetResponse().GetReason())
	}
	if len(res.Msg.GetJobOptimizePlans()) == 0 {
		return nil
	}
	return res.Msg.GetJobOptimizePlans()[0]
}

func ask(uuid, stage string) *brainv1.OptimizeRequest {
	return &brainv1.OptimizeRequest{Type: stage, Jobs: []*brainv1.OptimizeJobMeta{{Uid: uuid}}}
}

func askOOM(uuid, stage string, pods ...string) *brainv1.OptimizeRequest {
	m := ask(uuid, stage)
	state := &brainv1.JobState{Pods: map[string]*brainv1.PodState{}}
	for _, p := range pods {
		state.Pods[p] = &brainv1.PodState{Name: p, IsOom: true}
	}
	m.Jobs[0].State = state
	return m
}

func metrics(uuid string, kind brainv1.MetricsType) *brainv1.JobMetrics {
	return &brainv1.JobMetrics{JobMeta: &brainv1.JobMeta{Uuid: uuid}, MetricsType: kind}
}

// runtimeOf is a report of so many workers and servers, with their memory in GiB.
func runtimeOf(uuid string, at time.Time, step int64, speed float32, workers, servers int, gibs float64) *brainv1.JobMetrics {
	m := metrics(uuid, brainv1.MetricsType_Runtime_Info)
	m.RuntimeInfo = &brainv1.RuntimeInfo{GlobalStep: step, TimeStamp: at.Unix(), Speed: speed}
	for i := range workers {
		m.RuntimeInfo.RunningPods = append(m.RuntimeInfo.RunningPods, &brainv1.PodMeta{PodName: podName("worker", i), CpuUsage: 6, MemUsage: gibs * gib})
	}
	for i := range servers {
		m.RuntimeInfo.RunningPods = append(m.RuntimeInfo.RunningPods, &brainv1.PodMeta{PodName: podName("ps", i), CpuUsage: 3, MemUsage: gibs * gib})
	}
	return m
}

func podName(role string, i int) string {
	return "ctr-edljob-" + role + "-" + string(rune('0'+i/10)) + string(rune('0'+i%10))
}

// resource is what the job of tests asks for: pods of 8 cores, workers of 16 GiB and
// servers of 32.
func resource(uuid string, workers, servers int) *brainv1.JobMetrics {
	m := metrics(uuid, brainv1.MetricsType_Resource)
	raw, _ := json.Marshal(map[string]any{"node_group_resources": map[string]any{
		"worker": map[string]any{"count": workers, "node_resource": map[string]any{"cpu": 8, "memory": 16384}},
		"ps":     map[string]any{"count": servers, "node_resource": map[string]any{"cpu": 8, "memory": 32768}},
	}})
	m.Resource = string(raw)
	return m
}

// known asks what is known of a job.
func known(t *testing.T, c brainconnect.BrainClient, uuid string) (out struct {
	State   string
	Reports int
	Job     struct {
		Topic struct{ Framework, Algorithm string }
		Batch int
	}
	Plan struct {
		Workers struct{ Replicas int }
	}
}) {
	t.Helper()
	res, err := c.GetJobMetrics(t.Context(), connect.NewRequest(&brainv1.JobMetricsRequest{JobUuid: uuid}))
	if err != nil {
		t.Fatal(err)
	}
	if !res.Msg.GetResponse().GetSuccess() {
		t.Fatalf("get_job_metrics: %s", res.Msg.GetResponse().GetReason())
	}
	if err := json.Unmarshal([]byte(res.Msg.GetJobMetrics()), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestJobGrows: a job that scales is given more workers, within its bounds, also over a
// restart of the daemon in between, and what it ends with tells the next one.
func TestJobGrows(t *testing.T) {
	d := newDaemon(t)
	c := d.dial(t)
	const uuid = "u-1"
	m := metrics(uuid, brainv1.MetricsType_Training_Hyper_Params)
	m.TrainingHyperParams = &brainv1.TrainingHyperParams{BatchSize: 512, MaxSteps: 4_000_000}
	persist(t, c, m)
	m = metrics(uuid, brainv1.MetricsType_Customized_Data)
	m.CustomizedData = `{"init_training_time": 12.5, "nested": [1], "karasu.algorithm": "deepfm", "karasu.max_workers": 9}`
	persist(t, c, m)
	persist(t, c, resource(uuid, 2, 2))

	workers, step, peak := 2, int64(0), 0
	for minute := range 90 {
		now := noon.Add(time.Duration(minute) * time.Minute)
		d.set(now)
		speed := 20 * float64(workers) / (1 + float64(workers)/30)
		step += int64(60 * speed)
		persist(t, c, runtimeOf(uuid, now, step, float32(speed), workers, 2, 6))
		if minute%5 == 4 {
			if p := optimize(t, c, ask(uuid, "job_stage_ps_running")); p != nil && p.GetResource().GetTaskGroupResources()["worker"] != nil {
				t.Errorf("minute %d: a stage of servers is answered with workers: %v", minute, p)
			}
			p := optimize(t, c, ask(uuid, "job_stage_worker_running"))
			workers = int(p.GetResource().GetTaskGroupResources()["worker"].GetCount())
		}
		if peak = max(peak, workers); workers < 1 || workers > 9 {
			t.Fatalf("minute %d: %d workers, want 1 to 9", minute, workers)
		}
		if minute == 45 {
			if peak == 2 {
				t.Fatal("no growth within 45 min")
			}
			d.restart(t)
			c = d.dial(t)
		}
	}
	k := known(t, c, uuid)
	if k.State != "running" || k.Reports != 90 || k.Job.Topic.Algorithm != "deepfm" || k.Job.Batch != 512 || k.Plan.Workers.Replicas != workers {
		t.Errorf("known: %+v, want 90 reports of deepfm on %d workers", k, workers)
	}
	m = metrics(uuid, brainv1.MetricsType_Job_Exit_Reason)
	m.JobExitReason = "Completed"
	persist(t, c, m)
	persist(t, c, m)
	if k := known(t, c, uuid); k.State != "finished" {
		t.Errorf("after its end: %+v", k)
	}

	next := ask("u-2", "job_stage_create")
	alone := optimize(t, c, next).GetResource().GetTaskGroupResources()["worker"].GetCount()
	next.Config = &brainv1.OptimizeConfig{CustomizedConfig: map[string]string{"karasu.algorithm": "deepfm"}}
	next.Jobs[0].Uid = "u-3"
	if got := optimize(t, c, next).GetResource().GetTaskGroupResources()["worker"].GetCount(); got <= alone {
		t.Errorf("the next job of the model starts with %d workers, one of another model with %d", got, alone)
	}
}

// TestLateTwiceOutOfOrder: what comes again or late changes nothing, also after the end.
func TestLateTwiceOutOfOrder(t *testing.T) {
	d := newDaemon(t)
	c := d.dial(t)
	const uuid = "u-1"
	report := func(minute int) *brainv1.JobMetrics {
		return runtimeOf(uuid, noon.Add(time.Duration(minute)*time.Minute), int64(100*minute), 5, 2, 1, 4)
	}
	d.set(noon.Add(5 * time.Minute))
	for _, minute := range []int{1, 3, 3, 2, 1, 4, 3} {
		persist(t, c, report(minute))
	}
	if k := known(t, c, uuid); k.Reports != 3 {
		t.Errorf("%d reports count, want 3", k.Reports)
	}
	end := metrics(uuid, brainv1.MetricsType_Job_Exit_Reason)
	end.JobExitReason = "WorkerOOM"
	persist(t, c, end)
	last, err := d.jobs.Last(uuid)
	if err != nil || len(last.State.Events) != 1 {
		t.Errorf("events %v of the job that ended, error %v; want one", last.State.Events, err)
	}
	persist(t, c, report(5))
	persist(t, c, report(14))
	if k := known(t, c, uuid); k.State != "finished" {
		t.Errorf("late reports began the job again: %+v", k)
	}
	_, err = c.Optimize(t.Context(), connect.NewRequest(ask(uuid, "job_stage_worker_running")))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("plan of a job that has ended: %v", err)
	}
	d.set(noon.Add(20 * time.Minute))
	persist(t, c, report(20))
	if k := known(t, c, uuid); k.State != "running" || k.Reports != 1 {
		t.Errorf("a report long after the end does not begin the job again: %+v", k)
	}
}

// TestOutOfMemory: both roles get more, once for each pod that ran out of it.
func TestOutOfMemory(t *testing.T) {
	c := newDaemon(t).dial(t)
	const uuid = "u-1"
	persist(t, c, resource(uuid, 3, 2))
	worker, server := podName("worker", 0), podName("ps", 1)
	for range 3 {
		r := optimize(t, c, askOOM(uuid, "job_stage_create", worker, server)).GetResource()
		got := []int64{r.GetTaskGroupResources()["worker"].GetResource().GetMemory(), r.GetPodResources()[server].GetMemory(), r.GetTaskGroupResources()["worker"].GetCount()}
		if want := []int64{24 * gib, 48 * gib, 3}; !slices.Equal(got, want) {
			t.Fatalf("memory of worker and server, and workers: %v, want %v", got, want)
		}
	}
	m := askOOM(uuid, "job_stage_ps_initial", "master-of-all")
	m.Jobs[0].State.Pods["master-of-all"].Type = "ps"
	m.Jobs[0].State.Pods["master-of-all"].Resource = &brainv1.PodResource{Memory: 60 * gib}
	if got := optimize(t, c, m).GetResource().GetPodResources()["master-of-all"].GetMemory(); got != 90*gib {
		t.Errorf("memory of a server that ran out of 60 GiB: %d, want 90 GiB", got)
	}
	m = askOOM(uuid, "job_stage_create", podName("evaluator", 0))
	if p := optimize(t, c, m); p.GetResource().GetPodResources()[podName("evaluator", 0)] != nil {
		t.Errorf("an evaluator is planned: %v", p)
	}
}

// TestServersStage: without a change there is no plan of servers, so that the master goes
// on to workers.
func TestServersStage(t *testing.T) {
	c := newDaemon(t).dial(t)
	persist(t, c, resource("u-1", 2, 3))
	if p := optimize(t, c, ask("u-1", "job_stage_ps_initial")); p.GetResource().GetTaskGroupResources()["ps"].GetCount() != 3 {
		t.Errorf("first plan of servers: %v", p)
	}
	if p := optimize(t, c, ask("u-1", "job_stage_ps_running")); p != nil {
		t.Errorf("the same again: %v", p)
	}
	if p := optimize(t, c, ask("u-1", "")); len(p.GetResource().GetTaskGroupResources()) != 2 {
		t.Errorf("whole plan: %v", p)
	}
}

// TestAlgorithmIsNoName: the name of a job is not what its training model is called.
func TestAlgorithmIsNoName(t *testing.T) {
	c := newDaemon(t).dial(t)
	names := map[string]bool{}
	for _, uuid := range []string{"u-1", "u-2"} {
		persist(t, c, runtimeOf(uuid, noon, 1, 1, 1, 1, 1))
		names[known(t, c, uuid).Job.Topic.Algorithm] = true
	}
	if len(names) != 1 {
		t.Errorf("two jobs of one name are of models %v, want one", names)
	}
	for name := range names {
		if strings.Contains(name, "ctr") || !strings.HasPrefix(name, "job-") {
			t.Errorf("model %q tells the name of the job", name)
		}
	}
}

// TestManyDescriptions: descriptions without end do not grow without end.
func TestManyDescriptions(t *testing.T) {
	d := newDaemon(t)
	m := metrics("", brainv1.MetricsType_Type)
	m.Type = "alps"
	known := func(uuid string) bool {
		res, err := d.brain.GetJobMetrics(t.Context(), connect.NewRequest(&brainv1.JobMetricsRequest{JobUuid: uuid}))
		return err == nil && res.Msg.GetResponse().GetSuccess()
	}
	name := func(i int) string { return "u-" + time.Duration(i).String() }
	for i := range 5000 {
		m.JobMeta.Uuid = name(i)
		if _, err := d.brain.PersistMetrics(t.Context(), connect.NewRequest(m)); err != nil {
			t.Fatal(err)
		}
	}
	if known(name(0)) || !known(name(4999)) {
		t.Error("want the oldest description forgotten and the newest kept")
	}
}

// TestOnlyGRPC: pages in a browser speak HTTP/1 and get nowhere.
func TestOnlyGRPC(t *testing.T) {
	d := newDaemon(t)
	s := brain.NewServer("127.0.0.1:0", d.brain)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.WithoutCancel(t.Context())) }()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	res, err := client.Post("http://"+s.Addr().String()+"/brain.Brain/get_job_metrics", "application/json", strings.NewReader(`{"jobUuid":"x"}`))
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode == http.StatusOK {
			t.Error("HTTP/1 is answered")
		}
	}
}

// nan is no speed.
var nan = float32(math.NaN())
