package simulator

import (
	"math"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

// controlled is package elastic at work, with what it knows of other jobs.
type controlled struct {
	controller *elastic.Controller
	knowledge  func(*truth) elastic.Knowledge
	byID       map[string]*active
}

// epoch of the simulation's clock.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func newControlled(knowledge func(*truth) elastic.Knowledge) (*controlled, error) {
	c, err := elastic.New(elastic.DefaultPolicy())
	if err != nil {
		return nil, err
	}
	return &controlled{controller: c, knowledge: knowledge, byID: map[string]*active{}}, nil
}

// topic of a network.
func topic(network string) model.Topic {
	return model.Topic{Infrastructure: "aws", Framework: "tensorflow", Algorithm: network}
}

// describe the job as its owner would.
func (j *job) describe() elastic.Job {
	t := j.truth
	cores := float64(t.Cores)
	return elastic.Job{
		ID: j.id, Topic: topic(t.Network), MachineType: t.MachineType, Mode: t.Mode, Batch: t.Batch,
		TotalSamples: j.pushes * float64(t.Batch),
		Bounds:       elastic.Bounds{MinWorkers: t.workers(1), MaxWorkers: t.workers(maxUnits), WorkerMultiple: t.workers(1), MaxServers: 1},
		Current: elastic.Plan{
			Workers: elastic.Group{Pod: elastic.Resources{CPU: cores, Memory: j.memoryAsked}},
			Servers: elastic.Group{Replicas: 1, Pod: elastic.Resources{CPU: cores}},
		},
	}
}

// cluster as the controller sees it: parameter servers have machines of their own.
func (c *controlled) cluster(w *world, more float64) elastic.Cluster {
	cores := coresPerUnit*float64(w.units) + more
	for _, a := range w.running {
		s, err := c.controller.Job(a.id)
		if err == nil {
			cores += s.Plan.Cores() - float64(s.Plan.Workers.Replicas)*s.Plan.Workers.Pod.CPU
		}
	}
	return elastic.Cluster{CPU: cores}
}

func (c *controlled) start(w *world, a *active) (int, float64, bool) {
	if w.free() < minUnits {
		return 0, 0, false
	}
	j := a.describe()
	cluster := c.cluster(w, j.Current.Servers.Pod.CPU)
	cluster.Waiting = len(w.queue) - 1
	d, err := c.controller.Start(at(w.now), j, c.knowledge(a.truth), cluster)
	if err != nil {
		w.fail(err)
		return 0, 0, false
	}
	c.byID[a.id] = a
	return d.Plan.Workers.Replicas / a.truth.workers(1), d.Plan.Workers.Pod.Memory, true
}

func (c *controlled) observe(w *world, a *active) {
	units := a.units
	if a.returned > w.now {
		units -= a.evicted
	}
	r := elastic.Report{
		Job: a.id, Time: at(w.now + tick), Samples: a.pushed * float64(a.truth.Batch), Step: int64(a.pushed),
		Seconds: a.ran, Workers: a.truth.workers(units), Servers: 1,
	}
	use := 0.
	if a.ran > 0 {
		r.StepsPerSecond = a.speed
		if a.truth.Mode != elastic.Async {
			r.StepsPerSecond /= float64(r.Workers)
		}
		use = serverBusy * min(a.speed/a.truth.most, 1)
		if a.hotNow && !a.hotFixed {
			use = hotBusy
		}
	}
	cores := float64(a.truth.Cores)
	r.Pods = []elastic.PodUsage{
		{Name: "worker-0", Role: elastic.Worker, Memory: a.used, MemoryLimit: a.memory},
		{Name: "ps-0", Role: elastic.Server, CPU: use * cores, CPULimit: cores},
	}
	if err := c.controller.Observe(at(w.now+tick), r); err != nil {
		w.fail(err)
	}
	if a.nextEviction > 0 && a.evictions[a.nextEviction-1] > w.now-a.started-tick {
		// An event that was taken already is no error here: it is told every tick.
		_ = c.controller.Notice(at(w.now+tick), elastic.Event{Job: a.id, Time: at(a.started + a.evictions[a.nextEviction-1]), Kind: elastic.Evicted, Role: elastic.Worker})
	}
}

func (c *controlled) decide(w *world) {
	cluster := c.cluster(w, 0)
	cluster.Waiting = len(w.queue)
	decisions, err := c.controller.Allocate(at(w.now), cluster)
	if err != nil {
		w.fail(err)
	}
	for _, d := range decisions {
		a := c.byID[d.Job]
		switch d.Kind {
		case elastic.Grow, elastic.Shrink, elastic.AskLess:
			w.resize(a, d.Plan.Workers.Replicas/a.truth.workers(1))
		case elastic.Memory:
			a.memory = d.Plan.Workers.Pod.Memory
		case elastic.HotServer:
			a.hotFixed = true
		}
	}
}

func (c *controlled) outOfMemory(w *world, a *active) (float64, bool) {
	end := at(w.now + tick)
	e := elastic.Event{Job: a.id, Time: end, Kind: elastic.OutOfMemory, Role: elastic.Worker, Pod: "worker-0", Memory: a.memory}
	if err := c.controller.Notice(end, e); err != nil {
		w.fail(err)
	}
	d, err := c.controller.Decide(end, a.id, c.cluster(w, 0))
	if err != nil {
		w.fail(err)
	}
	return d.Plan.Workers.Pod.Memory, d.Kind == elastic.Memory
}

func (c *controlled) done(w *world, a *active) {
	delete(c.byID, a.id)
	if _, err := c.controller.Finish(a.id); err != nil {
		w.fail(err)
	}
}

// summarise is the summary that a job on a curve would have left, had it been at these
// units for half an hour each.
func summarise(t *truth, own bool) elastic.Summary {
	var points []throughput.Point
	for _, u := range []int{1, 2, 4, 6} {
		points = append(points, throughput.Measured(float64(u), math.Log(t.pushes[u]), 30))
	}
	b := throughput.Posterior(throughput.Grown, throughput.Uniform(), points)
	knee, sd := b.LogKnee()
	s := elastic.Summary{
		Own: own, Topic: topic(t.Network), MachineType: t.MachineType, Mode: t.Mode, Batch: t.Batch, WorkerCores: float64(t.Cores),
		Knee: math.Exp(knee), KneeSD: sd, WorkerMemory: memoryBase(t.Network), Workers: t.workers(6), Servers: 1, Reports: 120,
	}
	if log, sd, ok := b.LogCap(); ok {
		s.Cap, s.CapSD = math.Exp(log), sd
	}
	return s
}
