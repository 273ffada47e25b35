package elastic

import (
	"math"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

const gibibyte = 1 << 30

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func minutes(n float64) time.Time { return begin.Add(time.Duration(n * float64(time.Minute))) }

func topicOf(algorithm string) model.Topic {
	return model.Topic{Infrastructure: "aws", Framework: "tensorflow", Algorithm: algorithm}
}

// training is a job whose workers are one unit each.
func training(id string) Job {
	return Job{
		ID: id, Topic: topicOf("cnn"), MachineType: "t2.2xlarge", Mode: throughput.Async, Batch: 16, TotalSamples: 1e6,
		Bounds: Bounds{MaxWorkers: 14, MaxServers: 3, MaxPodCPU: 16, MaxPodMemory: 64 * gibibyte},
		Current: Plan{
			Workers: Group{Pod: Resources{CPU: 8, Memory: 8 * gibibyte}},
			Servers: Group{Replicas: 1, Pod: Resources{CPU: 8, Memory: 8 * gibibyte}},
		},
		Submitted: begin,
	}
}

// law of the jobs that tests play: pushes a second.
func law(workers int, knee float64) float64 {
	n := float64(workers)
	return n / math.Sqrt(1+n*n/(knee*knee))
}

func newController(t testing.TB) *Controller {
	t.Helper()
	c, err := New(DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t testing.TB, c *Controller, j Job, k Knowledge) Decision {
	t.Helper()
	d, err := c.Start(begin, j, k, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func observe(t testing.TB, c *Controller, r Report) {
	t.Helper()
	if err := c.Observe(r.Time, r); err != nil {
		t.Fatal(err)
	}
}

func notice(t testing.TB, c *Controller, e Event) {
	t.Helper()
	if err := c.Notice(e.Time, e); err != nil {
		t.Fatal(err)
	}
}

func decide(t testing.TB, c *Controller, minute float64, id string) Decision {
	t.Helper()
	d, err := c.Decide(minutes(minute), id, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// report of a job that runs on its plan.
func report(minute float64, id string, workers int, pushes, samples float64, pods ...PodUsage) Report {
	return Report{Job: id, Time: minutes(minute), Step: int64(samples), Samples: samples, StepsPerSecond: pushes, Workers: workers, Servers: 1, Pods: pods}
}

// play runs a job under the controller for some minutes, from one minute after another,
// and returns its decisions.
func play(t testing.TB, c *Controller, id string, from, to int, speed func(workers int) float64, pods func(minute int, p Plan) []PodUsage) []Decision {
	t.Helper()
	s, err := c.Job(id)
	if err != nil {
		t.Fatal(err)
	}
	plan, samples := s.Plan, 0.
	if s.Last != nil {
		samples = s.Last.Samples
	}
	var out []Decision
	for m := from; m < to; m++ {
		pushes := speed(plan.Workers.Replicas)
		samples += pushes * 60 * 16
		r := report(float64(m), id, plan.Workers.Replicas, pushes, samples)
		r.Servers = plan.Servers.Replicas
		if pods != nil {
			r.Pods = pods(m, plan)
		}
		observe(t, c, r)
		d := decide(t, c, float64(m), id)
		plan = d.Plan
		if d.Changes() {
			out = append(out, d)
		}
	}
	return out
}

// within says what of a plan is out of the job's bounds.
func within(t testing.TB, j Job, p Plan) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	b := j.Bounds.withDefaults(j.Mode)
	if n := p.Workers.Replicas; n < b.MinWorkers || n > b.MaxWorkers || n%b.WorkerMultiple != 0 {
		t.Fatalf("%d workers are out of %d to %d in steps of %d", n, b.MinWorkers, b.MaxWorkers, b.WorkerMultiple)
	}
	if n := p.Servers.Replicas; n < b.MinServers || n > b.MaxServers {
		t.Fatalf("%d servers are out of %d to %d", n, b.MinServers, b.MaxServers)
	}
	pods := []Resources{p.Workers.Pod, p.Servers.Pod}
	for _, r := range p.Pods {
		pods = append(pods, r)
	}
	for _, r := range pods {
		if r.CPU > b.MaxPodCPU || r.Memory > b.MaxPodMemory {
			t.Fatalf("a pod of %+v is above %g cores or %g bytes", r, b.MaxPodCPU, b.MaxPodMemory)
		}
	}
}
