package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Advise says which stage outputs of a past or coming run to persist. Errors wrap
// [model.ErrInvalid], [private.ErrNoExecution], [ErrNoStages] or [ErrNoPredictor].
func (a *Advisor) Advise(ctx context.Context, req *karasuv1.AdviseCheckpointRequest) (*karasuv1.AdviseCheckpointResponse, error) {
	begin := time.Now()
	ix, err := a.executions(ctx)
	if err != nil {
		return nil, err
	}
	g, err := newGoal(req.GetGoal(), ix.exposure)
	if err != nil {
		return nil, err
	}
	e, job, basis, err := a.target(ctx, ix, g, req.GetTarget())
	if err != nil {
		return nil, err
	}
	s, err := g.solve(job.graph)
	if err != nil {
		return nil, err
	}
	out, err := describe(g, job, s)
	if err != nil {
		return nil, err
	}
	out.App, out.Origin, out.Job = e.application, e.origin, e.called()
	out.Basis = basis
	out.Milliseconds = float64(time.Since(begin).Microseconds()) / 1e3
	return out, nil
}

// target is the graph that is asked about.
func (a *Advisor) target(ctx context.Context, ix *index, g *goal, t *karasuv1.CheckpointTarget) (*entry, *jobGraph, *karasuv1.CheckpointBasis, error) {
	if (t.GetApp() == "") == (t.GetJob() == "") {
		return nil, nil, nil, badInput("target", "must be an application or a job, and not both")
	}
	if !(t.GetDataSize() >= 0 && t.GetDataSize() <= model.MaxInputBytes) {
		return nil, nil, nil, badInput("data size", "must be between 0 and 1 EiB: %g", t.GetDataSize())
	}
	if t.GetJob() != "" {
		if t.GetPredicted() {
			return nil, nil, nil, badInput("target", "is a job, whose next run is predicted in any case")
		}
		return a.next(ctx, ix, g, t)
	}
	e, err := ix.application(t.GetApp())
	if err != nil {
		return nil, nil, nil, err
	}
	x, err := a.load(ctx, e)
	if err != nil {
		return nil, nil, nil, err
	}
	if t.GetPredicted() {
		job, basis, err := a.predict(ctx, ix, g, e, x, t.GetDataSize(), e.start)
		return e, job, basis, err
	}
	if t.GetDataSize() > 0 {
		return nil, nil, nil, badInput("data size", "is for what is predicted: a past run read what it read")
	}
	job, err := g.measured(x)
	if err != nil {
		return nil, nil, nil, err
	}
	return e, job, &karasuv1.CheckpointBasis{Source: fromMeasurement, Summary: "what was measured in this run", Assumptions: job.assumptions}, nil
}

// next is the predicted next run of a job: it has the stages of the latest completed one
// that holds stages, or else of the latest that holds any.
func (a *Advisor) next(ctx context.Context, ix *index, g *goal, t *karasuv1.CheckpointTarget) (*entry, *jobGraph, *karasuv1.CheckpointBasis, error) {
	runs, err := ix.runs(t.GetJob())
	if err != nil {
		return nil, nil, nil, err
	}
	var like *entry
	var shape *model.Execution
	for i := len(runs) - 1; i >= 0 && (like == nil || like.outcome != model.OK); i-- {
		if like != nil && runs[i].outcome != model.OK {
			continue
		}
		x, err := a.load(ctx, runs[i])
		if err != nil {
			return nil, nil, nil, err
		}
		if x.Graph != nil && len(x.Graph.Stages) > 0 {
			like, shape = runs[i], x
		}
	}
	if like == nil {
		return nil, nil, nil, fmt.Errorf("%w: none of %s of job %q holds any", ErrNoStages, counted(len(runs), "stored run"), model.Clip(t.GetJob()))
	}
	job, basis, err := a.predict(ctx, ix, g, like, shape, t.GetDataSize(), always())
	if err != nil {
		return nil, nil, nil, err
	}
	if like.outcome != model.OK {
		basis.Assumptions = append(basis.Assumptions, "no run of the job completed: the stages are those of its latest one, and others may follow them")
	}
	return like, job, basis, nil
}

// predict makes the predicted graph of a run like x. dataSize 0 is that of x.
func (a *Advisor) predict(ctx context.Context, ix *index, g *goal, e *entry, x *model.Execution, dataSize float64, before time.Time) (*jobGraph, *karasuv1.CheckpointBasis, error) {
	job, err := jobOf(x)
	if err != nil {
		return nil, nil, err
	}
	var note string
	switch {
	case dataSize > 0 && job.DataSize == 0:
		note = "no record of the job tells what it read: the data size that was given changes nothing"
	case dataSize > 0:
		job.DataSize = dataSize
	}
	p, err := a.predictorFor(ctx, ix, e, before)
	if err != nil {
		return nil, nil, err
	}
	f, basis, err := p.predict(job, nil)
	if err != nil {
		return nil, nil, err
	}
	out, err := g.predicted(x, f)
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		basis.Assumptions = append(basis.Assumptions, note)
	}
	basis.Assumptions = append(basis.Assumptions, fmt.Sprintf("an output that is predicted counts with what it stays below in %.0f%% of cases", 100*optimizer.SizeQuantile))
	basis.Assumptions = append(basis.Assumptions, out.assumptions...)
	return out, basis, nil
}

