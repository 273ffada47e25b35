package bellamy

import "math"

// Sizes of the network (section III-D and table I).
const (
	scaleFeatures = 3
	scaleHidden   = 16
	scaleOut      = 8
	codeHidden    = 8
	codeSize      = 4
	headHidden    = 8
)

// span is a part of the flat weights.
type span struct{ from, to int }

func (s span) of(w []float64) []float64 { return w[s.from:s.to] }

// layout of the flat weights for a number of essential properties. Matrices are
// inputs x outputs in row-major order. The auto-encoder has no biases.
type layout struct {
	essentials                    int
	f1, f1b, f2, f2b              span
	g1, g2, h1, h2                span
	z1Scale, z1Code, z1b, z2, z2b span
	total                         int
}

func newLayout(essentials int) layout {
	l := layout{essentials: essentials}
	next := func(n int) span {
		s := span{l.total, l.total + n}
		l.total += n
		return s
	}
	l.f1, l.f1b = next(scaleFeatures*scaleHidden), next(scaleHidden)
	l.f2, l.f2b = next(scaleHidden*scaleOut), next(scaleOut)
	l.g1, l.g2 = next(propertySize*codeHidden), next(codeHidden*codeSize)
	l.h1, l.h2 = next(codeSize*codeHidden), next(codeHidden*propertySize)
	l.z1Scale, l.z1Code = next(scaleOut*headHidden), next(l.codes()*headHidden)
	l.z1b, l.z2, l.z2b = next(headHidden), next(headHidden), next(1)
	return l
}

// codes is the length of a context's codes: the essential ones and the mean of the
// optional ones.
func (l *layout) codes() int { return (l.essentials + 1) * codeSize }

// Parts of the network that variants train.
func (l *layout) scalePart() span { return span{l.f1.from, l.f2b.to} }
func (l *layout) headPart() span  { return span{l.z1Scale.from, l.z2b.to} }

// SELU (Klambauer et al., NeurIPS 2017).
const (
	seluAlpha = 1.6732632423543772
	seluScale = 1.0507009873554805
	// alphaPrime is what SELU tends to for large negative inputs: the value of dropped
	// units in alpha dropout.
	alphaPrime = -seluAlpha * seluScale
)

func selu(v float64) float64 {
	if v > 0 {
		return seluScale * v
	}
	return seluScale * seluAlpha * (math.Exp(v) - 1)
}

// seluSlope is the derivative in terms of the value of [selu].
func seluSlope(y float64) float64 {
	if y > 0 {
		return seluScale
	}
	return y + seluScale*seluAlpha
}

// dense adds x w to y: x is n x in, w is in x out, y is n x out.
func dense(y, x, w []float64, in, out int) {
	n := len(y) / out
	for i := range n {
		row := y[i*out : i*out+out]
		for k, v := range x[i*in : i*in+in] {
			if v == 0 {
				continue // property vectors are mostly zero
			}
			for o, c := range w[k*out : k*out+out] {
				row[o] += v * c
			}
		}
	}
}

// denseBack adds the gradients of [dense]: gw += x' gy, and gx += gy w' unless gx is
// nil.
func denseBack(gx, gw, gy, x, w []float64, in, out int) {
	n := len(gy) / out
	for i := range n {
		row := gy[i*out : i*out+out]
		for k, v := range x[i*in : i*in+in] {
			var s float64
			gwk, wk := gw[k*out:k*out+out], w[k*out:k*out+out]
			for o, g := range row {
				gwk[o] += v * g
				s += g * wk[o]
			}
			if gx != nil {
				gx[i*in+k] += s
			}
		}
	}
}

// addRows adds b to every row of y.
func addRows(y, b []float64) {
	for i := 0; i < len(y); i += len(b) {
		for o, v := range b {
			y[i+o] += v
		}
	}
}

// sumRows adds the rows of g to b.
func sumRows(b, g []float64) {
	for i := 0; i < len(g); i += len(b) {
		for o := range b {
			b[o] += g[i+o]
		}
	}
}

func activate(y []float64) {
	for i, v := range y {
		y[i] = selu(v)
	}
}

// deactivate turns gradients by the value of SELU into those by its input.
func deactivate(g, y []float64) {
	for i := range g {
		g[i] *= seluSlope(y[i])
	}
}
