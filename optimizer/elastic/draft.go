package elastic

import (
	"fmt"
	"time"
)

// draft is a decision about one job in the making.
type draft struct {
	policy Policy
	now    time.Time
	s      *running
	bounds Bounds
	plan   Plan
	out    Decision
}

func (c *Controller) draft(now time.Time, s *running) *draft {
	plan := s.Plan.clone()
	plan.Replace = nil // was for once
	return &draft{policy: c.policy, now: now, s: s, bounds: s.Job.Bounds.withDefaults(s.Job.Mode), plan: plan}
}

// decide ends the draft with a change.
func (d *draft) decide(k Kind, reason string, evidence ...Evidence) {
	s := d.s
	s.Number++
	d.out = Decision{Job: s.Job.ID, Number: s.Number, Time: d.now, Kind: k, Plan: d.plan, Before: s.Plan, Reason: reason, Evidence: finite(evidence)}
	s.Plan = d.plan.clone()
	if len(s.Decisions) >= maxDecisions {
		s.Decisions = append(s.Decisions[:0:0], s.Decisions[1:]...)
	}
	s.Decisions = append(s.Decisions, d.out)
	s.LastDecision = d.out
}

// none ends the draft without a change.
func (d *draft) none(format string, args ...any) {
	s := d.s
	s.Plan = d.plan
	d.out = Decision{Job: s.Job.ID, Number: s.Number, Time: d.now, Kind: None, Plan: s.Plan.clone(), Before: s.Plan.clone(), Reason: fmt.Sprintf(format, args...)}
	s.LastDecision = d.out
}

// finite leaves out figures that are none.
func finite(in []Evidence) []Evidence {
	var out []Evidence
	for _, e := range in {
		if e.Value-e.Value == 0 { // neither NaN nor infinite
			out = append(out, e)
		}
	}
	return out
}
