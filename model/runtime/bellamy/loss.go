package bellamy

import (
	"math"
	"math/rand/v2"
)

// batch is what one step sees.
type batch struct {
	// scale is n x 3: the features of scale-outs.
	scale []float64
	// context has the context of each row; target the standardised ln(runtime).
	context []int
	target  []float64
	// properties is p x 40: the distinct vectors. essential and optional index them for
	// each context.
	properties          []float64
	essential, optional [][]int
}

// pass holds the values of one forward pass and the gradients of the backward one.
// Its buffers are reused: not safe for concurrent use.
type pass struct {
	l *layout
	// Values of the auto-encoder, and the masks of alpha dropout.
	hidden, code, decoded, output []float64
	hiddenMask, decodedMask       []float64
	// codes of each context, and what they contribute to the head's hidden layer.
	codes, head []float64
	// Values of f and z.
	f1, f2, z1, prediction []float64
	grad                   gradients
}

// gradients by the values of the same names.
type gradients struct {
	hidden, code, decoded, output []float64
	codes, head                   []float64
	f1, f2, z1, prediction        []float64
}

func newPass(l *layout, b *batch) *pass {
	n, p, c := len(b.target), len(b.properties)/propertySize, len(b.essential)
	mk := func(k int) []float64 { return make([]float64, k) }
	fill := func() (hidden, code, decoded, output, codes, head, f1, f2, z1, y []float64) {
		return mk(p * codeHidden), mk(p * codeSize), mk(p * codeHidden), mk(p * propertySize),
			mk(c * l.codes()), mk(c * headHidden), mk(n * scaleHidden), mk(n * scaleOut), mk(n * headHidden), mk(n)
	}
	ps := &pass{l: l, hiddenMask: mk(p * codeHidden), decodedMask: mk(p * codeHidden)}
	ps.hidden, ps.code, ps.decoded, ps.output, ps.codes, ps.head, ps.f1, ps.f2, ps.z1, ps.prediction = fill()
	g := &ps.grad
	g.hidden, g.code, g.decoded, g.output, g.codes, g.head, g.f1, g.f2, g.z1, g.prediction = fill()
	return ps
}

// dropout is alpha dropout: units that are dropped take the value that SELU tends
// to, all are scaled so that mean and variance stay (Klambauer et al., section 4).
type dropout struct {
	rate        float64
	random      *rand.Rand
	scale, bias float64
}

func newDropout(rate float64, random *rand.Rand) *dropout {
	if rate <= 0 {
		return nil
	}
	keep := 1 - rate
	scale := 1 / math.Sqrt(keep+alphaPrime*alphaPrime*keep*rate)
	return &dropout{rate: rate, random: random, scale: scale, bias: -scale * rate * alphaPrime}
}

// apply drops units of y and writes the derivative by each to mask.
func (d *dropout) apply(y, mask []float64) {
	for i, v := range y {
		if d == nil {
			mask[i] = 1
			continue
		}
		mask[i] = d.scale
		if d.random.Float64() < d.rate {
			v, mask[i] = alphaPrime, 0
		}
		y[i] = d.scale*v + d.bias
	}
}

// encode computes the codes of all contexts, with dropout d where that is not nil.
// The activations before dropout are not needed afterwards: slopes are folded into
// the masks.
func (ps *pass) encode(w []float64, b *batch, d *dropout) {
	l := ps.l
	clear(ps.hidden)
	dense(ps.hidden, b.properties, l.g1.of(w), propertySize, codeHidden)
	ps.drop(ps.hidden, ps.hiddenMask, d)
	clear(ps.code)
	dense(ps.code, ps.hidden, l.g2.of(w), codeHidden, codeSize)
	activate(ps.code)
	clear(ps.codes)
	for c := range b.essential {
		row := ps.codes[c*l.codes() : (c+1)*l.codes()]
		for i, p := range b.essential[c] {
			copy(row[i*codeSize:(i+1)*codeSize], ps.code[p*codeSize:(p+1)*codeSize])
		}
		mean := row[l.essentials*codeSize:]
		for _, p := range b.optional[c] {
			for k := range mean {
				mean[k] += ps.code[p*codeSize+k] / float64(len(b.optional[c]))
			}
		}
	}
	clear(ps.head)
	dense(ps.head, ps.codes, l.z1Code.of(w), l.codes(), headHidden)
}

func (ps *pass) drop(y, mask []float64, d *dropout) {
	activate(y)
	slopes := make([]float64, len(y))
	for i, v := range y {
		slopes[i] = seluSlope(v)
	}
	d.apply(y, mask)
	for i := range mask {
		mask[i] *= slopes[i]
	}
}

// decode reconstructs the properties.
func (ps *pass) decode(w []float64, d *dropout) {
	l := ps.l
	clear(ps.decoded)
	dense(ps.decoded, ps.code, l.h1.of(w), codeSize, codeHidden)
	ps.drop(ps.decoded, ps.decodedMask, d)
	clear(ps.output)
	dense(ps.output, ps.decoded, l.h2.of(w), codeHidden, propertySize)
}

