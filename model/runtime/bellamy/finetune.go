package bellamy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/karasu-project/karasu/model/runtime"
)

// Settings of fine-tuning. It ends early where the runs are met to within
// tuneTarget, which is the noise of a run: what follows that leads astray elsewhere.
const (
	tuneEpochs  = 600
	localEpochs = 1500
	tuneRate    = 1e-3
	resetRate   = 1e-2
	// tuneDecay is weight decay.
	tuneDecay = 1e-3
	// tuneTarget is the mean absolute error of ln(runtime) at which it ends.
	tuneTarget = .03
)

// tuner fine-tunes one network to one context.
type tuner struct {
	g *General
	b *batch
	w []float64
	p *pass
}

// newTuner prepares the weights as the variant wants them. The codes of the context
// are computed once.
func newTuner(g *General, b *batch) *tuner {
	l := &g.layout
	t := &tuner{g: g, b: b, w: append([]float64(nil), g.weights...), p: newPass(l, b)}
	r := rand.New(rand.NewPCG(2, uint64(l.total))) // the same start every time
	if g.weights == nil {
		t.w = make([]float64, l.total)
		l.initialise(t.w, span{0, l.total}, r)
	}
	if len(b.target) > 0 {
		switch g.variant {
		case PartialReset:
			l.initialise(t.w, l.headPart(), r)
		case FullReset:
			l.initialise(t.w, l.scalePart(), r)
			l.initialise(t.w, l.headPart(), r)
		}
	}
	t.p.encode(t.w, b, nil)
	return t
}

// tune minimises the Huber loss on the runs.
func (t *tuner) tune() {
	if len(t.b.target) == 0 {
		return
	}
	l := &t.g.layout
	part := span{l.headPart().from, l.headPart().to}
	epochs, rate, unfreeze := tuneEpochs, tuneRate, 0
	switch {
	case t.g.weights == nil:
		epochs, rate = localEpochs, resetRate
	case t.g.variant == PartialUnfreeze:
		unfreeze = epochs / 2
	case t.g.variant == PartialReset:
		rate, unfreeze = resetRate, epochs/2
	case t.g.variant == FullReset:
		rate = resetRate
	}
	target := tuneTarget / t.sd()
	g, head, scale := make([]float64, l.total), newAdam(l.total), newAdam(l.total)
	for e := range epochs {
		// Only the head's weights of the codes change here, not the codes.
		clear(t.p.head)
		dense(t.p.head, t.p.codes, l.z1Code.of(t.w), l.codes(), headHidden)
		t.p.predict(t.w, t.b)
		t.p.runtimeLoss(t.b)
		if t.meanError() < target {
			break
		}
		clear(g)
		t.p.backHead(g, t.w, t.b)
		head.step(t.w, g, part, rate, tuneDecay)
		if e >= unfreeze {
			scale.step(t.w, g, l.scalePart(), rate, tuneDecay)
		}
	}
	clear(t.p.head)
	dense(t.p.head, t.p.codes, l.z1Code.of(t.w), l.codes(), headHidden)
}

func (t *tuner) sd() float64 {
	if t.g.weights == nil {
		return 1
	}
	return t.g.norms.sd
}

func (t *tuner) meanError() float64 {
	var s float64
	for i, v := range t.b.target {
		s += math.Abs(t.p.prediction[i]-v) / float64(len(t.b.target))
	}
	return s
}

// residual is the mean absolute error of the standardised ln(runtime) on the runs.
func (t *tuner) residual() float64 {
	if len(t.b.target) == 0 {
		return 0
	}
	t.p.predict(t.w, t.b)
	return t.meanError()
}

// curve is f and z with the context's codes folded into a bias: a function of the
// scale-out only, safe for concurrent use.
type curve struct {
	f1, f1b, f2, f2b, z1, z1b, z2 []float64
	z2b                           float64
}

// curve returns the function of the scale-out. It wraps [predict.ErrNumeric] where
// a weight is not finite.
func (t *tuner) curve() (*curve, error) {
	l := &t.g.layout
	for _, v := range t.w {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%w: network has a weight of %g", predict.ErrNumeric, v)
		}
	}
	c := &curve{
		f1: l.f1.of(t.w), f1b: l.f1b.of(t.w), f2: l.f2.of(t.w), f2b: l.f2b.of(t.w),
		z1: l.z1Scale.of(t.w), z1b: append([]float64(nil), l.z1b.of(t.w)...), z2: l.z2.of(t.w), z2b: l.z2b.of(t.w)[0],
	}
	for i := range c.z1b {
		c.z1b[i] += t.p.head[i]
	}
	return c, nil
}

// at returns the standardised ln(runtime).
func (c *curve) at(x [scaleFeatures]float64) float64 {
	var h [scaleHidden]float64
	copy(h[:], c.f1b)
	dense(h[:], x[:], c.f1, scaleFeatures, scaleHidden)
	activate(h[:])
	var e [scaleOut]float64
	copy(e[:], c.f2b)
	dense(e[:], h[:], c.f2, scaleHidden, scaleOut)
	activate(e[:])
	var z [headHidden]float64
	copy(z[:], c.z1b)
	dense(z[:], e[:], c.z1, scaleOut, headHidden)
	activate(z[:])
	y := c.z2b
	for i, v := range z {
		y += v * c.z2[i]
	}
	return y
}
