package elastic

import (
	"fmt"
	"math"
	"time"

	"github.com/karasu-project/karasu/model/throughput"
)

// Start plans a job and keeps it. A job whose current plan has workers runs already: it
// keeps them, within its bounds. Cluster bounds what it may take of what is free.
func (c *Controller) Start(now time.Time, j Job, k Knowledge, cluster Cluster) (Decision, error) {
	if err := j.Validate(); err != nil {
		return Decision{}, err
	}
	for _, s := range k.Jobs {
		if err := s.Validate(); err != nil {
			return Decision{}, err
		}
	}
	for _, author := range k.Factors {
		for _, f := range author {
			if err := f.Validate(); err != nil {
				return Decision{}, fmt.Errorf("%w: %w", err, ErrInvalid)
			}
		}
	}
	if !validTime(now) {
		return Decision{}, fmt.Errorf("time is missing or out of range: %w", ErrInvalid)
	}
	j.Current = j.Current.clone()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.prior(j, k)
	s := &running{JobState: JobState{Job: j, Started: now, LastChange: now, Prior: p.weights, History: p.history, Cap: p.cap}}
	if err := c.add(s); err != nil {
		return Decision{}, err
	}
	d := c.draft(now, s)
	d.start(p, c.free(cluster))
	return d.out, nil
}

// start chooses the first plan.
func (d *draft) start(p prior, free Cluster) {
	s, j := d.s, d.s.Job
	d.plan = Plan{Workers: Group{Pod: j.Current.Workers.Pod}, Servers: j.Current.Servers, Pods: j.Current.clone().Pods}
	d.startServers(p)
	memory := d.startMemory(p)
	evidence := []Evidence{{"similar jobs", float64(len(p.jobs)), ""}}
	if j.Current.Workers.Replicas > 0 {
		d.plan.Workers.Replicas = atMost(s.sizes, j.Current.Workers.Replicas)
		d.bound()
		d.decide(Start, fmt.Sprintf("%d workers run already and are kept within the bounds", j.Current.Workers.Replicas), evidence...)
		return
	}
	belief := throughput.Posterior(j.law(), s.Prior, nil)
	ladder := s.rungs()
	best := 0
	for i, u := range ladder.Units {
		e := ladder.Elasticity(&belief, i)
		trial := d.plan
		trial.Workers.Replicas = s.sizes[i]
		fits := (free.CPU == 0 || trial.Cores() <= free.CPU) && (free.Memory == 0 || trial.memory() <= free.Memory)
		if i > 0 && (u > p.most || e < d.policy.StartElasticity || !fits || free.Waiting > 0) {
			break
		}
		best = i
	}
	knee, sd := belief.LogKnee()
	evidence = append(evidence, Evidence{"elasticity of speed at this size", ladder.Elasticity(&belief, best), ""},
		Evidence{"knee", math.Exp(knee), "units"}, Evidence{"knee, standard deviation of the logarithm", sd, ""},
		Evidence{"most units at the start", p.most, "units"})
	if p.cap != nil {
		evidence = append(evidence, Evidence{"cap of one parameter server", math.Exp(p.cap.Log), "pushes/s"})
	}
	d.plan.Workers.Replicas = s.sizes[best]
	d.bound()
	d.decide(Start, fmt.Sprintf("%s to start with, by %s%s", workers(s.sizes[best]), p.history, memory), evidence...)
}

func workers(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}

// startServers takes as many servers as are there, or as similar jobs had.
func (d *draft) startServers(p prior) {
	if !d.s.Job.Mode.Servers() {
		d.plan.Servers = Group{}
		return
	}
	n := d.plan.Servers.Replicas
	if n == 0 && (p.history == fromOwn || p.history == fromPeers) {
		for _, s := range p.jobs {
			n = max(n, s.Servers)
		}
	}
	d.plan.Servers.Replicas = min(max(n, d.bounds.MinServers), d.bounds.MaxServers)
}

// startMemory takes what similar jobs used at most, with a margin, instead of what was
// asked for; other training models say nothing of it. It returns what to say of it.
func (d *draft) startMemory(p prior) string {
	if p.history != fromOwn && p.history != fromPeers {
		return ""
	}
	var worker, server float64
	for _, s := range p.jobs {
		worker, server = max(worker, s.WorkerMemory), max(server, s.ServerMemory)
	}
	if worker > 0 {
		d.plan.Workers.Pod.Memory = d.policy.MemoryStart * worker
	}
	if server > 0 {
		d.plan.Servers.Pod.Memory = d.policy.MemoryStart * server
	}
	if worker == 0 {
		return ""
	}
	return fmt.Sprintf("; %.2f GiB each, as such workers used up to %.2f", d.policy.MemoryStart*worker/gib, worker/gib)
}

// bound keeps pods within what one may have.
func (d *draft) bound() {
	for _, role := range []Role{Worker, Server} {
		pod := &d.plan.group(role).Pod
		pod.CPU, pod.Memory = min(pod.CPU, d.bounds.MaxPodCPU), min(pod.Memory, d.bounds.MaxPodMemory)
	}
	for name, r := range d.plan.Pods {
		d.plan.Pods[name] = Resources{CPU: min(r.CPU, d.bounds.MaxPodCPU), Memory: min(r.Memory, d.bounds.MaxPodMemory)}
	}
}

// law of the job's speed-up.
func (j Job) law() throughput.Law {
	if j.GlobalBatch > 0 {
		return throughput.Kept
	}
	return throughput.Grown
}

// rungs are the job's sizes in units.
func (s *running) rungs() *throughput.Ladder {
	if s.ladder == nil {
		units := make([]float64, len(s.sizes))
		for i, n := range s.sizes {
			units[i] = s.Job.units(n)
		}
		s.ladder = throughput.NewLadder(s.Job.law(), units)
	}
	return s.ladder
}