// predict computes the predictions from the contexts' head.
func (ps *pass) predict(w []float64, b *batch) {
	l := ps.l
	clear(ps.f1)
	dense(ps.f1, b.scale, l.f1.of(w), scaleFeatures, scaleHidden)
	addRows(ps.f1, l.f1b.of(w))
	activate(ps.f1)
	clear(ps.f2)
	dense(ps.f2, ps.f1, l.f2.of(w), scaleHidden, scaleOut)
	addRows(ps.f2, l.f2b.of(w))
	activate(ps.f2)
	for i, c := range b.context {
		copy(ps.z1[i*headHidden:(i+1)*headHidden], ps.head[c*headHidden:(c+1)*headHidden])
	}
	dense(ps.z1, ps.f2, l.z1Scale.of(w), scaleOut, headHidden)
	addRows(ps.z1, l.z1b.of(w))
	activate(ps.z1)
	clear(ps.prediction)
	dense(ps.prediction, ps.z1, l.z2.of(w), headHidden, 1)
	addRows(ps.prediction, l.z2b.of(w))
}

// huberDelta is where the loss of a prediction turns from square to linear, in
// standard deviations of ln(runtime).
const huberDelta = 1.

// runtimeLoss returns the mean Huber loss and writes its gradient.
func (ps *pass) runtimeLoss(b *batch) float64 {
	var loss float64
	n := float64(len(b.target))
	for i, t := range b.target {
		e := ps.prediction[i] - t
		if a := math.Abs(e); a <= huberDelta {
			loss += e * e / 2 / n
			ps.grad.prediction[i] = e / n
		} else {
			loss += huberDelta * (a - huberDelta/2) / n
			ps.grad.prediction[i] = math.Copysign(huberDelta, e) / n
		}
	}
	return loss
}

// reconstructionLoss returns the mean squared error of properties and writes its
// gradient.
func (ps *pass) reconstructionLoss(b *batch) float64 {
	var loss float64
	n := float64(len(b.properties))
	for i, t := range b.properties {
		e := ps.output[i] - t
		loss += e * e / n
		ps.grad.output[i] = 2 * e / n
	}
	return loss
}

// backHead adds gradients of f and z to g, and sets those by the contexts' head.
func (ps *pass) backHead(g, w []float64, b *batch) {
	l, gr := ps.l, &ps.grad
	clear(gr.z1)
	denseBack(gr.z1, l.z2.of(g), gr.prediction, ps.z1, l.z2.of(w), headHidden, 1)
	sumRows(l.z2b.of(g), gr.prediction)
	deactivate(gr.z1, ps.z1)
	sumRows(l.z1b.of(g), gr.z1)
	clear(gr.head)
	for i, c := range b.context {
		for k := range headHidden {
			gr.head[c*headHidden+k] += gr.z1[i*headHidden+k]
		}
	}
	clear(gr.f2)
	denseBack(gr.f2, l.z1Scale.of(g), gr.z1, ps.f2, l.z1Scale.of(w), scaleOut, headHidden)
	deactivate(gr.f2, ps.f2)
	sumRows(l.f2b.of(g), gr.f2)
	clear(gr.f1)
	denseBack(gr.f1, l.f2.of(g), gr.f2, ps.f1, l.f2.of(w), scaleHidden, scaleOut)
	deactivate(gr.f1, ps.f1)
	sumRows(l.f1b.of(g), gr.f1)
	denseBack(nil, l.f1.of(g), gr.f1, b.scale, l.f1.of(w), scaleFeatures, scaleHidden)
	clear(gr.codes)
	denseBack(gr.codes, l.z1Code.of(g), gr.head, ps.codes, l.z1Code.of(w), l.codes(), headHidden)
}

// backCodes adds gradients of the auto-encoder, after [pass.backHead].
func (ps *pass) backCodes(g, w []float64, b *batch) {
	l, gr := ps.l, &ps.grad
	clear(gr.decoded)
	denseBack(gr.decoded, l.h2.of(g), gr.output, ps.decoded, l.h2.of(w), codeHidden, propertySize)
	for i := range gr.decoded {
		gr.decoded[i] *= ps.decodedMask[i]
	}
	clear(gr.code)
	denseBack(gr.code, l.h1.of(g), gr.decoded, ps.code, l.h1.of(w), codeSize, codeHidden)
	for c := range b.essential {
		row := gr.codes[c*l.codes() : (c+1)*l.codes()]
		for i, p := range b.essential[c] {
			for k := range codeSize {
				gr.code[p*codeSize+k] += row[i*codeSize+k]
			}
		}
		mean := row[l.essentials*codeSize:]
		for _, p := range b.optional[c] {
			for k, v := range mean {
				gr.code[p*codeSize+k] += v / float64(len(b.optional[c]))
			}
		}
	}
	deactivate(gr.code, ps.code)
	clear(gr.hidden)
	denseBack(gr.hidden, l.g2.of(g), gr.code, ps.hidden, l.g2.of(w), codeHidden, codeSize)
	for i := range gr.hidden {
		gr.hidden[i] *= ps.hiddenMask[i]
	}
	denseBack(nil, l.g1.of(g), gr.hidden, b.properties, l.g1.of(w), propertySize, codeHidden)
}

// step returns the loss of the whole network and writes its gradient to g.
func (ps *pass) step(g, w []float64, b *batch, d *dropout) float64 {
	clear(g)
	ps.encode(w, b, d)
	ps.decode(w, d)
	ps.predict(w, b)
	loss := ps.runtimeLoss(b) + ps.reconstructionLoss(b)
	ps.backHead(g, w, b)
	ps.backCodes(g, w, b)
	return loss
}
