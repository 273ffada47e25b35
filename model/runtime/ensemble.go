package predict

import (
	"math"
	"slices"
)

// Ensemble weighs general models, the own and those of peers, by how well each
// predicts the target's runs one after the other. Without runs all that are
// plausible count alike, and the median of them is what counts, so that a minority
// of bad models does not move the prediction far.
type Ensemble struct {
	// Members are the models, the own first where there is one.
	Members []General
	// Prior holds the log weight of each member before any run of the target; nil is 0
	// for all.
	Prior []float64
	// Anchored says that the first member rests on own runs, of this environment, and
	// the others are strangers': together they weigh what the weightiest of them does, at
	// most three times the own, and what they say counts up to the bounds of what the own
	// model holds for possible. So neither a bold stranger nor many move the prediction
	// far from where own runs are certain, and all help where they are not.
	Anchored bool
}

const (
	// ensembleNoise is added to each member's scale before its predictions are judged:
	// confident models are not preferred for being lucky by a percent.
	ensembleNoise = .05
	// A runtime that falls faster than 1/x to the power of 2.5, or rises faster than
	// with x, over the scale-outs of plausibleScaleOuts, is no runtime of a job; neither
	// is one that rises throughout. Such members are left out.
	steepest = -2.5
	// A member's share follows the inverse of its claimed variance, of which less than
	// minClaim squared counts as that, down to minVoice of the sharpest member's.
	minClaim = .03
	minVoice = .1
	shallow  = .15
	// Where the own model anchors the others, it has at least ownVoice of the weight;
	// their medians count up to anchorReach of its scales from its own, their scales up to
	// anchorScale times its own.
	ownVoice    = .25
	anchorReach = 2.5
	anchorScale = 2
)

// plausibleScaleOuts are where the shape is looked at.
var plausibleScaleOuts = []int{2, 12}

// conditioned is a member that knows the runs.
type conditioned struct {
	Predictor
	weight float64
	// index of the member.
	index int
}

// Condition implements [General]. Members that fail are left out; it fails with the
// last error where all do.
func (e Ensemble) Condition(target Context, runs []Observation) (Predictor, error) {
	t, err := e.Target(target)
	if err != nil {
		return nil, err
	}
	return t.Condition(runs)
}

// Target implements [Targeter].
func (e Ensemble) Target(target Context) (Target, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	out, last := &ensembleTarget{total: len(e.Members), prior: e.Prior, anchored: e.Anchored}, ErrNoRuns
	for i, g := range e.Members {
		t := Target(fixed{g, target})
		if tg, ok := g.(Targeter); ok {
			var err error
			if t, err = tg.Target(target); err != nil {
				last = err
				continue
			}
		}
		out.targets, out.index = append(out.targets, t), append(out.index, i)
	}
	if len(out.targets) == 0 {
		return nil, last
	}
	return out, nil
}

// fixed is the target of a general model that does nothing once for a context.
type fixed struct {
	General
	context Context
}

func (f fixed) Condition(runs []Observation) (Predictor, error) {
	return f.General.Condition(f.context, runs)
}

// ensembleTarget has those members that can say something of a context.
type ensembleTarget struct {
	targets []Target
	// index of each in the ensemble, of total members.
	index    []int
	total    int
	prior    []float64
	anchored bool
}

// Condition implements [Target].
func (e *ensembleTarget) Condition(runs []Observation) (Predictor, error) {
	if err := ValidateRuns(runs); err != nil {
		return nil, err
	}
	var members []conditioned
	var logs []float64
	last := ErrNoRuns
	for i, t := range e.targets {
		l, p, err := prequential(t, runs)
		if err != nil {
			last = err
			continue
		}
		if e.prior != nil {
			l += e.prior[e.index[i]]
		}
		members, logs = append(members, conditioned{p, 0, e.index[i]}), append(logs, l)
	}
	if len(members) == 0 {
		return nil, last
	}
	anchored := e.anchored && members[0].index == 0
	members, logs = plausible(members, logs, anchored)
	most := slices.Max(logs)
	var sum float64
	for i, l := range logs {
		members[i].weight = math.Exp(l - most)
		sum += members[i].weight
	}
	for i := range members {
		members[i].weight /= sum
	}
	return &EnsemblePredictor{members: members, total: e.total, anchored: anchored}, nil
}

// Weights implements [General]: an ensemble of others' models is not shared again.
func (Ensemble) Weights() (*Weights, error) { return nil, ErrNotPortable }

// prequential returns the log density of each run given those before it, summed, and
// the predictor that knows all of them.
func prequential(t Target, runs []Observation) (float64, Predictor, error) {
	var sum float64
	for i, r := range runs {
		p, err := t.Condition(runs[:i])
		if err != nil {
			return 0, nil, err
		}
		d, err := p.Predict(r.ScaleOut)
		if err != nil {
			return 0, nil, err
		}
		sum += d.logDensity(r.RuntimeSeconds)
	}
	p, err := t.Condition(runs)
	return sum, p, err
}