// jobOf is [stage.FromExecution] with the error of this package.
func jobOf(x *model.Execution) (stage.Job, error) {
	job, err := stage.FromExecution(x)
	if errors.Is(err, stage.ErrInput) {
		return job, fmt.Errorf("%w: the record of %s holds none", ErrNoStages, x.Origin)
	}
	return job, err
}

// describe answers with a solution.
func describe(g *goal, job *jobGraph, s *solution) (*karasuv1.AdviseCheckpointResponse, error) {
	w, err := newEvaluator(g, job.graph).worth(s.cuts)
	if err != nil {
		return nil, err
	}
	hotspots := len(g.message.GetHotspots()) > 0
	out := &karasuv1.AdviseCheckpointResponse{
		Goal: g.message, Failures: g.failure.message(), JobSeconds: job.graph.Seconds(), OutputBytes: job.graph.Bytes(),
		ByteSeconds: job.graph.ByteSeconds(hotspots), Worth: w, Marginal: s.marginal, Exact: s.exact, Gap: s.gap, Method: s.method,
		Stages: job.describe(g, s.cuts),
	}
	for _, c := range s.cuts {
		out.Cuts = append(out.Cuts, fromCut(c))
	}
	out.Notes = notes(g, job, s, w)
	return out, nil
}

// describe lists the stages with the cuts that they are before.
func (j *jobGraph) describe(g *goal, cuts []optimizer.Cut) []*karasuv1.CheckpointStage {
	first, persist := make(map[int]int), make(map[int]bool)
	for k, c := range cuts {
		for _, id := range c.Before {
			if first[id] == 0 {
				first[id] = k + 1
			}
		}
		for _, id := range c.Persist {
			persist[id] = true
		}
	}
	by := make(map[int]optimizer.Stage, len(j.ids))
	for _, s := range j.graph.Stages() {
		by[s.ID] = s
	}
	out := make([]*karasuv1.CheckpointStage, 0, len(j.ids))
	for _, id := range j.ids {
		s, o := j.stages[id], by[id]
		m := &karasuv1.CheckpointStage{
			Id: uint32(id), Name: s.Name, Operators: s.Operators, Parents: numbers(s.Parents), Bytes: o.Bytes,
			StartSeconds: o.Start, EndSeconds: o.End, Cut: uint32(first[id]), Persist: persist[id], Hotspot: o.Hotspot,
		}
		if p, ok := j.forecast[id]; ok {
			m.BytesLow, m.BytesHigh = intervalOf(p)
		}
		if persist[id] {
			m.Kind = kindOf(j.framework, s)
			m.How, m.Snippet = how(j.framework, g.message.GetObjective(), s)
		}
		out = append(out, m)
	}
	return out
}

// notes say what else is to be known of an answer.
func notes(g *goal, job *jobGraph, s *solution, w *karasuv1.CheckpointWorth) []string {
	var out []string
	budget := g.budget(job.graph)
	switch {
	case job.graph.Len() == 1:
		out = append(out, "the job has one stage, so nothing can be cut")
	case job.graph.Bytes() == 0:
		out = append(out, "no stage has an output for others, so nothing can be freed, and what is written to restart from is not known")
	case len(s.cuts) == 0 && budget == 0:
		out = append(out, "with a budget of 0 only cuts that nothing is read across are allowed, and none is worth it")
	case len(s.cuts) == 0:
		out = append(out, fmt.Sprintf("no cut is worth it within %s to write", humanize.Bytes(uint64(min(budget, model.MaxInputBytes)))))
	}
	written := make(map[int]bool)
	twice := 0
	for _, c := range s.cuts {
		for _, id := range c.Persist {
			if written[id] {
				twice++
			}
			written[id] = true
		}
	}
	if twice > 0 {
		out = append(out, counted(twice, "output")+" that a later cut needs again: it counts twice, so that the earlier cut can be deleted, but need not be written again")
	}
	if g.message.GetObjective() == Storage || len(s.cuts) == 0 {
		return out
	}
	gain := w.GetLostWithoutSeconds() - w.GetLostSeconds()
	saved := gain * w.GetFailureProbability()
	if saved < w.GetWriteSeconds() && g.message.GetObjective() == Restart {
		text := fmt.Sprintf("at this rate of failures the writes take more time than they save on average: %.3g s a run against %.3g s",
			w.GetWriteSeconds(), saved)
		if needed := w.GetWriteSeconds() / gain; needed < 1 { // as a probability of failing
			text += fmt.Sprintf("; that turns at about %.2g failures an hour", -math.Log1p(-needed)/job.graph.Seconds()*3600)
		}
		out = append(out, text)
	}
	return out
}
