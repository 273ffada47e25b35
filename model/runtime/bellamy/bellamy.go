package bellamy

import (
	"context"
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

// Variant says what fine-tuning does to the pre-trained network. The auto-encoder
// stays as it is in all of them (section III-E).
type Variant int

// The variants of section IV-C.
const (
	// PartialUnfreeze trains z, and f from the middle on.
	PartialUnfreeze Variant = iota
	// FullUnfreeze trains z and f from the start.
	FullUnfreeze
	// PartialReset forgets z first.
	PartialReset
	// FullReset forgets z and f first.
	FullReset
	// Local is not pre-trained at all.
	Local
)

var variantNames = map[Variant]string{
	PartialUnfreeze: "partial-unfreeze", FullUnfreeze: "full-unfreeze",
	PartialReset: "partial-reset", FullReset: "full-reset", Local: "local",
}

// String returns the paper's name.
func (v Variant) String() string { return variantNames[v] }

// Variants are all.
var Variants = []Variant{PartialUnfreeze, FullUnfreeze, PartialReset, FullReset, Local}

// Learner pre-trains networks.
type Learner struct{ Variant Variant }

// Name implements [predict.Learner].
func (l Learner) Name() string { return "bellamy-" + l.Variant.String() }

// Fit implements [predict.Learner]. It takes seconds for hundreds of contexts and
// scale-outs.
func (l Learner) Fit(ctx context.Context, history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	var used []predict.History
	runs := 0
	for _, h := range history {
		if len(h.Runs) > 0 {
			used = append(used, h)
			runs += len(h.Runs)
		}
	}
	g := &General{variant: l.Variant, schema: newSchema(history), contexts: len(used), runs: runs}
	g.layout = newLayout(g.schema.essentials())
	if l.Variant == Local || len(used) == 0 {
		return g, ctx.Err()
	}
	g.norms = newNorms(used)
	var err error
	g.weights, err = pretrain(ctx, &g.layout, g.schema, g.norms, used)
	return g, err
}

// General is a pre-trained network.
type General struct {
	variant        Variant
	schema         schema
	layout         layout
	norms          norms
	contexts, runs int
	// weights are nil where nothing was trained.
	weights []float64
}

// With returns the same network with another way to fine-tune it.
func (g *General) With(v Variant) *General {
	c := *g
	c.variant = v
	return &c
}

// Condition implements [predict.General].
func (g *General) Condition(target predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	if err := predict.ValidateRuns(runs); err != nil {
		return nil, err
	}
	if g.weights == nil && len(runs) == 0 {
		return nil, predict.ErrNoRuns
	}
	k := g.norms
	known := []predict.History{{Context: target, Runs: runs}}
	if g.weights == nil {
		k = newNorms(known)
	}
	b, err := newBatch(g.schema, k, known)
	if err != nil {
		return nil, err
	}
	t := newTuner(g, b)
	t.tune()
	p := &predictor{norms: k, residual: t.residual() * k.sd, freedom: residualFreedom}
	if p.curve, err = t.curve(); err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		p.residual = untunedResidual
	}
	return p, nil
}

const (
	// untunedResidual is the usual error of ln(runtime) without a run of the context.
	untunedResidual = .1
	// minResidual is what few runs do not show.
	minResidual     = .06
	residualFreedom = 4
	// maxDeviation from the mean ln(runtime) that training saw, in standard deviations:
	// a network that was tuned to two runs may say anything elsewhere.
	maxDeviation = 3.5
)

// predictor holds the fine-tuned f and z, of which the context is fixed.
type predictor struct {
	norms    norms
	curve    *curve
	residual float64
	freedom  float64
}

// Predict implements [predict.Predictor].
func (p *predictor) Predict(scaleOut int) (predict.Distribution, error) {
	if err := predict.ValidateScaleOut(scaleOut); err != nil {
		return predict.Distribution{}, err
	}
	v := p.curve.at(p.norms.scale(float64(scaleOut)))
	v = p.norms.mean + p.norms.sd*min(max(v, -maxDeviation), maxDeviation)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return predict.Distribution{}, fmt.Errorf("%w: network says %g", predict.ErrNumeric, v)
	}
	return predict.NewDistribution(v, max(p.residual, minResidual), p.freedom)
}
