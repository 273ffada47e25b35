package structured

import "math"

// node is a scale-out as the kernel sees it.
type node struct {
	x float64
	// z = ln(x/5).
	z float64
	// w = (1 - (x/2)^-q) / q, the warped scale-out, which flattens out as speed-ups do,
	// and its derivative by q.
	w, dw float64
}

func newNode(x, q float64) node {
	l := math.Log(x / 2)
	t := math.Exp(-q * l)
	return node{x: x, z: math.Log(x / anchorScaleOut), w: (1 - t) / q, dw: t*l/q - (1-t)/(q*q)}
}

// squares are the constants in the form in which the kernel uses them.
type squares struct {
	p Params
	// v are squares of all constants.
	v [numParams]float64
}

func (p *Params) squares() *squares {
	s := &squares{p: *p}
	for i, c := range p {
		s.v[i] = c * c
	}
	return s
}

// pair is what the kernel has to know of two contexts, whatever the scale-outs.
type pair struct {
	// Products of linear features.
	cores, memory, size, args float64
	// argMatern is the sum of Matern terms of arguments, of unit amplitude, and its
	// derivative by the logarithm of the length.
	argMatern, argMaternLen float64
	// data and machine are squared distances Dc and Dm.
	data, machine float64
	// rough is exp(-Dc - Dm/1.8^2).
	rough float64
	// ratio is the difference of ln(GB/GiB a node).
	ratio                          float64
	sameMachine, twin, sameContext bool
	// level and slope are the sums of all terms that are constant or linear in z.
	level, slope float64
}

func (k *squares) pair(a, b *encoded, sizeRange float64) pair {
	d := pair{
		cores: a.cores * b.cores, memory: a.memory * b.memory, size: a.size * b.size,
		ratio: a.ratio - b.ratio,
	}
	for i, v := range a.args {
		t := v - b.args[i]
		if a.texts[i] != b.texts[i] {
			t = 1
		}
		d.args += v * b.args[i]
		d.data += t * t
		m, slope := maternAndSlope(t * t / k.v[lenArgument])
		d.argMatern += m
		d.argMaternLen += slope * t * t / k.v[lenArgument]
	}
	ds := (a.size - b.size) / sizeRange
	d.data += ds * ds
	dc, dg := a.cores-b.cores, a.memory-b.memory
	d.machine = dc*dc + dg*dg
	d.rough = math.Exp(-d.data - d.machine/(roughMachine*roughMachine))
	d.sameMachine = a.machine == b.machine && a.environment == b.environment
	d.twin = d.sameMachine && a.input == b.input
	d.sameContext = a.id == b.id

	v := &k.v
	d.level = levelSD*levelSD + v[sdCores]*d.cores + v[sdMemory]*d.memory + v[sdSize]*d.size +
		v[sdArgument]*d.args + v[sdArgumentMatern]*d.argMatern
	d.slope = v[sdZ] + v[sdSizeZ]*d.size + v[sdArgumentZ]*d.args
	if d.sameMachine {
		d.level += v[sdMachineLevel]
		d.slope += v[sdMachineZ]
	}
	if d.sameContext {
		d.level += v[sdContextLevel]
		d.slope += v[sdContextZ]
	}
	return d
}

// covariance of ln(runtime) between two scale-outs of two contexts.
func (k *squares) covariance(d *pair, a, b *node) float64 {
	v := &k.v
	dw := a.w - b.w
	w2 := dw * dw
	dr := d.ratio - math.Log(a.x/b.x)
	c := d.level + d.slope*a.z*b.z +
		v[sdJoint]*matern52(w2/v[lenJointW]+d.data/v[lenJointData]+d.machine/v[lenJointMachine]) +
		v[sdScaleOut]*matern52(w2/v[lenScaleOut]) +
		v[sdRatio]*matern52(dr*dr/v[lenRatio]) +
		v[sdRough]*d.rough*math.Exp(-math.Abs(dr))
	var shape float64
	if d.sameMachine {
		shape = v[sdMachineShape]
	}
	if d.sameContext {
		shape += v[sdContextShape]
	}
	if shape > 0 {
		c += shape * matern52(w2/v[lenShape])
	}
	if d.twin && a.x == b.x {
		c += v[sdTwin]
	}
	return c
}

