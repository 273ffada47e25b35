package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Policies that are compared, in the order of answers.
const (
	policyNone       = "none"
	policyEverything = "everything"
	policyLargest    = "largest output"
	policyAdvised    = "advised"
	policyResolved   = "advised, re-solved"
	policyOptimum    = "optimum"
)

const (
	defaultLast = 20
	// maxLast bounds the runs of one comparison, and replaySteps the times that a plan is
	// solved again in one of them: the work of some seconds.
	maxLast     = 200
	replaySteps = 64
)

// comparedPolicy is what one policy would have done in one run.
type comparedPolicy struct {
	name    string
	policy  optimizer.Policy
	worth   *karasuv1.CheckpointWorth
	over    bool
	problem string
}

// comparedRun is a past run under all policies.
type comparedRun struct {
	entry    *entry
	job      *jobGraph
	basis    *karasuv1.CheckpointBasis
	policies []comparedPolicy
}

// Compare says what advice from earlier runs alone would have been worth in past runs,
// beside the simple policies and the optimum. Errors are those of [Advisor.Advise].
func (a *Advisor) Compare(ctx context.Context, req *karasuv1.CompareCheckpointsRequest) (*karasuv1.CompareCheckpointsResponse, error) {
	ix, err := a.executions(ctx)
	if err != nil {
		return nil, err
	}
	g, err := newGoal(req.GetGoal(), ix.exposure)
	if err != nil {
		return nil, err
	}
	runs, skipped, err := a.replay(ctx, ix, g, req.GetTarget(), req.GetLast())
	if err != nil {
		return nil, err
	}
	out := &karasuv1.CompareCheckpointsResponse{Goal: g.message, Failures: g.failure.message(), WithoutStages: uint32(skipped)}
	for _, r := range runs {
		m := &karasuv1.ComparedRun{
			App: r.entry.application, Job: r.entry.called(), StartUnixMillis: float64(r.entry.start.UnixMilli()),
			JobSeconds: r.job.graph.Seconds(), Stages: uint32(r.job.graph.Len()), Basis: r.basis,
		}
		for _, p := range r.policies {
			m.Policies = append(m.Policies, &karasuv1.ComparedCheckpoint{Policy: p.name, Worth: p.worth, OverBudget: p.over, Problem: p.problem})
		}
		out.Runs = append(out.Runs, m)
	}
	out.Mean = meanWorth(out.GetRuns())
	if n := withoutAdvice(runs); n > 0 && n < len(runs) {
		out.Notes = append(out.Notes, counted(n, "run")+" had nothing before, and is in no mean")
	}
	out.Notes = append(out.Notes, "the stages of each run are taken as known when it began, their sizes and times are not")
	return out, nil
}

// withoutAdvice counts the runs that nothing was known before.
func withoutAdvice(runs []comparedRun) int {
	n := 0
	for _, r := range runs {
		if !r.advised() {
			n++
		}
	}
	return n
}

func (r *comparedRun) advised() bool {
	return !slices.ContainsFunc(r.policies, func(p comparedPolicy) bool { return p.worth == nil })
}

// meanWorth is the mean of each policy over the same runs: those that something was known
// before, or all where there are none.
func meanWorth(runs []*karasuv1.ComparedRun) []*karasuv1.ComparedCheckpoint {
	known := slices.DeleteFunc(slices.Clone(runs), func(r *karasuv1.ComparedRun) bool {
		return slices.ContainsFunc(r.GetPolicies(), func(p *karasuv1.ComparedCheckpoint) bool { return p.GetWorth() == nil })
	})
	if len(known) > 0 {
		runs = known
	}
	var out []*karasuv1.ComparedCheckpoint
	for _, name := range []string{policyNone, policyEverything, policyLargest, policyAdvised, policyResolved, policyOptimum} {
		sum, n := &karasuv1.CheckpointWorth{}, 0.0
		for _, r := range runs {
			for _, p := range r.GetPolicies() {
				if p.GetPolicy() != name || p.GetWorth() == nil {
					continue
				}
				n++
				addWorth(sum, p.GetWorth())
			}
		}
		if n > 0 {
			scaleWorth(sum, 1/n)
			out = append(out, &karasuv1.ComparedCheckpoint{Policy: name, Worth: sum})
		}
	}
	return out
}

func worthFields(w *karasuv1.CheckpointWorth) []*float64 {
	return []*float64{
		&w.DurableBytes, &w.WriteSeconds, &w.FreedByteSeconds, &w.FreedShare, &w.LostSeconds, &w.LostWithoutSeconds,
		&w.RestartSeconds, &w.RestartWithoutSeconds, &w.FailureProbability,
	}
}

