package checkpoint

import (
	"fmt"
	"math"
)

// DefaultBandwidth is what a cut's outputs are written with, in bytes a second: about
// what one fast network link or a few disks take.
const DefaultBandwidth = 500e6

// Problem says what a single cut is worth and what it may cost.
type Problem struct {
	// Budget bounds the durable bytes of the cut; no bound if Unlimited. A budget of 0
	// allows only cuts that no later stage with an output reads across.
	Budget    float64
	Unlimited bool
	// HotspotsOnly counts only the outputs on hotspots as freed.
	HotspotsOnly bool
	// Bandwidth of the durable writes in bytes a second; 0 is DefaultBandwidth.
	Bandwidth float64
	// MaxSlowdown bounds the time of the writes as a share of the job's time, such as
	// .05; 0 is no bound.
	MaxSlowdown float64
	// Packed says that a job that starts again runs what is left as soon as what it reads
	// is there, with slots enough; otherwise stages keep their recorded starts.
	Packed bool
}

// Share is the problem with a budget that is a share of all of a graph's output bytes.
func Share(g *Graph, share float64) Problem {
	return Problem{Budget: share * g.bytes}
}

// budget is the tighter of the budget and what can be written in the time allowed, in
// bytes; infinite if nothing bounds it.
func (p Problem) budget(g *Graph) (float64, error) {
	b := math.Inf(1)
	if !p.Unlimited {
		if !(p.Budget >= 0) {
			return 0, fmt.Errorf("budget of %g bytes: %w", p.Budget, ErrOption)
		}
		b = p.Budget
	}
	width, err := bandwidth(p.Bandwidth)
	if err != nil {
		return 0, err
	}
	if !(p.MaxSlowdown >= 0 && p.MaxSlowdown <= 10) {
		return 0, fmt.Errorf("slow-down of %g: must be a share from 0 to 10: %w", p.MaxSlowdown, ErrOption)
	}
	if p.MaxSlowdown > 0 {
		b = min(b, p.MaxSlowdown*g.end*width)
	}
	return b, nil
}

func bandwidth(b float64) (float64, error) {
	if b == 0 {
		return DefaultBandwidth, nil
	}
	if !(b > 0 && b <= maxBytes) {
		return 0, fmt.Errorf("write bandwidth of %g bytes a second: must be positive: %w", b, ErrOption)
	}
	return b, nil
}

// Cut is a set of stages and what comes of persisting what crosses it.
type Cut struct {
	// Before are the IDs of the stages before the cut, in the graph's order; empty if no
	// cut is worth it. Persist are those whose output a stage after the cut reads.
	Before, Persist []int
	// Seconds is when the last stage before the cut ends.
	Seconds float64
	// DurableBytes are written, ByteSeconds of temporary storage freed by it.
	DurableBytes, ByteSeconds float64
	// RestartSeconds is the point of its time from which a job goes on that failed after
	// the cut.
	RestartSeconds float64
}

// Result is a cut and how good it can be at most.
type Result struct {
	Cut
	// Bound is what no cut within the constraints frees more than, in byte-seconds. It
	// is as large as the cut's if Exact.
	Bound float64
	Exact bool
	// Relaxations is the number of linear programs, Flows of minimum cuts that were solved.
	Relaxations, Flows int
}

// Gap is the certified distance to the optimum as a share of the bound: 0 is optimal.
func (r Result) Gap() float64 {
	if r.Bound <= 0 || r.ByteSeconds >= r.Bound {
		return 0
	}
	return 1 - r.ByteSeconds/r.Bound
}

// values are what counts a stage: freed bytes and durable bytes, by place.
type values struct {
	g *Graph
	// worth is freed when the stage is before the cut, cost written if it crosses.
	worth, cost []float64
	pinned      []bool
	budget      float64
	resume      *resume
}

func (p Problem) values(g *Graph) (*values, error) {
	b, err := p.budget(g)
	if err != nil {
		return nil, err
	}
	n := g.Len()
	v := &values{g: g, worth: make([]float64, n), cost: make([]float64, n), pinned: make([]bool, n), budget: b, resume: g.resume(p.Packed)}
	for i, s := range g.stages {
		if s.Hotspot || !p.HotspotsOnly {
			v.worth[i] = s.Bytes
		}
		// The output of a stage that nobody reads never crosses.
		if len(g.children(i)) > 0 {
			v.cost[i] = s.Bytes
			v.pinned[i] = s.Pinned
		}
	}
	// Sums of bytes are rounded; a cut that costs exactly the budget must pass.
	v.budget += 1e-12 * b
	return v, nil
}

// measure returns what a set (of the first len(in) stages) frees and costs, and its last
// stage, or -1; allowed is false if a pinned stage
// crosses it.
func (v *values) measure(in []bool) (worth, cost float64, last int, allowed bool) {
	allowed, last = true, -1
	for i, ok := range in {
		if !ok {
			continue
		}
		worth += v.worth[i]
		last = i
		for _, c := range v.g.children(i) {
			if int(c) >= len(in) || !in[c] {
				cost += v.cost[i]
				allowed = allowed && !v.pinned[i]
				break
			}
		}
	}
	return worth, cost, last, allowed
}

// cut describes a closed set.
func (v *values) cut(in []bool) Cut {
	var c Cut
	g := v.g
	c.RestartSeconds = v.resume.point(in)
	worth, cost, last, _ := v.measure(in)
	for i, s := range g.stages {
		if i >= len(in) || !in[i] {
			continue
		}
		c.Before = append(c.Before, s.ID)
		for _, k := range g.children(i) {
			if int(k) >= len(in) || !in[k] {
				c.Persist = append(c.Persist, s.ID)
				break
			}
		}
	}
	if last >= 0 {
		c.Seconds = g.stages[last].End
	}
	c.DurableBytes = cost
	c.ByteSeconds = worth * (g.end - c.Seconds)
	return c
}
