package advisor

import (
	"context"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/deadline"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// interval is the probability of the intervals that are stated.
const interval = .8

// Predict says how long a job takes on one configuration, from the organisation's own
// runs of the algorithm and from the models that peers share. Errors wrap
// [model.ErrInvalid], [ErrNoModel] or those of the catalog.
func (a *Advisor) Predict(ctx context.Context, req *karasuv1.PredictRequest) (*karasuv1.PredictResponse, error) {
	if req.GetMachineType() == "" {
		return nil, badInput("machine type", "is missing")
	}
	if err := predict.ValidateScaleOut(int(req.GetNodes())); err != nil {
		return nil, badInput("nodes", fmt.Sprintf("must be between 1 and %d: %d", model.MaxScaleOut, req.GetNodes()))
	}
	w, m, err := a.asked(ctx, req.GetTarget(), []string{req.GetMachineType()})
	if err != nil {
		return nil, err
	}
	o, err := a.outlook(ctx, w, req.GetTarget().GetSolo(), "")
	if err != nil {
		return nil, err
	}
	options, err := o.options(ctx, m, []int{int(req.GetNodes())})
	if err != nil {
		return nil, err
	}
	return &karasuv1.PredictResponse{
		Target:     fromTarget(w, req.GetTarget().GetSolo()),
		Prediction: runtimePrediction(&options[0], 0), Basis: o.basis(a.Organisation),
	}, nil
}

// Sweep predicts a job's runtime on many configurations and, with a deadline, says
// which is the cheapest that meets it. Errors are those of [Advisor.Predict].
func (a *Advisor) Sweep(ctx context.Context, req *karasuv1.SweepRequest) (*karasuv1.SweepResponse, error) {
	seconds, confidence := req.GetDeadlineSeconds(), req.GetConfidence()
	if confidence == 0 {
		confidence = deadline.DefaultConfidence
	}
	switch {
	case seconds == 0 && req.GetConfidence() != 0:
		return nil, badInput("confidence", "needs a deadline to be confident of")
	case seconds != 0:
		if err := deadline.Validate(seconds, confidence); err != nil {
			return nil, err
		}
	}
	nodes, err := sweepNodes(req.GetNodes())
	if err != nil {
		return nil, err
	}
	w, machines, err := a.asked(ctx, req.GetTarget(), req.GetMachineTypes())
	if err != nil {
		return nil, err
	}
	if n := len(machines) * len(nodes); n > search.MaxCandidates {
		return nil, badInput("configurations", fmt.Sprintf("are more than %d: %d machine types at %d numbers of nodes", search.MaxCandidates, len(machines), len(nodes)))
	}
	o, err := a.outlook(ctx, w, req.GetTarget().GetSolo(), "")
	if err != nil {
		return nil, err
	}
	options, err := o.options(ctx, machines, nodes)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.SweepResponse{Target: fromTarget(w, req.GetTarget().GetSolo()), Basis: o.basis(a.Organisation)}
	for i := range options {
		out.Predictions = append(out.Predictions, runtimePrediction(&options[i], seconds))
	}
	if seconds == 0 {
		return out, nil
	}
	answer, err := deadline.Cheapest(options, seconds, confidence)
	if err != nil {
		return nil, err
	}
	out.Answer = &karasuv1.DeadlineAnswer{
		DeadlineSeconds: seconds, Confidence: confidence, Met: answer.Met,
		Choice: out.Predictions[answer.Choice], Qualified: uint32(answer.Qualified),
	}
	return out, nil
}

// sweepNodes are the scale-outs of a sweep, rising.
func sweepNodes(asked []uint32) ([]int, error) {
	if len(asked) == 0 {
		return catalog.DefaultScaleOuts(), nil
	}
	out := make([]int, 0, len(asked))
	for _, n := range asked {
		if err := predict.ValidateScaleOut(int(n)); err != nil {
			return nil, badInput("nodes", fmt.Sprintf("must be between 1 and %d: %d", model.MaxScaleOut, n))
		}
		out = append(out, int(n))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// asked resolves what a prediction is asked for and fetches what peers know of it.
// Without machine types it takes those that the algorithm is known to have run on, or
// else the infrastructure's default ones.
func (a *Advisor) asked(ctx context.Context, target *karasuv1.PredictionTarget, types []string) (model.Workload, []catalog.MachineType, error) {
	w, err := a.predictionTarget(ctx, target)
	if err != nil {
		return w, nil, err
	}
	if len(types) > maxSweepTypes {
		return w, nil, badInput("machine types", fmt.Sprintf("are more than %d: %d", maxSweepTypes, len(types)))
	}
	var out []catalog.MachineType
	for _, name := range types {
		m, err := a.Catalog.Lookup(w.Infrastructure, name)
		if err != nil {
			return w, nil, err
		}
		if !slices.ContainsFunc(out, func(x catalog.MachineType) bool { return x.Name == m.Name }) {
			out = append(out, m)
		}
	}
	if !target.GetSolo() {
		a.Join(ctx, w.Topic())
	}
	if len(out) > 0 {
		return w, out, nil
	}
	known, err := a.knownTypes(ctx, &task{workload: w, settings: &karasuv1.SearchSettings{Solo: target.GetSolo()}})
	if err != nil {
		return w, nil, err
	}
	for _, name := range known {
		m, err := a.Catalog.Lookup(w.Infrastructure, name)
		if err != nil {
			return w, nil, err
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		out, err = a.Catalog.DefaultMachineTypes(w.Infrastructure, false)
	}
	return w, out, err
}

// maxSweepTypes bounds the machine types of one sweep.
const maxSweepTypes = 64

// options predicts every machine type at every number of nodes, machine types
// outermost.
func (o *outlook) options(ctx context.Context, machines []catalog.MachineType, nodes []int) ([]deadline.Option, error) {
	out := make([]deadline.Option, 0, len(machines)*len(nodes))
	for _, m := range machines {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := o.predictor(m.Name, m.Resources)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			d, err := p.Predict(n)
			if err != nil {
				return nil, err
			}
			out = append(out, deadline.Option{
				Configuration: model.Configuration{MachineType: m.Name, ScaleOut: n}, Runtime: d, USDPerHour: m.USDPerHour,
			})
		}
	}
	return out, nil
}

// runtimePrediction describes an option; seconds is the deadline, 0 none.
func runtimePrediction(o *deadline.Option, seconds float64) *karasuv1.RuntimePrediction {
	low, high := o.Runtime.Interval(interval)
	out := &karasuv1.RuntimePrediction{
		MachineType: o.Configuration.MachineType, Nodes: uint32(o.Configuration.ScaleOut),
		RuntimeSeconds: o.Runtime.Median(), RuntimeLowSeconds: low, RuntimeHighSeconds: high,
	}
	if usd, known := o.Cost(out.RuntimeSeconds); known {
		from, _ := o.Cost(low)
		to, _ := o.Cost(high)
		out.CostUsd, out.CostLowUsd, out.CostHighUsd = ptr(usd), ptr(from), ptr(to)
	}
	if seconds > 0 {
		out.ProbabilityOfMeetingDeadline = ptr(o.Runtime.Within(seconds))
	}
	return out
}