func addWorth(to, w *karasuv1.CheckpointWorth) {
	from := worthFields(w)
	for i, f := range worthFields(to) {
		*f += *from[i]
	}
}

func scaleWorth(w *karasuv1.CheckpointWorth, by float64) {
	for _, f := range worthFields(w) {
		*f *= by
	}
}

// replay plays past runs under all policies, and says how many hold no stages.
func (a *Advisor) replay(ctx context.Context, ix *index, g *goal, t *karasuv1.CheckpointTarget, last uint32) ([]comparedRun, int, error) {
	if last == 0 {
		last = defaultLast
	}
	if last > maxLast {
		return nil, 0, badInput("last", "must be at most %d runs: %d", maxLast, last)
	}
	if t.GetDataSize() != 0 || t.GetPredicted() {
		return nil, 0, badInput("target", "is past runs: they are predicted, and their data size is known")
	}
	entries, err := ix.selected(t)
	if err != nil {
		return nil, 0, err
	}
	var out []comparedRun
	skipped := 0
	for _, e := range slices.Backward(entries) {
		if len(out) == int(last) {
			break
		}
		if e.outcome != model.OK && t.GetApp() == "" {
			continue
		}
		r, err := a.compareRun(ctx, ix, g, e)
		if errors.Is(err, ErrNoStages) && t.GetApp() == "" {
			skipped++
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, *r)
	}
	if len(out) == 0 {
		return nil, 0, fmt.Errorf("%w: none of %s is complete and holds any", ErrNoStages, counted(len(entries), "stored run"))
	}
	slices.Reverse(out)
	return out, skipped, nil
}

// selected are the executions that a target means, the oldest first.
func (ix *index) selected(t *karasuv1.CheckpointTarget) ([]*entry, error) {
	switch {
	case t.GetApp() != "" && t.GetJob() != "":
		return nil, badInput("target", "must be an application or a job, and not both")
	case t.GetApp() != "":
		e, err := ix.application(t.GetApp())
		return []*entry{e}, err
	case t.GetJob() != "":
		return ix.runs(t.GetJob())
	}
	var out []*entry
	for i := range ix.entries {
		out = append(out, &ix.entries[i])
	}
	return out, nil
}

// compareRun plays one run.
func (a *Advisor) compareRun(ctx context.Context, ix *index, g *goal, e *entry) (*comparedRun, error) {
	x, err := a.load(ctx, e)
	if err != nil {
		return nil, err
	}
	r := &comparedRun{entry: e}
	if r.job, err = g.measured(x); err != nil {
		return nil, err
	}
	v := newEvaluator(g, r.job.graph)
	simple, err := v.simple()
	if err != nil {
		return nil, err
	}
	best, err := g.cuts(r.job.graph, g.problem(r.job.graph), int(g.message.GetCuts()), int(g.message.GetCuts()))
	if err != nil {
		return nil, err
	}
	optimum, err := v.compared(policyOptimum, best.cuts)
	if err != nil {
		return nil, err
	}
	advised, err := a.advisedRun(ctx, ix, g, e, x, v, r)
	if err != nil {
		return nil, err
	}
	r.policies = append(append(simple, advised...), optimum)
	return r, nil
}

// compared is a policy of cuts.
func (e *evaluator) compared(name string, cuts []optimizer.Cut) (comparedPolicy, error) {
	w, err := e.worth(cuts)
	if err != nil {
		return comparedPolicy{}, err
	}
	const rounding = 1e-9
	plan := optimizer.Plan{Cuts: cuts, FirstSeconds: e.first, DurableBytes: w.GetDurableBytes(), WriteSeconds: w.GetWriteSeconds()}
	return comparedPolicy{name: name, policy: increasing(plan.Steps()), worth: w, over: w.GetDurableBytes() > e.goal.budget(e.graph)*(1+rounding)}, nil
}

