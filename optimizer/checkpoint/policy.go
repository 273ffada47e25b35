package checkpoint

import (
	"cmp"
	"slices"
)

// Step says that from Ready on a failed job goes on at a point of its time.
type Step struct {
	Ready, RestartSeconds float64
}

// Policy is what is persisted when, as steps in order of readiness, and what it writes.
type Policy struct {
	Steps []Step
	// FirstSeconds is the point of a job that starts over.
	FirstSeconds float64
	// WriteSeconds is how much longer a run without failure takes.
	WriteSeconds float64
}

// Steps is the plan as a policy.
func (p Plan) Steps() Policy {
	out := Policy{WriteSeconds: p.WriteSeconds, FirstSeconds: p.FirstSeconds}
	width := 0.0
	if p.WriteSeconds > 0 {
		width = p.DurableBytes / p.WriteSeconds
	}
	for _, c := range p.Cuts {
		ready := c.Seconds
		if width > 0 {
			ready += c.DurableBytes / width
		}
		out.Steps = append(out.Steps, Step{ready, c.RestartSeconds})
	}
	return out
}

// Everything persists each output as soon as the stage ends. Errors: ErrOption for the
// problem's bandwidth, which alone counts with how jobs start again.
func Everything(g *Graph, pr Problem) (Policy, error) {
	width, err := bandwidth(pr.Bandwidth)
	if err != nil {
		return Policy{}, err
	}
	var p Policy
	ready := make([]float64, g.Len())
	order := make([]int32, g.Len())
	for i, s := range g.stages {
		order[i] = int32(i)
		ready[i] = s.End
		if len(g.children(i)) > 0 {
			ready[i] += s.Bytes / width
			p.WriteSeconds += s.Bytes / width
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ready[a], ready[b]) })
	done := make([]bool, g.Len())
	r := g.resume(pr.Packed)
	p.FirstSeconds = r.first
	runs := make([]int32, g.Len())
	copy(runs, order)
	slices.SortStableFunc(runs, func(a, b int32) int { return cmp.Compare(r.start[a], r.start[b]) })
	next := 0 // in order of starts, the first that is not done
	for _, i := range order {
		done[i] = true
		for next < len(runs) && done[runs[next]] {
			next++
		}
		if next == len(runs) || ready[i] >= g.end {
			break
		}
		p.add(Step{ready[i], r.start[runs[next]]})
	}
	return p, nil
}

// Largest persists only the largest output. Errors: as for
// [Everything].
func Largest(g *Graph, pr Problem) (Policy, error) {
	width, err := bandwidth(pr.Bandwidth)
	if err != nil {
		return Policy{}, err
	}
	at := -1
	for i, s := range g.stages {
		if len(g.children(i)) > 0 && (at < 0 || s.Bytes > g.stages[at].Bytes) {
			at = i
		}
	}
	if at < 0 {
		return Policy{}, nil
	}
	// What only the persisted stage needs is not computed again.
	skipped := make([]bool, g.Len())
	skipped[at] = true
	for i := at - 1; i >= 0; i-- {
		children := g.children(i)
		skipped[i] = len(children) > 0
		for _, c := range children {
			skipped[i] = skipped[i] && skipped[c]
		}
	}
	r := g.resume(pr.Packed)
	write := g.stages[at].Bytes / width
	p := Policy{WriteSeconds: write, FirstSeconds: r.first}
	p.add(Step{g.stages[at].End + write, r.point(skipped)})
	return p, nil
}

// add appends a step that saves more than the one before.
func (p *Policy) add(s Step) {
	if n := len(p.Steps); s.RestartSeconds > p.FirstSeconds && (n == 0 || s.RestartSeconds > p.Steps[n-1].RestartSeconds) {
		p.Steps = append(p.Steps, s)
	}
}

// Expected is the work that a failure is expected to cost with a policy, and without,
// in seconds. Errors: ErrOption.
func Expected(g *Graph, p Policy, f Failures) (lost, without float64, err error) {
	if err := f.Validate(); err != nil {
		return 0, 0, err
	}
	without = f.lost(g.end)
	lost = without
	for i, s := range p.Steps {
		until := g.end
		if i+1 < len(p.Steps) {
			until = p.Steps[i+1].Ready
		}
		lost -= f.gain(p.FirstSeconds, s.RestartSeconds, s.Ready, until, g.end)
	}
	return max(0, lost), without, nil
}
