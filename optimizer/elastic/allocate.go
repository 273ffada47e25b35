package elastic

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"
)

// Decide decides for one job as [Controller.Allocate] does for all.
func (c *Controller) Decide(now time.Time, id string, cluster Cluster) (Decision, error) {
	if err := cluster.Validate(); err != nil {
		return Decision{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(id)
	if err != nil {
		return Decision{}, err
	}
	// The others keep what they have.
	rest := c.free(cluster)
	if rest.CPU > 0 {
		rest.CPU += s.cores(s.Plan.Workers.Replicas) + s.serverCores()
	}
	if rest.Memory > 0 {
		rest.Memory += s.Plan.memory()
	}
	return c.allocate(now, []*running{s}, rest)[0], nil
}

// Allocate decides for all jobs of a cluster together, one decision a job by ID: first
// what cannot wait, then sizes, where the cluster's cores go to the jobs that gain most
// by them.
func (c *Controller) Allocate(now time.Time, cluster Cluster) ([]Decision, error) {
	if err := cluster.Validate(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allocate(now, c.ordered(), cluster), nil
}

// Validate says which field cannot be.
func (c Cluster) Validate() error {
	if !(c.CPU >= 0 && c.CPU <= math.MaxInt32 && c.Memory >= 0) || math.IsInf(c.Memory, 0) || c.Waiting < 0 {
		return fmt.Errorf("cluster: cores %g, memory %g and waiting jobs %d must not be negative: %w", c.CPU, c.Memory, c.Waiting, ErrInvalid)
	}
	return nil
}

// full is a limit with nothing left: 0 would be no limit.
const full = 1e-9

// free is what the plans of all jobs leave of the cluster.
func (c *Controller) free(cluster Cluster) Cluster {
	cpu, memory := cluster.CPU, cluster.Memory
	for _, s := range c.ordered() {
		cpu -= s.cores(s.Plan.Workers.Replicas) + s.serverCores()
		memory -= s.Plan.memory()
	}
	if cluster.CPU > 0 {
		cluster.CPU = max(cpu, full)
	}
	if cluster.Memory > 0 {
		cluster.Memory = max(memory, full)
	}
	return cluster
}

// memory of all pods, as far as known.
func (p Plan) memory() float64 {
	return float64(p.Workers.Replicas)*p.Workers.Pod.Memory + float64(p.Servers.Replicas)*p.Servers.Pod.Memory
}

// candidate is a job whose size is considered.
type candidate struct {
	s      *running
	at     int // its rung now
	target int // the rung that the joint allocation gives it
	// next is what one more rung gains, by which jobs queue.
	next float64
	// weight is of a gain: less for jobs with much left, so that short ones end soon.
	weight float64
	base   float64 // log speed at one unit
}

// allocate decides for some jobs on a cluster that is theirs.
func (c *Controller) allocate(now time.Time, jobs []*running, cluster Cluster) []Decision {
	out := make([]Decision, len(jobs))
	drafts := make([]*draft, len(jobs))
	var candidates []*candidate
	for i, s := range jobs {
		drafts[i] = c.draft(now, s)
		candidates = append(candidates, newCandidate(now, s))
	}
	c.share(candidates, cluster)
	// Growing takes only what is free now: what others give back comes later.
	free := Cluster{CPU: math.Inf(1), Memory: math.Inf(1)}
	if cluster.CPU > 0 {
		free.CPU = cluster.CPU
	}
	if cluster.Memory > 0 {
		free.Memory = cluster.Memory
	}
	for _, s := range jobs {
		free.CPU -= s.cores(s.Plan.Workers.Replicas) + s.serverCores()
		free.Memory -= s.Plan.memory()
	}
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(candidates[b].first(), candidates[a].first())
	})
	for _, i := range order {
		d := drafts[i]
		cpu, memory := jobs[i].cores(jobs[i].Plan.Workers.Replicas)+jobs[i].serverCores(), jobs[i].Plan.memory()
		if !d.trouble() {
			d.size(candidates[i], free, cluster.Waiting)
		}
		out[i] = d.out
		if d.out.Kind != Shrink && d.out.Kind != AskLess {
			free.CPU -= jobs[i].cores(jobs[i].Plan.Workers.Replicas) + jobs[i].serverCores() - cpu
			free.Memory -= jobs[i].Plan.memory() - memory
		}
	}
	return out
}

// leastLeft is the least time left that a job is weighed by: the last minutes of a job
// are no reason to prefer it.
const leastLeft = 600.

func newCandidate(now time.Time, s *running) *candidate {
	c := &candidate{s: s, at: s.rung()}
	one := 0
	for i, u := range s.rungs().Units {
		if u <= 1 {
			one = i
		}
	}
	left, _ := s.secondsLeft(now, one)
	c.weight = 1 / math.Sqrt(max(left, leastLeft))
	c.base = s.log(one)
	c.target = one
	return c
}

// gain of going from one rung to the next, a unit, weighed.
func (c *candidate) gain(from int) float64 {
	s := c.s
	ladder := s.rungs()
	if from+1 >= len(ladder.Units) {
		return 0
	}
	speed := math.Exp(s.log(from+1)-c.base) - math.Exp(s.log(from)-c.base)
	return c.weight * speed / (ladder.Units[from+1] - ladder.Units[from])
}

// first is the gain of growing from the size now.
func (c *candidate) first() float64 { return c.gain(c.at) }

// grows says whether the target may go up a rung at all.
func (c *candidate) grows(p Policy) bool {
	s := c.s
	ladder := s.rungs()
	next := c.target + 1
	return next < len(ladder.Units) && ladder.Elasticity(s.posterior(), c.target) >= p.Kappa &&
		(ladder.Units[next] <= p.Reach*s.largest() || next <= c.at)
}

// share gives every job the size of one unit and then the largest gain the next rung,
// until the cores are given away. Jobs that wait get a unit, too.
func (c *Controller) share(candidates []*candidate, cluster Cluster) {
	left := math.Inf(1)
	if cluster.CPU > 0 {
		left = cluster.CPU - float64(cluster.Waiting)*UnitCores
		for _, x := range candidates {
			left -= x.s.cores(x.s.sizes[x.target]) + x.s.serverCores()
		}
	}
	var queue gains
	for _, x := range candidates {
		if x.next = x.gain(x.target); x.next > 0 && x.grows(c.policy) {
			queue = append(queue, x)
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		x := queue[0]
		cost := x.s.cores(x.s.sizes[x.target+1] - x.s.sizes[x.target])
		if cost > left {
			heap.Pop(&queue)
			continue
		}
		left -= cost
		x.target++
		if x.next = x.gain(x.target); x.next > 0 && x.grows(c.policy) {
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
}

// gains is a heap by what the next rung gains; ties by the job's ID.
type gains []*candidate

func (g gains) Len() int { return len(g) }
func (g gains) Less(i, j int) bool {
	if g[i].next != g[j].next {
		return g[i].next > g[j].next
	}
	return g[i].s.Job.ID < g[j].s.Job.ID
}
func (g gains) Swap(i, j int) { g[i], g[j] = g[j], g[i] }
func (g *gains) Push(x any)   { *g = append(*g, x.(*candidate)) }
func (g *gains) Pop() any {
	old := *g
	x := old[len(old)-1]
	*g = old[:len(old)-1]
	return x
}
