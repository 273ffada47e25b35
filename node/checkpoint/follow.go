package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// Follow decides for an application that runs: it solves again with the true sizes of the
// stages that have finished and predictions of the others, and says to commit once the
// best cut holds only finished stages. What was committed to is the caller's to remember.
// Errors are those of [Advisor.Advise].
func (a *Advisor) Follow(ctx context.Context, req *karasuv1.FollowCheckpointRequest) (*karasuv1.FollowCheckpointResponse, error) {
	if req.GetExecution() == nil {
		return nil, badInput("execution", "is missing")
	}
	if !(req.GetDataSize() >= 0 && req.GetDataSize() <= model.MaxInputBytes) {
		return nil, badInput("data size", "must be between 0 and 1 EiB: %g", req.GetDataSize())
	}
	x, err := wire.ToExecution(req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := x.Validate(); err != nil {
		return nil, err
	}
	ix, err := a.executions(ctx)
	if err != nil {
		return nil, err
	}
	g, err := newGoal(req.GetGoal(), ix.exposure)
	if err != nil {
		return nil, err
	}
	running, err := a.running(ctx, ix, &x)
	if err != nil {
		return nil, err
	}
	if req.GetDataSize() > 0 {
		running.job.DataSize = req.GetDataSize()
	}
	return running.decide(g, req.GetCommitted())
}

// running is an application that runs, with the stages that are still expected.
type running struct {
	execution *model.Execution
	stages    []model.Stage
	job       stage.Job
	finished  map[int]bool
	predictor *predictor
	notes     []string
}

// running joins what a log tells so far with the stages that the latest run of the same
// job had beyond that.
func (a *Advisor) running(ctx context.Context, ix *index, x *model.Execution) (*running, error) {
	seen, err := stagesOf(x)
	if err != nil {
		return nil, err
	}
	e := &entry{framework: x.Framework, series: series(x), name: x.Name}
	if a.JobOf != nil {
		e.job = a.JobOf(*x)
	}
	if e.job != "" && !slices.ContainsFunc(ix.entries, func(o entry) bool { return o.sameJob(e) }) {
		e.job = "" // perhaps its earlier runs were stored before the rule was
	}
	r := &running{execution: x, stages: seen, finished: make(map[int]bool)}
	for _, s := range seen {
		r.finished[s.ID] = s.Outcome == model.OK
	}
	if r.predictor, err = a.predictorFor(ctx, ix, e, x.Start); err != nil {
		return nil, err
	}
	like, err := a.latest(ctx, ix, e, x)
	if err != nil {
		return nil, err
	}
	if like == nil {
		r.notes = append(r.notes, "no earlier run of the job is stored: stages of Spark jobs that have not begun are not known, and each decision takes the application to end with those that have")
	} else {
		r.expect(like)
	}
	// Only its shape counts, and the finished stages.
	x.Graph = &model.StageGraph{Stages: r.stages}
	if r.job, err = jobOf(x); err != nil {
		return nil, err
	}
	if like != nil {
		r.job.DataSize = like.InputBytes * r.growth(like)
	}
	return r, nil
}

// latest is the last completed run of the job that ended before an execution began; nil
// where there is none with stages.
func (a *Advisor) latest(ctx context.Context, ix *index, e *entry, x *model.Execution) (*model.Execution, error) {
	for i := len(ix.entries) - 1; i >= 0; i-- {
		o := &ix.entries[i]
		if o.outcome != model.OK || !o.sameJob(e) || o.end().After(x.Start) {
			continue
		}
		like, err := a.load(ctx, o)
		if err != nil {
			return nil, err
		}
		if like.Graph != nil && len(like.Graph.Stages) > 0 {
			return like, nil
		}
	}
	return nil, nil
}

// template names a stage by its call site, or else its operators, and the so-manyth of
// those it is.
type template struct {
	site   string
	number int
}

func templates(stages []model.Stage) []template {
	count := make(map[string]int)
	out := make([]template, len(stages))
	for i, s := range stages {
		site := s.Name
		if site == "" {
			site = fmt.Sprint(s.Operators)
		}
		out[i] = template{site, count[site]}
		count[site]++
	}
	return out
}

// expect adds the stages of an earlier run that have not been submitted. They get numbers
// above those of the log.
func (r *running) expect(like *model.Execution) {
	known := make(map[template]int, len(r.stages)) // numbers of stages
	above := 0
	for i, t := range templates(r.stages) {
		known[t] = r.stages[i].ID
		above = max(above, r.stages[i].ID+1)
	}
	earlier := like.Graph.Collapse().Stages
	number := make(map[int]int, len(earlier)) // from the earlier run's to this one's
	names := templates(earlier)
	var missing []model.Stage
	for i, s := range earlier {
		if id, ok := known[names[i]]; ok {
			number[s.ID] = id
			continue
		}
		number[s.ID] = above + len(missing)
		missing = append(missing, s)
	}
	for _, s := range missing {
		s.ID, s.Outcome = number[s.ID], 0
		parents := make([]int, 0, len(s.Parents))
		for _, p := range s.Parents {
			parents = append(parents, number[p])
		}
		slices.Sort(parents)
		s.Parents = slices.Compact(parents)
		r.stages = append(r.stages, s)
	}
	if len(missing) > 0 {
		r.notes = append(r.notes, counted(len(missing), "stage")+" of the latest run of the job that the log does not show yet")
	}
}

// growth is how much more the finished stages read from storage than the same stages of an
// earlier run: what has been read so far says nothing of the whole. 1 before any has.
func (r *running) growth(like *model.Execution) float64 {
	earlier := like.Graph.Collapse().Stages
	read := make(map[template]float64, len(earlier))
	for i, t := range templates(earlier) {
		read[t] = earlier[i].InputBytes
	}
	var now, then float64
	for i, t := range templates(r.stages) {
		if s := r.stages[i]; r.finished[s.ID] && s.InputBytes > 0 && read[t] > 0 {
			now, then = now+s.InputBytes, then+read[t]
		}
	}
	if then == 0 {
		return 1
	}
	return now / then
}

// decide answers with what is best as of now.
func (r *running) decide(g *goal, committed []*karasuv1.CheckpointCut) (*karasuv1.FollowCheckpointResponse, error) {
	done := func(id int) bool { return r.finished[id] }
	f, basis, err := r.predictor.predict(r.job, done)
	if err != nil {
		return nil, err
	}
	marks, notes, err := g.marks(r.execution, r.stages)
	if err != nil {
		return nil, err
	}
	l := &live{goal: g, stages: r.stages, marks: marks, done: done}
	if l.committed, err = r.cuts(g, committed); err != nil {
		return nil, err
	}
	s, err := l.decide(f)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.FollowCheckpointResponse{
		Basis: basis, Stages: uint32(len(r.stages)), JobSeconds: s.graph.Seconds(), Failures: g.failure.message(),
		Notes: slices.Concat(r.notes, notes),
	}
	for id := range maps.Keys(r.finished) {
		if r.finished[id] {
			out.Finished++
		}
	}
	for _, s := range r.stages {
		if r.finished[s.ID] {
			out.NowSeconds = max(out.NowSeconds, s.EndSeconds)
		}
	}
	if s.cut == nil {
		return out, nil
	}
	out.Planned, out.Missing, out.Commit = fromCut(*s.cut), numbers(s.missing), s.commit()
	v := newEvaluator(g, s.graph)
	if out.Worth, err = v.worth([]optimizer.Cut{v.cut(s.cut.Before)}); err != nil {
		return nil, err
	}
	durable := make(map[uint32]bool)
	for _, c := range committed {
		for _, id := range c.GetPersist() {
			durable[id] = true
		}
	}
	job := newJobGraph(s.graph, r.stages, r.execution.Framework)
	for _, m := range job.describe(g, []optimizer.Cut{*s.cut}) {
		if m.GetPersist() && !durable[m.GetId()] {
			out.Persist = append(out.Persist, m)
		}
	}
	return out, nil
}

// cuts are those that were committed to, as they were answered before. The error wraps
// [model.ErrInvalid].
func (r *running) cuts(g *goal, committed []*karasuv1.CheckpointCut) ([]optimizer.Cut, error) {
	if len(committed) > int(g.message.GetCuts()) {
		return nil, badInput("committed", "are more cuts than the goal has: %d of %d", len(committed), g.message.GetCuts())
	}
	var out []optimizer.Cut
	for _, m := range committed {
		c := optimizer.Cut{Seconds: m.GetSeconds(), DurableBytes: m.GetDurableBytes(), RestartSeconds: m.GetRestartSeconds()}
		if !(c.DurableBytes >= 0 && c.DurableBytes <= model.MaxInputBytes) || !(c.RestartSeconds >= 0) {
			return nil, badInput("committed", "has amounts that are negative or no numbers")
		}
		for _, id := range m.GetBefore() {
			if !r.finished[int(id)] {
				return nil, badInput("committed", "holds stage %d, which has not finished", id)
			}
			c.Before = append(c.Before, int(id))
		}
		out = append(out, c)
	}
	return out, nil
}