// simple are the policies that need no knowledge.
func (e *evaluator) simple() ([]comparedPolicy, error) {
	none, err := e.compared(policyNone, nil)
	if err != nil {
		return nil, err
	}
	p := e.goal.problem(e.graph)
	everything, err := optimizer.Everything(e.graph, p)
	if err != nil {
		return nil, err
	}
	largest, err := optimizer.Largest(e.graph, p)
	if err != nil {
		return nil, err
	}
	out := []comparedPolicy{none}
	hotspots := len(e.goal.message.GetHotspots()) > 0
	for _, x := range []struct {
		name   string
		policy optimizer.Policy
		freed  float64
	}{
		{policyEverything, everything, e.graph.ByteSeconds(hotspots)},
		{policyLargest, largest, e.freedByLargest(hotspots)},
	} {
		w, err := e.policy(x.policy)
		if err != nil {
			return nil, err
		}
		w.DurableBytes = w.GetWriteSeconds() * e.goal.message.GetWriteBandwidth()
		if w.FreedByteSeconds = x.freed; x.freed > 0 {
			w.FreedShare = min(1, x.freed/e.graph.ByteSeconds(hotspots))
		}
		out = append(out, comparedPolicy{name: x.name, policy: x.policy, worth: w, over: w.GetDurableBytes() > e.goal.budget(e.graph)*(1+1e-9)})
	}
	return out, nil
}

// freedByLargest are the byte-seconds of the largest output that others read and of what
// only it was made from.
func (e *evaluator) freedByLargest(hotspots bool) float64 {
	at := -1
	for i, s := range e.stages {
		if len(e.read[s.ID]) > 0 && (at < 0 || s.Bytes > e.stages[at].Bytes) {
			at = i
		}
	}
	if at < 0 {
		return 0
	}
	end, sum := e.stages[at].End, 0.0
	gone := map[int]bool{e.stages[at].ID: true}
	for i := at; i >= 0; i-- {
		s := e.stages[i]
		readers := e.read[s.ID]
		if i < at && (len(readers) == 0 || slices.ContainsFunc(readers, func(r int) bool { return !gone[r] })) {
			continue
		}
		gone[s.ID] = true
		if s.Hotspot || !hotspots {
			sum += s.Bytes * (e.graph.Seconds() - end)
		}
	}
	return sum
}

// advisedRun is what would have been advised from earlier runs alone: once when the run
// began, and solved again as its stages ended.
func (a *Advisor) advisedRun(ctx context.Context, ix *index, g *goal, e *entry, x *model.Execution, v *evaluator, r *comparedRun) ([]comparedPolicy, error) {
	job, err := jobOf(x)
	if err != nil {
		return nil, err
	}
	p, err := a.predictorFor(ctx, ix, e, e.start)
	if err != nil {
		return nil, err
	}
	f, basis, err := p.predict(job, nil)
	if errors.Is(err, ErrNoPredictor) {
		r.basis = &karasuv1.CheckpointBasis{Summary: "nothing was stored before it"}
		problem := "nothing was known before this run"
		return []comparedPolicy{{name: policyAdvised, problem: problem}, {name: policyResolved, problem: problem}}, nil
	}
	if err != nil {
		return nil, err
	}
	r.basis = basis
	planned, err := g.predicted(x, f)
	if err != nil {
		return nil, err
	}
	k := int(g.message.GetCuts())
	s, err := g.cuts(planned.graph, g.problem(planned.graph), k, k)
	if err != nil {
		return nil, err
	}
	var cuts []optimizer.Cut
	for _, c := range s.cuts {
		cuts = append(cuts, v.cut(c.Before))
	}
	once, err := v.compared(policyAdvised, cuts)
	if err != nil {
		return nil, err
	}
	if cuts, err = resolved(ctx, g, x, job, p, v); err != nil {
		return nil, err
	}
	again, err := v.compared(policyResolved, cuts)
	return []comparedPolicy{once, again}, err
}

// resolved plays a run and solves again as its stages end, which is thinned out in runs
// with many stages.
func resolved(ctx context.Context, g *goal, x *model.Execution, job stage.Job, p *predictor, v *evaluator) ([]optimizer.Cut, error) {
	stages, err := stagesOf(x)
	if err != nil {
		return nil, err
	}
	marks, _, err := g.marks(x, stages)
	if err != nil {
		return nil, err
	}
	known := make(map[int]bool, len(stages))
	l := &live{goal: g, stages: stages, marks: marks, done: func(id int) bool { return known[id] }}
	var out []optimizer.Cut
	every := int(math.Ceil(float64(len(v.stages)) / replaySteps))
	for i, s := range v.stages {
		known[s.ID] = true
		if (i+1)%every != 0 || i+1 < len(v.stages) && v.stages[i+1].End == s.End {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, _, err := p.predict(job, l.done)
		if err != nil {
			return nil, err
		}
		d, err := l.decide(f)
		if err != nil {
			return nil, err
		}
		if !d.commit() {
			continue
		}
		c := v.cut(d.cut.Before)
		c.Seconds = max(c.Seconds, s.End)
		l.committed, out = append(l.committed, c), append(out, c)
		if len(out) == int(g.message.GetCuts()) {
			break
		}
	}
	return out, nil
}