// logDensity of ln(seconds), up to a constant.
func (d Distribution) logDensity(seconds float64) float64 {
	scale := math.Hypot(d.Scale, ensembleNoise)
	t := (math.Log(seconds) - d.LogMedian) / scale
	a, _ := math.Lgamma((d.Freedom + 1) / 2)
	b, _ := math.Lgamma(d.Freedom / 2)
	return a - b - math.Log(d.Freedom)/2 - math.Log(scale) - (d.Freedom+1)/2*math.Log1p(t*t/d.Freedom)
}

// plausible leaves out members whose shape no job has, unless all are like that. An
// anchor, the first, stays.
func plausible(members []conditioned, logs []float64, anchored bool) ([]conditioned, []float64) {
	var kept []conditioned
	var keptLogs []float64
	low, high := plausibleScaleOuts[0], plausibleScaleOuts[1]
	for i, m := range members {
		if anchored && i == 0 {
			kept, keptLogs = append(kept, m), append(keptLogs, logs[i])
			continue
		}
		a, err := m.Predict(low)
		if err != nil {
			continue
		}
		b, err := m.Predict(high)
		if err != nil {
			continue
		}
		slope := (b.LogMedian - a.LogMedian) / math.Log(float64(high)/float64(low))
		if slope >= steepest && slope <= shallow {
			kept, keptLogs = append(kept, m), append(keptLogs, logs[i])
		}
	}
	if len(kept) == 0 {
		return members, logs
	}
	return kept, keptLogs
}

// EnsemblePredictor mixes the members' predictions.
type EnsemblePredictor struct {
	members  []conditioned
	total    int
	anchored bool
}

// voice is what a member says of one scale-out.
type voice struct {
	Distribution
	weight float64
	// index of the member.
	index int
}

// voices of the members at a scale-out; their weights add up to 1.
func (p *EnsemblePredictor) voices(scaleOut int) ([]voice, error) {
	voices := make([]voice, 0, len(p.members))
	for _, m := range p.members {
		d, err := m.Predict(scaleOut)
		if err != nil {
			return nil, err
		}
		voices = append(voices, voice{d, m.weight, m.index})
	}
	// Without many runs it counts who claims to know this context, within bounds: a
	// claim is cheap.
	sharpest := math.Inf(1)
	for _, v := range voices {
		sharpest = min(sharpest, v.Scale)
	}
	var total float64
	for i := range voices {
		r := max(sharpest, minClaim) / max(voices[i].Scale, minClaim)
		voices[i].weight *= max(r*r, minVoice)
		total += voices[i].weight
	}
	for i := range voices {
		voices[i].weight /= total
	}
	if p.anchored {
		anchor(voices)
	}
	return voices, nil
}

// anchor bounds the weight of all voices but the first.
func anchor(voices []voice) {
	own, strangers := &voices[0], voices[1:]
	var sum, most float64
	for _, v := range strangers {
		sum, most = sum+v.weight, max(most, v.weight)
	}
	if sum == 0 {
		own.weight = 1
		return
	}
	own.weight = max(own.weight/(own.weight+most), ownVoice)
	for i := range strangers {
		strangers[i].weight *= (1 - own.weight) / sum
	}
}

// bounded returns what counts of the voices beside the first, which anchors them.
func bounded(voices []voice) []voice {
	own, out := voices[0], slices.Clone(voices)
	for i := range out[1:] {
		v := &out[1+i]
		reach := anchorReach * own.Scale
		v.LogMedian = min(max(v.LogMedian, own.LogMedian-reach), own.LogMedian+reach)
		v.Scale = min(v.Scale, anchorScale*own.Scale)
	}
	return out
}

// Opinion is what one member says, and its share of the weight.
type Opinion struct {
	Share float64
	// Median is the logarithm of its median runtime in seconds; not a number for members
	// that were left out, which have no share.
	Median float64
}

// Opinions returns those of the members of the ensemble at a scale-out, in its order.
// Shares add up to 1.
func (p *EnsemblePredictor) Opinions(scaleOut int) ([]Opinion, error) {
	voices, err := p.voices(scaleOut)
	if err != nil {
		return nil, err
	}
	out := make([]Opinion, p.total)
	for i := range out {
		out[i].Median = math.NaN()
	}
	for _, v := range voices {
		out[v.index] = Opinion{v.weight, v.LogMedian}
	}
	return out, nil
}

// Predict implements [Predictor]: the weighted median of the members' medians, with
// the members' disagreement in its scale.
func (p *EnsemblePredictor) Predict(scaleOut int) (Distribution, error) {
	voices, err := p.voices(scaleOut)
	if err != nil {
		return Distribution{}, err
	}
	if p.anchored {
		voices = bounded(voices)
	}
	slices.SortFunc(voices, func(a, b voice) int {
		switch {
		case a.LogMedian < b.LogMedian:
			return -1
		case a.LogMedian > b.LogMedian:
			return 1
		}
		return 0
	})
	// The middle half of the weight, averaged: for two members their mean, for many
	// nearly the median.
	var median, below, weight float64
	for _, v := range voices {
		w := max(min(below+v.weight, .75)-max(below, .25), 0)
		median += w * v.LogMedian
		weight += w
		below += v.weight
	}
	median /= weight
	var square, freedom float64
	for _, v := range voices {
		e := v.LogMedian - median
		square += v.weight * (v.Scale*v.Scale + e*e)
		freedom += v.weight * v.Freedom
	}
	return NewDistribution(median, math.Sqrt(square), freedom)
}
