package advisor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

const (
	// maxTrialContexts bounds the own contexts that models are tried on, and trialFolds
	// how often the own model is conditioned on the rest: one of 1,000 medians takes a
	// third of a second.
	maxTrialContexts = 16
	trialFolds       = 4
	// maxVerdicts bounds the peers' models whose scores are kept.
	maxVerdicts = 256
	// responsible is the factor of input size up to which a model counts as wrong and not
	// as used too far outside.
	responsible = 4
)

// trials compare peers' models with the own one in own contexts of one infrastructure.
type trials struct {
	// contexts are indices of own histories.
	contexts  []int
	histories []predict.History
	// own are the scores of the own model without the context.
	own []predict.Score

	mu sync.Mutex
	// verdicts are the scores of peers' models by who and what they are; not a number
	// where they cannot say anything.
	verdicts map[string][]predict.Score
}

// unknown is the score of a model that says nothing.
var unknown = predict.Score{Density: math.NaN(), Surprise: math.NaN()}

// try makes sure that every peer's model was tried on own contexts.
func (o *outlook) try(ctx context.Context) error {
	if len(o.peers) == 0 {
		return nil
	}
	var err error
	if o.trials, err = o.own.trialsOn(ctx, o.workload.Infrastructure); err != nil {
		return err
	}
	for _, p := range o.peers {
		if err := o.trials.try(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// runsOn says whether some own context is of an infrastructure.
func (f *ownFit) runsOn(infrastructure string) bool {
	return slices.ContainsFunc(f.histories, func(h predict.History) bool { return h.Context.Environment == infrastructure })
}

// trialsOn returns the trials of an infrastructure. The error is the context's.
func (f *ownFit) trialsOn(ctx context.Context, infrastructure string) (*trials, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.trials[infrastructure]; t != nil {
		return t, nil
	}
	t := &trials{verdicts: map[string][]predict.Score{}}
	for i, h := range f.histories {
		if h.Context.Environment == infrastructure {
			t.contexts = append(t.contexts, i)
		}
	}
	if n := len(t.contexts); n > maxTrialContexts {
		for k := range maxTrialContexts {
			t.contexts[k] = t.contexts[k*n/maxTrialContexts]
		}
		t.contexts = t.contexts[:maxTrialContexts]
	}
	for _, i := range t.contexts {
		t.histories, t.own = append(t.histories, f.histories[i]), append(t.own, unknown)
	}
	for fold := range min(trialFolds, len(t.contexts)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var rest []predict.History
		for i, h := range f.histories {
			if k := slices.Index(t.contexts, i); k < 0 || k%trialFolds != fold {
				rest = append(rest, h)
			}
		}
		if len(rest) == 0 {
			continue
		}
		g, err := f.general.(predict.Refitter).Refit(rest)
		if err != nil {
			continue // what the own model cannot say is no measure
		}
		for k := fold; k < len(t.contexts); k += trialFolds {
			t.own[k] = score(g, t.histories[k])
		}
	}
	if f.trials == nil {
		f.trials = map[string]*trials{}
	}
	f.trials[infrastructure] = t
	return t, nil
}

// score is what a model makes of a context of which it does not know the runs.
func score(g predict.General, h predict.History) predict.Score {
	s, err := predict.Try(g, h)
	if err != nil {
		return unknown
	}
	return s
}

// key tells peers' models apart.
func (p *peerModel) key() string { return p.author + " " + p.id }

// try scores a peer's model, once.
func (t *trials) try(ctx context.Context, p *peerModel) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.general == nil || t.verdicts[p.key()] != nil {
		return nil
	}
	if len(t.verdicts) >= maxVerdicts {
		clear(t.verdicts)
	}
	extent, err := structured.ExtentOf(p.weights)
	if err != nil {
		extent = nil // of another family, which says nothing of its extent
	}
	scores := make([]predict.Score, 0, len(t.histories))
	for _, h := range t.histories {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := unknown
		if extent == nil || near(extent.InputBytes, h.Context.InputBytes) {
			s = score(p.general, h)
		}
		scores = append(scores, s)
	}
	t.verdicts[p.key()] = scores
	return nil
}

// near says whether an input is within a factor of an extent, so that a model of it can
// be held responsible for what it says. What it says elsewhere is bounded by the own
// model all the same.
func near(r structured.Range, bytes float64) bool {
	return bytes == predict.Unknown || sizeless(r) || bytes >= r.Least/responsible && bytes <= r.Largest*responsible
}

// trust is the log weight of a peer's model by its trials, but not in one own context,
// -1 is none, whose runs are judged apart.
func (t *trials) trust(p *peerModel, without int) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var own, other []predict.Score
	for k, s := range t.verdicts[p.key()] {
		if t.contexts[k] != without && !math.IsNaN(s.Density) {
			own, other = append(own, t.own[k]), append(other, s)
		}
	}
	return predict.Trust(own, other)
}

// disagreement is where two sources differ most.
type disagreement struct {
	// Logarithms of the shortest and the longest median, in seconds; own is the own
	// model's, not a number where there is none.
	least, most, own float64
	where            string
}

// farApart is the factor between two sources that is worth a word.
const farApart = 3

// hear takes in what the members say of a configuration.
func (d *disagreement) hear(opinions []predict.Opinion, own bool, machineType string, nodes int) {
	x := disagreement{least: math.Inf(1), most: math.Inf(-1), own: math.NaN(), where: fmt.Sprintf("%dx%s", nodes, machineType)}
	for i, o := range opinions {
		switch {
		case math.IsNaN(o.Median):
			continue
		case own && i == 0:
			x.own = o.Median
		}
		x.least, x.most = min(x.least, o.Median), max(x.most, o.Median)
	}
	if x.most-x.least > d.most-d.least {
		*d = x
	}
}

// note says where sources differ by more than a factor of three; "" is nowhere.
func (d *disagreement) note() string {
	if d.most-d.least <= math.Log(farApart) {
		return ""
	}
	text := fmt.Sprintf("sources differ: of %s peers' models say %s to %s", d.where, asTime(d.least), asTime(d.most))
	if !math.IsNaN(d.own) {
		text = fmt.Sprintf("sources differ: of %s your runs say %s, all models %s to %s; those that contradict your runs have little weight",
			d.where, asTime(d.own), asTime(d.least), asTime(d.most))
	}
	return text
}

// asTime writes e^log seconds.
func asTime(log float64) string {
	s := math.Exp(log)
	if s < 1 || s > 1e6 {
		return fmt.Sprintf("%.3g s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
