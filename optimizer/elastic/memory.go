package elastic

import (
	"fmt"
	"time"
)

// Bounds of memory predictions.
const (
	// farAhead and least are how far a line is extrapolated: to so many times the progress,
	// or this share of the job.
	farAhead = 3
	leastFar = .15
	// minUses before memory is changed without need.
	minUses = 4
	// nearlyFull of its limit is a pod that cannot wait for the next interval.
	nearlyFull = .95
	// raiseSlack is how far the target must be above the limit before it is raised: so the
	// margin may shrink a little, and memory does not change for nothing.
	raiseSlack = .05
	// aboveFloor is what a pod gets at least, times a limit that did not suffice.
	aboveFloor = 1.2
	gib        = 1 << 30
)

// outOfMemory marks a role for repair, unless its plan gives more already than what did
// not suffice.
func (s *running) outOfMemory(e Event) {
	m, limit := s.memory(e.Role), s.Plan.group(e.Role).Pod.Memory
	switch {
	case e.Memory > 0 && limit > e.Memory*1.01:
		m.Floor = max(m.Floor, e.Memory)
		return
	case e.Memory == 0 && e.Time.Before(m.Changed):
		return
	}
	m.Floor = max(m.Floor, e.Memory, limit)
	m.Exceeded = true
}

// group of a role.
func (p *Plan) group(r Role) *Group {
	if r == Server {
		return &p.Servers
	}
	return &p.Workers
}

// repairMemory raises the memory of a role that ran out of it.
func (d *draft) repairMemory(role Role) bool {
	s := d.s
	m := s.memory(role)
	if !m.Exceeded {
		return false
	}
	m.Exceeded = false // whatever follows: the same event is no reason twice
	limit := max(s.Plan.group(role).Pod.Memory, m.Floor)
	need, growth := s.need(role)
	target := min(max(d.policy.MemoryAfter*limit, d.policy.MemoryMargin*need), d.bounds.MaxPodMemory)
	if target == 0 {
		d.none("a %s ran out of memory, but neither its limit nor its use is known: report them", role.name())
		return true
	}
	if target <= limit {
		d.none("a %s ran out of %.2f GiB and the plan is at its bound: raise max_pod_memory or let the job use less", role.name(), limit/gib)
		return true
	}
	d.setMemory(role, target)
	d.decide(Memory, fmt.Sprintf("a %s ran out of %.2f GiB: it gets %.2f", role.name(), limit/gib, target/gib),
		Evidence{"limit exceeded", limit, "bytes"}, Evidence{"most used", m.Use.Most, "bytes"},
		Evidence{"predicted need", need, "bytes"}, Evidence{"growth", growth, d.s.growthUnit()})
	return true
}

// foreseeMemory changes memory before it runs out, or where much is left over.
func (d *draft) foreseeMemory(role Role) bool {
	s := d.s
	m, limit := s.memory(role), s.Plan.group(role).Pod.Memory
	if limit == 0 || m.Use.N < minUses {
		return false // nobody bounds it, or too little is known
	}
	need, growth := s.need(role)
	target := min(max(d.policy.MemoryMargin*need, aboveFloor*m.Floor), d.bounds.MaxPodMemory)
	waited := d.now.Sub(m.Changed) >= d.policy.MemoryEvery
	switch {
	case target > (1+raiseSlack)*limit && (waited || m.Use.Most >= nearlyFull*limit):
	case target < d.policy.MemorySlack*limit && waited:
	default:
		return false
	}
	reason := fmt.Sprintf("%ss will need %.2f GiB and have %.2f: they get %.2f", role.name(), need/gib, limit/gib, target/gib)
	evidence := []Evidence{{"limit", limit, "bytes"}, {"most used", m.Use.Most, "bytes"},
		{"predicted need", need, "bytes"}, {"growth", growth, s.growthUnit()}}
	if at, ok := m.Use.RunsOut(limit); ok && need > limit {
		evidence = append(evidence, Evidence{"runs out at", at, s.progressUnit()})
	}
	d.setMemory(role, target)
	d.decide(Memory, reason, evidence...)
	return true
}

// need predicts the memory that pods of a role use within the next stretch of the job, and
// by how much it grows.
func (s *running) need(role Role) (bytes, growth float64) {
	m := s.memory(role)
	if m.Use.N == 0 {
		return 0, 0
	}
	x, known := s.Last.progressOf(s)
	ahead := farAhead * x
	if known {
		ahead = min(1, max(ahead, leastFar))
	}
	bytes, _ = m.Use.At(ahead)
	return bytes, m.Use.Growth()
}

// progressOf is the share of the job that is done, or its steps.
func (r *Report) progressOf(s *running) (x float64, share bool) {
	if x, ok := s.progress(*r); ok {
		return x, true
	}
	return float64(r.Step), false
}

func (s *running) growthUnit() string {
	if s.progressUnit() == "" {
		return "bytes over the job"
	}
	return "bytes a step"
}

func (s *running) progressUnit() string {
	if s.Job.TotalSteps > 0 || s.Job.TotalSamples > 0 {
		return ""
	}
	return "steps"
}

func (d *draft) setMemory(role Role, bytes float64) {
	d.plan.group(role).Pod.Memory = bytes
	for name, r := range d.plan.Pods { // single pods of servers keep up with their group
		if role == Server && r.Memory > 0 && r.Memory < bytes {
			r.Memory = bytes
			d.plan.Pods[name] = r
		}
	}
	d.s.memory(role).Changed = d.now
}

func (r Role) name() string {
	if r == Server {
		return "parameter server"
	}
	return "worker"
}

// since is how long ago a time was that is zero if it never was.
func since(now, t time.Time) time.Duration {
	if t.IsZero() {
		return 1 << 62
	}
	return now.Sub(t)
}
