package checkpoint

import (
	"cmp"
	"math"
	"slices"

	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// evaluator says what cuts are worth in a graph, whatever they were planned for.
type evaluator struct {
	goal   *goal
	graph  *optimizer.Graph
	stages []optimizer.Stage // in the graph's order
	read   map[int][]int     // by stage, those that read it
	first  float64           // the first start
}

func newEvaluator(g *goal, graph *optimizer.Graph) *evaluator {
	e := &evaluator{goal: g, graph: graph, stages: graph.Stages(), read: make(map[int][]int), first: math.Inf(1)}
	for _, s := range e.stages {
		e.first = min(e.first, s.Start)
		for _, p := range s.Parents {
			e.read[p] = append(e.read[p], s.ID)
		}
	}
	return e
}

// cut is the cut with these stages before it as it is in this graph. The set must hold
// the parents of each of its stages.
func (e *evaluator) cut(before []int) optimizer.Cut {
	in := make(map[int]bool, len(before))
	for _, id := range before {
		in[id] = true
	}
	c := optimizer.Cut{RestartSeconds: e.graph.Seconds()}
	for _, s := range e.stages {
		if !in[s.ID] {
			c.RestartSeconds = min(c.RestartSeconds, s.Start)
			continue
		}
		c.Before = append(c.Before, s.ID)
		c.Seconds = max(c.Seconds, s.End)
		if slices.ContainsFunc(e.read[s.ID], func(child int) bool { return !in[child] }) {
			c.Persist = append(c.Persist, s.ID)
			c.DurableBytes += s.Bytes
		}
	}
	return c
}

// worth of a sequence of cuts of this graph.
func (e *evaluator) worth(cuts []optimizer.Cut) (*karasuv1.CheckpointWorth, error) {
	plan := optimizer.Plan{Cuts: cuts, FirstSeconds: e.first}
	for _, c := range cuts {
		plan.DurableBytes += c.DurableBytes
	}
	plan.WriteSeconds = plan.DurableBytes / e.goal.message.GetWriteBandwidth()
	w, err := e.policy(increasing(plan.Steps()))
	if err != nil {
		return nil, err
	}
	w.DurableBytes = plan.DurableBytes
	w.FreedByteSeconds, w.FreedShare = e.freed(cuts)
	return w, nil
}

// freed are the byte-seconds of temporary storage that cuts free, each stage's output at
// the first cut that it is before, and their share of all.
func (e *evaluator) freed(cuts []optimizer.Cut) (sum, share float64) {
	hotspots := len(e.goal.message.GetHotspots()) > 0
	bytes := make(map[int]float64, len(e.stages))
	for _, s := range e.stages {
		if s.Hotspot || !hotspots {
			bytes[s.ID] = s.Bytes
		}
	}
	for _, c := range slices.SortedStableFunc(slices.Values(cuts), func(a, b optimizer.Cut) int { return cmp.Compare(a.Seconds, b.Seconds) }) {
		for _, id := range c.Before {
			sum += bytes[id] * max(0, e.graph.Seconds()-c.Seconds)
			bytes[id] = 0
		}
	}
	if all := e.graph.ByteSeconds(hotspots); all > 0 {
		share = min(1, sum/all)
	}
	return sum, share
}

// policy is what failures cost under a policy.
func (e *evaluator) policy(p optimizer.Policy) (*karasuv1.CheckpointWorth, error) {
	length := e.graph.Seconds()
	law, happens := e.goal.failure.law(length)
	w := &karasuv1.CheckpointWorth{WriteSeconds: p.WriteSeconds, FailureProbability: e.goal.failure.probability(length)}
	if length <= 0 {
		return w, nil // nothing can fail
	}
	lost, without, err := optimizer.Expected(e.graph, p, law)
	if err != nil {
		return nil, err
	}
	w.LostSeconds, w.LostWithoutSeconds = lost/happens, without/happens
	w.RestartWithoutSeconds = length
	w.RestartSeconds = length - max(0, w.LostWithoutSeconds-w.LostSeconds)
	return w, nil
}

// increasing keeps the steps that save more than those before them, in order of readiness.
func increasing(p optimizer.Policy) optimizer.Policy {
	slices.SortStableFunc(p.Steps, func(a, b optimizer.Step) int { return cmp.Compare(a.Ready, b.Ready) })
	out := p.Steps[:0]
	for _, s := range p.Steps {
		if s.RestartSeconds > p.FirstSeconds && (len(out) == 0 || s.RestartSeconds > out[len(out)-1].RestartSeconds) {
			out = append(out, s)
		}
	}
	p.Steps = out
	return p
}

// fromCut is a cut as a message.
func fromCut(c optimizer.Cut) *karasuv1.CheckpointCut {
	return &karasuv1.CheckpointCut{
		Seconds: c.Seconds, Before: numbers(c.Before), Persist: numbers(c.Persist),
		DurableBytes: c.DurableBytes, RestartSeconds: c.RestartSeconds,
	}
}

// numbers are stage IDs, rising.
func numbers(ids []int) []uint32 {
	out := make([]uint32, 0, len(ids))
	for _, id := range ids {
		out = append(out, uint32(id))
	}
	slices.Sort(out)
	return out
}
