package advisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// ErrNoModel means that nothing is known that a runtime could be predicted from.
var ErrNoModel = errors.New("no runtimes can be predicted")

// outlook is all that is known of the runtimes of one job. Not safe for concurrent
// use.
type outlook struct {
	workload model.Workload
	own      *ownFit
	peers    []*peerModel
	// elsewhere are infrastructures of which peers share models.
	elsewhere []string
	// trials are the scores of the own model in own contexts of the infrastructure,
	// which are those of the peers' models, too.
	trials *trials
	// tally is of what was predicted so far.
	tally tally
}

// tally sums up what predictions rest on.
type tally struct {
	predictions int
	// leastNodes and mostNodes were asked for.
	leastNodes, mostNodes int
	// own is the share of the own model, peers those of the peers' models.
	own   float64
	peers []float64
	// problems say why a peer's model has no say.
	problems []error
	// contexts of the own history that were asked for, by index.
	contexts map[int]bool
	// apart is where sources differ most.
	apart disagreement
}

// outlook gathers the models for a job, without those of its runs that are of the
// workload with an identity ("" is none). The error wraps [ErrNoModel] where there is no
// model.
func (a *Advisor) outlook(ctx context.Context, w model.Workload, solo bool, without string) (*outlook, error) {
	own, err := a.ownFit(ctx, algorithm{w.Framework, w.Algorithm, without})
	if err != nil {
		return nil, err
	}
	o := &outlook{workload: w, own: own}
	if !solo {
		if o.peers, o.elsewhere, err = a.runtimeModels(w); err != nil {
			return nil, err
		}
	}
	o.tally = tally{peers: make([]float64, len(o.peers)), problems: make([]error, len(o.peers)), contexts: map[int]bool{}}
	usable := false
	for i, m := range o.peers {
		o.tally.problems[i] = m.err
		usable = usable || m.err == nil
	}
	if len(own.histories) == 0 && !usable {
		if err := o.peersLack(); err != nil {
			return nil, err
		}
		return nil, o.nothing(solo)
	}
	return o, o.try(ctx)
}

// nothing says why there is no prediction and what to do about it.
func (o *outlook) nothing(solo bool) error {
	known := fmt.Sprintf("%s/%s on %s", o.workload.Framework, o.workload.Algorithm, o.workload.Infrastructure)
	runs := "import runs of it (karasu import csv FILE)"
	switch {
	case o.own.skipped.Total() > 0 && o.own.skipped.Incomplete == o.own.skipped.Total():
		return fmt.Errorf("%w: none of your %s of %s/%s was completed: all failed or were stopped; %s", ErrNoModel,
			count(o.own.skipped.Total(), "run"), o.workload.Framework, o.workload.Algorithm, runs)
	case o.own.skipped.Total() > 0:
		return fmt.Errorf("%w: none of your %s of %s/%s was completed on a machine type that the catalog knows; %s", ErrNoModel,
			count(o.own.skipped.Total(), "run"), o.workload.Framework, o.workload.Algorithm, runs)
	case solo:
		return fmt.Errorf("%w: you have no runs of %s/%s; %s, or ask without --solo", ErrNoModel, o.workload.Framework, o.workload.Algorithm, runs)
	case len(o.peers) > 0:
		return fmt.Errorf("%w: you have no runs of %s/%s, and none of %s of %s can be used (%w); %s", ErrNoModel,
			o.workload.Framework, o.workload.Algorithm, count(len(o.peers), "peer model"), known, o.peers[0].err, runs)
	}
	return fmt.Errorf("%w: you have no runs of %s/%s, and no peer shares a runtime model of %s%s; %s, or connect to peers that share runtime models (karasu peers)",
		ErrNoModel, o.workload.Framework, o.workload.Algorithm, known, onElsewhere(o.elsewhere), runs)
}

// view is an outlook on one machine type.
type view struct {
	*predict.EnsemblePredictor
	o *outlook
	// own says that the first member is the own model; peers are the indices of the
	// peers' models that the others are.
	own   bool
	peers []int
	// machineType is for what is said of it.
	machineType string
}

// Predict implements [predict.Predictor] and counts what it rests on.
func (v *view) Predict(scaleOut int) (predict.Distribution, error) {
	opinions, err := v.Opinions(scaleOut)
	if err != nil {
		return predict.Distribution{}, err
	}
	t := &v.o.tally
	if t.predictions == 0 || scaleOut < t.leastNodes {
		t.leastNodes = scaleOut
	}
	t.predictions, t.mostNodes = t.predictions+1, max(t.mostNodes, scaleOut)
	t.apart.hear(opinions, v.own, v.machineType, scaleOut)
	if v.own {
		t.own += opinions[0].Share
		opinions = opinions[1:]
	}
	for k, i := range v.peers {
		t.peers[i] += opinions[k].Share
	}
	return v.EnsemblePredictor.Predict(scaleOut)
}

// predictor predicts the job's runtimes on a machine type. Errors wrap
// [model.ErrInvalid] where the job's description does not fit what is known.
func (o *outlook) predictor(machineType string, r model.Resources) (predict.Predictor, error) {
	c := predict.ContextOf(o.workload, machineType, r)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var ensemble predict.Ensemble
	own := o.own.find(c)
	var runs []predict.Observation
	if own >= 0 {
		runs = o.own.histories[own].Runs
		o.tally.contexts[own] = true
	}
	general, err := o.own.without(own)
	if err != nil {
		return nil, err
	}
	if general != nil {
		if texts := predict.TextArguments(o.own.histories); len(texts) > 0 {
			general = spelling{general, texts}
		}
		if err := o.ownLack(); err != nil {
			return nil, err
		}
		if err := check(general, c); err != nil {
			return nil, err
		}
		ensemble.Members, ensemble.Prior = append(ensemble.Members, general), append(ensemble.Prior, 0)
		ensemble.Anchored = o.own.runsOn(c.Environment)
	}
	var members []int // of the peers' models
	var last error
	for i, p := range o.peers {
		if p.general == nil {
			continue
		}
		if err := check(p.general, c); err != nil {
			o.tally.problems[i], last = err, err
			continue
		}
		ensemble.Members, members = append(ensemble.Members, p.general), append(members, i)
		ensemble.Prior = append(ensemble.Prior, o.trials.trust(p, own))
	}
	if len(ensemble.Members) == 0 {
		return nil, last
	}
	p, err := ensemble.Condition(c, runs)
	if err != nil {
		return nil, err
	}
	return &view{p.(*predict.EnsemblePredictor), o, general != nil, members, machineType}, nil
}

// check says whether a model can say something about a context at all.
func check(g predict.General, c predict.Context) error {
	_, err := predict.Ensemble{Members: []predict.General{g}}.Target(c)
	return err
}
