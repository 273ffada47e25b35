package checkpoint

import (
	"context"
	"fmt"
	"slices"

	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

const (
	defaultTimes = 1000
	// maxTimes bounds the plays of one run.
	maxTimes = 100_000
)

// Simulate plays past runs with failures, under the policies of [Advisor.Compare]. The same
// seed gives the same answer. Errors are those of [Advisor.Advise].
func (a *Advisor) Simulate(ctx context.Context, req *karasuv1.SimulateCheckpointsRequest) (*karasuv1.SimulateCheckpointsResponse, error) {
	times := req.GetTimes()
	if times == 0 {
		times = defaultTimes
	}
	if times > maxTimes {
		return nil, badInput("times", "must be at most %d: %d", maxTimes, times)
	}
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
	out := &karasuv1.SimulateCheckpointsResponse{
		Goal: g.message, Failures: g.failure.message(), WithoutStages: uint32(skipped), Times: times, Seed: req.GetSeed(),
	}
	for i := range runs {
		r := &runs[i]
		m := &karasuv1.SimulatedRun{App: r.entry.application, Job: r.entry.called(), JobSeconds: r.job.graph.Seconds()}
		for _, p := range r.policies {
			if p.worth == nil {
				continue // it had nothing to go by
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, err := optimizer.Simulate(r.job.graph, p.policy, g.failure.rate.Law(), int(times), req.GetSeed())
			if err != nil {
				return nil, fmt.Errorf("simulate %s: %w", r.entry.origin, err)
			}
			m.Policies = append(m.Policies, &karasuv1.SimulatedCheckpoint{
				Policy: p.name, Seconds: s.Seconds, LostSeconds: s.LostSeconds, WriteSeconds: s.WriteSeconds,
				Failures: s.Failures, Unfinished: s.Unfinished,
			})
		}
		out.Runs = append(out.Runs, m)
	}
	out.Mean = meanSimulated(out.GetRuns())
	if n := withoutAdvice(runs); n > 0 && n < len(runs) {
		out.Notes = append(out.Notes, counted(n, "run")+" had nothing before, and is in no mean")
	}
	for _, m := range out.GetMean() {
		if m.GetUnfinished() > 0 {
			out.Notes = append(out.Notes, "some plays were given up after a thousand failures, and their time is that until then: the job hardly ever ends at this rate")
			break
		}
	}
	return out, nil
}

// meanSimulated is the mean of each policy over the same runs: those in which all could be
// played, or all where there are none.
func meanSimulated(runs []*karasuv1.SimulatedRun) []*karasuv1.SimulatedCheckpoint {
	most := 0
	for _, r := range runs {
		most = max(most, len(r.GetPolicies()))
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *karasuv1.SimulatedRun) bool { return len(r.GetPolicies()) < most })
	var out []*karasuv1.SimulatedCheckpoint
	for _, name := range []string{policyNone, policyEverything, policyLargest, policyAdvised, policyResolved, policyOptimum} {
		sum, n := &karasuv1.SimulatedCheckpoint{Policy: name}, 0.0
		for _, r := range runs {
			for _, p := range r.GetPolicies() {
				if p.GetPolicy() != name {
					continue
				}
				n++
				sum.Seconds += p.GetSeconds()
				sum.LostSeconds += p.GetLostSeconds()
				sum.WriteSeconds += p.GetWriteSeconds()
				sum.Failures += p.GetFailures()
				sum.Unfinished += p.GetUnfinished()
			}
		}
		if n == 0 {
			continue
		}
		for _, f := range []*float64{&sum.Seconds, &sum.LostSeconds, &sum.WriteSeconds, &sum.Failures, &sum.Unfinished} {
			*f /= n
		}
		out = append(out, sum)
	}
	return out
}
