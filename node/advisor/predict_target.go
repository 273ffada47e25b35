package advisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// predictionTarget returns the workload that a prediction is asked for. What the
// target leaves open is taken from the latest run of its job, if it names one.
func (a *Advisor) predictionTarget(ctx context.Context, m *karasuv1.PredictionTarget) (model.Workload, error) {
	given, err := argumentsOf(m)
	if err != nil {
		return model.Workload{}, err
	}
	w := model.Workload{
		Infrastructure: m.GetInfrastructure(), Framework: m.GetFramework(), Algorithm: m.GetAlgorithm(),
		Job: m.GetJob(), InputBytes: m.GetInputBytes(), Arguments: given,
	}.Normalize()
	switch {
	case w.Job != "":
		w, err = a.completed(ctx, w)
	case w.Infrastructure == "" && w.Framework != "" && w.Algorithm != "":
		w.Infrastructure, err = a.infrastructureOf(ctx, w.Framework, w.Algorithm)
	}
	if err != nil {
		return model.Workload{}, err
	}
	return w, w.Validate()
}

// infrastructureOf returns the only infrastructure on which the organisation ran an
// algorithm or, if it never did, peers.
func (a *Advisor) infrastructureOf(ctx context.Context, framework, name string) (string, error) {
	runs, err := a.Runs.Runs(ctx, private.Filter{})
	if err != nil {
		return "", err
	}
	var own, peers []string
	for _, r := range runs {
		if w := r.Workload; w.Framework == framework && w.Algorithm == name {
			own = append(own, w.Infrastructure)
		}
	}
	for _, e := range a.Commons.Usable(func(t model.Topic) bool { return t.Framework == framework && t.Algorithm == name }) {
		peers = append(peers, e.Topic.Infrastructure)
	}
	for _, found := range [][]string{own, peers} {
		slices.Sort(found)
		switch found = slices.Compact(found); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", badInput("infrastructure", "is missing, and several are known: "+strings.Join(found, ", "))
		}
	}
	return "", badInput("infrastructure", fmt.Sprintf("is missing, such as aws-ec2, and nothing is known of %s/%s that would tell it", framework, name))
}

// argumentsOf refuses an argument that is given twice, also with one value.
func argumentsOf(m *karasuv1.PredictionTarget) (model.Arguments, error) {
	as, err := wire.ToArguments(m.GetArguments())
	if err == nil && len(as) < len(m.GetArguments()) {
		var names []string
		for _, x := range m.GetArguments() {
			names = append(names, strings.ToLower(strings.TrimSpace(x.GetName())))
		}
		slices.Sort(names)
		for i, name := range names[1:] {
			if names[i] == name {
				return nil, badInput("argument "+name, "is given twice")
			}
		}
	}
	return as, err
}

// completed fills in what is not given from the latest run of the job that has what
// is given.
func (a *Advisor) completed(ctx context.Context, w model.Workload) (model.Workload, error) {
	runs, err := a.Runs.Runs(ctx, private.Filter{Job: w.Job})
	if err != nil {
		return w, err
	}
	given := func(want, got string) bool { return want == "" || want == got }
	for _, r := range slices.Backward(runs) {
		l := r.Workload
		if !given(w.Infrastructure, l.Infrastructure) || !given(w.Framework, l.Framework) || !given(w.Algorithm, l.Algorithm) {
			continue
		}
		w.Infrastructure, w.Framework, w.Algorithm = l.Infrastructure, l.Framework, l.Algorithm
		w.InputBytes = cmp.Or(w.InputBytes, l.InputBytes)
		for _, x := range l.Arguments {
			if _, ok := w.Arguments.Get(x.Name); !ok {
				w.Arguments = append(w.Arguments, x)
			}
		}
		w.Arguments = w.Arguments.Normalize()
		return w, nil
	}
	if len(runs) > 0 {
		return w, badInput("job", fmt.Sprintf("%q has %s, but none on that infrastructure with that framework and algorithm", w.Job, count(len(runs), "run")))
	}
	return w, badInput("job", fmt.Sprintf("%q has no stored run to take input and arguments from; leave it out, or see `karasu runs list`", w.Job))
}

// fromTarget says what was asked after all.
func fromTarget(w model.Workload, solo bool) *karasuv1.PredictionTarget {
	return &karasuv1.PredictionTarget{
		Infrastructure: w.Infrastructure, Framework: w.Framework, Algorithm: w.Algorithm, Job: w.Job,
		InputBytes: w.InputBytes, Arguments: wire.FromArguments(w.Arguments), Solo: solo,
	}
}
