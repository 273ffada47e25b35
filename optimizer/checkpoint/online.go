package checkpoint

import (
	"fmt"
	"math"
	"slices"
)

// SizeQuantile is of the predicted size that plans should count an output with that is still
// to come: half a standard deviation of the logarithm above the median. What waits for
// larger outputs frees the mean, which is above the median, and sizes that turn out too large
// break a budget; but the mean itself is made by few. Chosen on the public queries
// (docs/checkpoint.md), of which both halves agree.
const SizeQuantile = .69

// Planner decides while a job runs: sizes and times of finished stages are true, those
// of the others predicted. It plans again whenever something is known, and commits to
// a cut as soon as the best one holds only finished stages. Not safe for concurrent use.
type Planner struct {
	problem Problem
	options Options
	stages  []Stage
	place   map[int]int
	done    []bool
	now     float64
	// committed is the cut that was decided on.
	committed *Decision
}

// Decision is what a planner says after an event.
type Decision struct {
	Result
	// Commit says that the cut holds only finished stages: persist it now. Once given,
	// the decision stays.
	Commit bool
	// Missing are the stages before the planned cut that have not finished.
	Missing []int
}

// NewPlanner starts with predictions of all stages. A budget that is a share has to be
// turned into bytes by the caller, as true sizes will differ. Options bound each of its
// searches. Errors: those of [NewGraph] and [Solve].
func NewPlanner(stages []Stage, p Problem, o Options) (*Planner, error) {
	g, err := NewGraph(stages)
	if err != nil {
		return nil, err
	}
	if _, err := p.budget(g); err != nil {
		return nil, err
	}
	pl := &Planner{problem: p, options: o, stages: slices.Clone(stages), place: make(map[int]int, len(stages)), done: make([]bool, len(stages))}
	for i, s := range pl.stages {
		pl.place[s.ID] = i
	}
	return pl, nil
}

// Finish tells that a stage has ended: its true output, start and end. Predictions of
// stages that have not ended move behind it. Errors: ErrParent for an unknown stage,
// ErrDuplicate for one that has finished before, ErrAmount; the planner is as before.
func (p *Planner) Finish(id int, bytes, start, end float64) error {
	i, err := p.set("finished", id, bytes, start, end)
	if err != nil {
		return err
	}
	p.done[i] = true
	p.now = max(p.now, end)
	return nil
}

// Predict replaces the prediction of a stage that has not finished. Errors: as for
// [Planner.Finish].
func (p *Planner) Predict(id int, bytes, start, end float64) error {
	_, err := p.set("predicted", id, bytes, start, end)
	return err
}

// set replaces what is known of a stage that has not finished, and returns its place.
func (p *Planner) set(what string, id int, bytes, start, end float64) (int, error) {
	i, ok := p.place[id]
	if !ok {
		return 0, fmt.Errorf("%s stage %d: %w", what, id, ErrParent)
	}
	if p.done[i] {
		return 0, fmt.Errorf("%s stage %d: %w", what, id, ErrDuplicate)
	}
	s := p.stages[i]
	s.Bytes, s.Start, s.End = bytes, start, end
	if err := s.validate(); err != nil {
		return 0, err
	}
	p.stages[i] = s
	return i, nil
}

// Decide solves for what is known now. Errors: those of [Solve].
func (p *Planner) Decide() (Decision, error) {
	if p.committed != nil {
		return *p.committed, nil
	}
	g, err := p.Graph()
	if err != nil {
		return Decision{}, err
	}
	r, err := Solve(g, p.problem, p.options)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Result: r}
	for _, id := range r.Before {
		if !p.done[p.place[id]] {
			d.Missing = append(d.Missing, id)
		}
	}
	d.Commit = len(r.Before) > 0 && len(d.Missing) == 0
	if d.Commit {
		p.committed = &d
	}
	return d, nil
}

// Graph is the job as the planner sees it now: what has finished frees storage, and can be
// restarted from, from now on; the rest ends later, as predicted. Errors: those of [NewGraph].
func (p *Planner) Graph() (*Graph, error) { return NewGraph(p.current()) }

// current are the stages as seen from now: a cut of what has finished frees storage from
// now on, whenever that ended. What has not finished ends after now, and after its
// parents by its predicted time.
func (p *Planner) current() []Stage {
	out := slices.Clone(p.stages)
	order, err := NewGraph(p.stages)
	if err != nil {
		return out // [NewGraph] says so again
	}
	for _, s := range order.stages {
		i := p.place[s.ID]
		if p.done[i] {
			out[i].End = p.now
			continue
		}
		length := out[i].End - out[i].Start
		ready := 0.0
		for _, parent := range s.Parents {
			if k := p.place[parent]; p.done[k] {
				ready = max(ready, p.stages[k].End)
			} else {
				ready = max(ready, out[k].End)
			}
		}
		out[i].End = max(out[i].End, math.Nextafter(p.now, math.Inf(1)))
		if len(s.Parents) > 0 {
			out[i].End = max(out[i].End, ready+length)
		}
		out[i].End = min(out[i].End, maxSeconds)
		out[i].Start = max(0, out[i].End-length)
	}
	return out
}
