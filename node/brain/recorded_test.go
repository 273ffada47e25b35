package brain_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
)

// recordedStart is the time of the first report in testdata, and recordedJob its job.
const (
	recordedStart = 1790000000
	recordedJob   = "5d4a1f0c-6f3e-4a57-9d5e-0f8a5a1c2b3d"
)

// call is one request of DLRover's client, as scripts/dlrover records it.
type call struct {
	Method  string `json:"method"`
	Request []byte `json:"request"`
}

func recorded(t testing.TB) []call {
	t.Helper()
	f, err := os.Open("testdata/client.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []call
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%d requests, error %v", len(out), err)
	}
	return out
}

func read[M proto.Message](t testing.TB, raw []byte, m M) M {
	t.Helper()
	if err := proto.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("fields that the schema does not have: %x", m.ProtoReflect().GetUnknown())
	}
	return m
}

// TestRecordedClient: what DLRover's own client sent for a job from its start to its end is
// answered as its master needs it.
func TestRecordedClient(t *testing.T) {
	d := newDaemon(t)
	d.set(time.Unix(recordedStart, 0).Add(6 * time.Minute))
	c := d.dial(t)
	type groups struct {
		stage                  string
		workers, servers       int64
		workerGiB, singlePodGB int64
	}
	var plans []groups
	var states []string
	for _, v := range recorded(t) {
		switch v.Method {
		case methods[0]:
			persist(t, c, read(t, v.Request, &brainv1.JobMetrics{}))
		case methods[1]:
			m := read(t, v.Request, &brainv1.OptimizeRequest{})
			r := optimize(t, c, m).GetResource()
			g := groups{stage: m.GetType(), workers: r.GetTaskGroupResources()["worker"].GetCount(), servers: r.GetTaskGroupResources()["ps"].GetCount()}
			g.workerGiB = r.GetTaskGroupResources()["worker"].GetResource().GetMemory() / gib
			g.singlePodGB = r.GetPodResources()["ctr-daily-edljob-ps-0"].GetMemory() / gib
			plans = append(plans, g)
		case methods[2]:
			m := read(t, v.Request, &brainv1.JobMetricsRequest{})
			if m.GetJobUuid() != recordedJob {
				t.Errorf("job %q", m.GetJobUuid())
			}
			states = append(states, known(t, c, m.GetJobUuid()).State)
		default:
			t.Fatalf("method %s", v.Method)
		}
	}
	want := []groups{
		{"job_stage_create", 1, 1, 0, 0}, // nothing is known: sizes are the user's
		{"job_stage_worker_initial", 4, 0, 16, 0},
		{"job_stage_ps_running", 0, 2, 0, 0},
		{"job_stage_worker_running", 4, 0, 16, 0},
		{"job_stage_create", 4, 2, 24, 0},      // a worker ran out of 16 GiB
		{"job_stage_ps_initial", 4, 2, 24, 48}, // a server ran out of 32
	}
	if len(plans) != len(want) {
		t.Fatalf("%d plans, want %d: %+v", len(plans), len(want), plans)
	}
	for i := range want {
		if plans[i] != want[i] {
			t.Errorf("plan %d: %+v, want %+v", i+1, plans[i], want[i])
		}
	}
	if len(states) != 2 || states[0] != "running" || states[1] != "finished" {
		t.Errorf("states %q", states)
	}
	last, err := d.jobs.Last(recordedJob)
	if err != nil {
		t.Fatal(err)
	}
	if s := last.State; s.Reports != 6 || s.Job.Batch != 512 || s.Job.TotalSteps != 200_000 || s.Job.Topic.Algorithm != "deepfm" || s.Job.Mode != optimizer.Async {
		t.Errorf("job as it was kept: %+v with %d reports", s.Job, s.Reports)
	}
}

// methods that a request may be for.
var methods = []string{"/brain.Brain/persist_metrics", "/brain.Brain/optimize", "/brain.Brain/get_job_metrics"}

// FuzzRequests: whatever comes in between the requests of a job, answers are in the bounds
// of plans, nothing fails inside, and what is stored can be gone on from.
func FuzzRequests(f *testing.F) {
	calls := recorded(f)
	for i, c := range calls {
		f.Add(uint8(i), uint8(slices.Index(methods, c.Method)), c.Request)
	}
	f.Fuzz(func(t *testing.T, before, method uint8, raw []byte) {
		d := newDaemon(t)
		d.set(time.Unix(recordedStart, 0).Add(6 * time.Minute))
		for _, c := range calls[:int(before)%(len(calls)+1)] {
			if err := d.handle(t, c.Method, c.Request); err != nil {
				t.Fatal(err)
			}
		}
		err := d.handle(t, methods[int(method)%len(methods)], raw)
		if code := connect.CodeOf(err); err != nil && (code == connect.CodeInternal || code == connect.CodeUnknown) {
			t.Errorf("fails inside: %v", err)
		}
		d.restart(t)
	})
}

// handle answers a request without a network. Bytes that are no message are refused, as a
// server does.
func (d *daemon) handle(t *testing.T, method string, raw []byte) error {
	t.Helper()
	switch method {
	case methods[0]:
		m := &brainv1.JobMetrics{}
		if err := proto.Unmarshal(raw, m); err != nil {
			return connect.NewError(connect.CodeInvalidArgument, err)
		}
		_, err := d.brain.PersistMetrics(t.Context(), connect.NewRequest(m))
		return err
	case methods[1]:
		m := &brainv1.OptimizeRequest{}
		if err := proto.Unmarshal(raw, m); err != nil {
			return connect.NewError(connect.CodeInvalidArgument, err)
		}
		res, err := d.brain.Optimize(t.Context(), connect.NewRequest(m))
		if err == nil {
			bounded(t, res.Msg)
		}
		return err
	}
	m := &brainv1.JobMetricsRequest{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	res, err := d.brain.GetJobMetrics(t.Context(), connect.NewRequest(m))
	if err == nil && res.Msg.GetResponse().GetSuccess() && !json.Valid([]byte(res.Msg.GetJobMetrics())) {
		t.Errorf("metrics are no JSON: %q", res.Msg.GetJobMetrics())
	}
	return err
}

func bounded(t *testing.T, m *brainv1.OptimizeResponse) {
	t.Helper()
	for _, p := range m.GetJobOptimizePlans() {
		pods := p.GetResource().GetPodResources()
		for role, g := range p.GetResource().GetTaskGroupResources() {
			if g.GetCount() < 0 || g.GetCount() > optimizer.MaxReplicas || role == "worker" && g.GetCount() == 0 {
				t.Errorf("%d pods of %s", g.GetCount(), role)
			}
			pods[role] = g.GetResource()
		}
		for name, r := range pods {
			if !(r.GetCpu() >= 0 && r.GetCpu() <= optimizer.MaxCores) || r.GetMemory() < 0 || r.GetMemory() > optimizer.MaxBytes {
				t.Errorf("pod %s: %g cores, %d bytes", name, r.GetCpu(), r.GetMemory())
			}
		}
	}
}
