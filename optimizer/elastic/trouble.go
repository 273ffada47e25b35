package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// trouble looks for what cannot wait: memory that ran out, pods that do not start, hot
// servers, stragglers, memory that will run out. It says whether it decided.
func (d *draft) trouble() bool {
	for _, role := range []Role{Worker, Server} {
		if d.repairMemory(role) {
			return true
		}
	}
	if d.askLess() || d.hotServer() || d.replaceStragglers() {
		return true
	}
	for _, role := range []Role{Worker, Server} {
		if d.foreseeMemory(role) {
			return true
		}
	}
	return false
}

// askLess lowers the plan to what runs where pods do not start for want of room.
func (d *draft) askLess() bool {
	s := d.s
	if s.Pending.IsZero() || d.now.Sub(s.Pending) < d.policy.PendingAfter {
		return false
	}
	waited, run := d.now.Sub(s.Pending), 0
	if s.Last != nil {
		run = s.Last.Workers
	}
	s.Pending = time.Time{}
	have := atMost(s.sizes, run)
	s.Ceiling, s.CeilingUntil = have, d.now.Add(d.policy.PendingFor)
	if have >= s.Plan.Workers.Replicas {
		d.none("pods wait for room since %s, and the plan asks for no more than what runs or must", round(waited))
		return true
	}
	d.resize(AskLess, have, fmt.Sprintf("pods wait for room since %s: the plan asks for %s, as %d run", round(waited), workers(have), run),
		Evidence{"workers that run", float64(run), ""}, Evidence{"workers planned", float64(s.Plan.Workers.Replicas), ""},
		Evidence{"waited", waited.Seconds(), "s"})
	return true
}

// hotServer gives a server that is busier than the others more cores, or adds one where
// it has as many as it may, or where all are busy and hold the workers up.
func (d *draft) hotServer() bool {
	s := d.s
	var hot []Suspect
	for _, h := range s.Hot {
		if h.Times >= d.policy.HotReports {
			hot = append(hot, h)
		}
	}
	if len(hot) == 0 {
		return false
	}
	s.Hot = nil // it takes as many new reports to say so again
	worst := slices.MaxFunc(hot, func(a, b Suspect) int { return cmp.Compare(a.Value, b.Value) })
	evidence := []Evidence{{"share of its cores used by " + worst.Pod, worst.Value, ""}, {"hot servers", float64(len(hot)), ""},
		{"reports in a row", float64(worst.Times), ""}}
	if d.moreCores(hot, worst, evidence) {
		return true
	}
	if have := s.Plan.Servers.Replicas; have > 0 && have < d.bounds.MaxServers {
		d.plan.Servers.Replicas++
		s.forgetSpeeds()
		d.decide(HotServer, fmt.Sprintf("%d of %d parameter servers are hot and have as many cores as they may: one more shares the parameters", len(hot), have), evidence...)
		return true
	}
	d.none("%d parameter servers are hot and the plan is at its bounds: raise max_servers or max_pod_cpu", len(hot))
	return true
}

// moreCores raises the hot servers' cores, those of all where all are hot.
func (d *draft) moreCores(hot []Suspect, worst Suspect, evidence []Evidence) bool {
	s := d.s
	base := s.Plan.Servers.Pod
	if base.CPU == 0 {
		return false // nobody bounds them
	}
	if len(hot) >= max(s.Plan.Servers.Replicas, 1) {
		target := min(base.CPU*d.policy.HotFactor, d.bounds.MaxPodCPU)
		if target <= base.CPU {
			return false
		}
		d.plan.Servers.Pod.CPU = target
		s.forgetSpeeds()
		d.decide(HotServer, fmt.Sprintf("all parameter servers are hot: they get %.1f cores instead of %.1f", target, base.CPU), evidence...)
		return true
	}
	raised := false
	for _, h := range hot {
		r, ok := d.plan.Pods[h.Pod]
		if !ok || r.CPU == 0 {
			r.CPU = base.CPU
		}
		if target := min(r.CPU*d.policy.HotFactor, d.bounds.MaxPodCPU); target > r.CPU && (ok || len(d.plan.Pods) < MaxReplicas) {
			if d.plan.Pods == nil {
				d.plan.Pods = map[string]Resources{}
			}
			r.CPU, raised = target, true
			d.plan.Pods[h.Pod] = r
		}
	}
	if !raised {
		return false
	}
	s.forgetSpeeds()
	d.decide(HotServer, fmt.Sprintf("parameter server %s is hot and others are not: it gets %.1f cores", worst.Pod, d.plan.Pods[worst.Pod].CPU), evidence...)
	return true
}

// forgetSpeeds that were measured while servers held the workers up.
func (s *running) forgetSpeeds() { s.Speeds, s.believed = nil, 0 }

// maxReplacements of one pod: elsewhere is no better then.
const maxReplacements = 2

// replaceStragglers starts slow workers again elsewhere.
func (d *draft) replaceStragglers() bool {
	s := d.s
	var slow []string
	var evidence []Evidence
	for _, v := range s.Slow {
		if v.Times < d.policy.StragglerReports {
			continue
		}
		i := slices.IndexFunc(s.Replaced, func(r Suspect) bool { return r.Pod == v.Pod })
		switch {
		case i >= 0 && s.Replaced[i].Times >= maxReplacements, i < 0 && len(s.Replaced) >= maxReplaced:
			continue
		case i >= 0:
			s.Replaced[i].Times++
		default:
			s.Replaced = append(s.Replaced, Suspect{Pod: v.Pod, Times: 1})
		}
		slow = append(slow, v.Pod)
		evidence = append(evidence, Evidence{"step of " + v.Pod + " beside the median", v.Value, ""})
	}
	if len(slow) == 0 {
		return false
	}
	s.Slow = nil
	d.plan.Replace = slow
	d.decide(Replace, fmt.Sprintf("%d of %d workers are stragglers: they start again elsewhere", len(slow), s.Last.Workers), evidence...)
	return true
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