// gradient adds q times the derivative of [squares.covariance] by the logarithm of
// every constant to g, except for terms that [squares.pairGradient] adds.
func (k *squares) gradient(g *Params, q float64, d *pair, a, b *node) {
	v := &k.v
	dw := a.w - b.w
	w2 := dw * dw
	dr := d.ratio - math.Log(a.x/b.x)
	var byW2 float64 // derivative by dw^2

	m, slope := maternAndSlope(w2/v[lenJointW] + d.data/v[lenJointData] + d.machine/v[lenJointMachine])
	s := v[sdJoint] * slope
	g[sdJoint] += q * 2 * v[sdJoint] * m
	g[lenJointW] += q * s * w2 / v[lenJointW]
	g[lenJointData] += q * s * d.data / v[lenJointData]
	g[lenJointMachine] += q * s * d.machine / v[lenJointMachine]
	byW2 -= s / 2 / v[lenJointW]

	m, slope = maternAndSlope(w2 / v[lenScaleOut])
	s = v[sdScaleOut] * slope
	g[sdScaleOut] += q * 2 * v[sdScaleOut] * m
	g[lenScaleOut] += q * s * w2 / v[lenScaleOut]
	byW2 -= s / 2 / v[lenScaleOut]

	m, slope = maternAndSlope(dr * dr / v[lenRatio])
	g[sdRatio] += q * 2 * v[sdRatio] * m
	g[lenRatio] += q * v[sdRatio] * slope * dr * dr / v[lenRatio]
	g[sdRough] += q * 2 * v[sdRough] * d.rough * math.Exp(-math.Abs(dr))

	if d.sameMachine || d.sameContext {
		m, slope = maternAndSlope(w2 / v[lenShape])
		var amplitude float64
		if d.sameMachine {
			amplitude += v[sdMachineShape]
			g[sdMachineShape] += q * 2 * v[sdMachineShape] * m
		}
		if d.sameContext {
			amplitude += v[sdContextShape]
			g[sdContextShape] += q * 2 * v[sdContextShape] * m
		}
		s = amplitude * slope
		g[lenShape] += q * s * w2 / v[lenShape]
		byW2 -= s / 2 / v[lenShape]
	}
	if d.twin && a.x == b.x {
		g[sdTwin] += q * 2 * v[sdTwin]
	}
	g[exponent] += q * byW2 * 2 * dw * (a.dw - b.dw) * k.p[exponent]
}

// pairGradient adds the derivatives of level and slope, where q is the sum of
// weights over all scale-outs of the pair and qz that of weights times z z'.
func (k *squares) pairGradient(g *Params, q, qz float64, d *pair) {
	v := &k.v
	g[sdZ] += qz * 2 * v[sdZ]
	g[sdCores] += q * 2 * v[sdCores] * d.cores
	g[sdMemory] += q * 2 * v[sdMemory] * d.memory
	g[sdSize] += q * 2 * v[sdSize] * d.size
	g[sdSizeZ] += qz * 2 * v[sdSizeZ] * d.size
	g[sdArgument] += q * 2 * v[sdArgument] * d.args
	g[sdArgumentZ] += qz * 2 * v[sdArgumentZ] * d.args
	g[sdArgumentMatern] += q * 2 * v[sdArgumentMatern] * d.argMatern
	g[lenArgument] += q * v[sdArgumentMatern] * d.argMaternLen
	if d.sameMachine {
		g[sdMachineLevel] += q * 2 * v[sdMachineLevel]
		g[sdMachineZ] += qz * 2 * v[sdMachineZ]
	}
	if d.sameContext {
		g[sdContextLevel] += q * 2 * v[sdContextLevel]
		g[sdContextZ] += qz * 2 * v[sdContextZ]
	}
}
