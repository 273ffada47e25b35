package structured

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/karasu-project/karasu/model/runtime"
)

// A general model is shared as what it predicts at made-up points: contexts between
// the real ones at scale-outs within their range, with the variance of each
// prediction. A peer conditions the same kernel on them. No row of the history is
// among them, and how often or on which machine something ran does not show.
const (
	// virtualPoints is the number of points: with 96 inducing points the error without
	// runs was 6.0% where all rows gave 5.8%.
	virtualPoints = 192
	// candidateContexts are made up, of which the points are chosen.
	candidateContexts = 80
	// candidateScaleOuts from least to largest.
	candidateScaleOuts = 6
	// singleSpread is how far apart in ln(bytes) the points of a single context are.
	singleSpread = .5
	// virtualEnvironment is no environment that a context can have.
	virtualEnvironment = "\x00"
)

// virtual are the points of a model that travels as weights.
type virtual struct {
	// cores, memory and size are features as in [encoded]; args are the numbers before
	// they are centred, one list a point.
	cores, memory, size []float64
	args                [][]float64
	x                   []float64
	// value is ln(seconds), variance of it.
	value, variance []float64
	// contexts and runs that the model was trained on.
	contexts, runs int
}

func (v *virtual) add(o *virtual, i int) {
	v.cores, v.memory, v.size = append(v.cores, o.cores[i]), append(v.memory, o.memory[i]), append(v.size, o.size[i])
	v.args, v.x = append(v.args, o.args[i]), append(v.x, o.x[i])
}

// encode returns point i as a context of its own: no machine, no known input.
func (v *virtual) encode(e *encoder, i int) *encoded {
	cores := anchorCores * math.Exp(v.cores[i])
	f := &encoded{
		id: i, cores: v.cores[i], memory: v.memory[i], size: v.size[i],
		ratio: v.size[i] + math.Log(anchorBytes/gigabyte/(cores*anchorMemory*math.Exp(v.memory[i]))),
		args:  make([]float64, len(e.arguments)), texts: make([]string, len(e.arguments)),
		// Machines are known by their resources; no two points share an input.
		machine: resourceName(v.cores[i], v.memory[i]), environment: virtualEnvironment, input: -float64(2 + i),
	}
	for k := range e.arguments {
		a := &e.arguments[k]
		if a.text {
			f.texts[k] = a.textMiss
			continue
		}
		f.args[k] = (v.args[i][k] - (a.low+a.high)/2) / a.scale()
	}
	return f
}

// resourceName tells machines apart by their features.
func resourceName(cores, memory float64) string { return fmt.Sprintf("%.3f/%.3f", cores, memory) }

// rows of the points under an encoder.
func (v *virtual) rows(e *encoder) *rows {
	r := &rows{encoder: e, start: []int{0}, x: v.x, noise: v.variance}
	for i, y := range v.value {
		c := v.encode(e, i)
		r.contexts = append(r.contexts, c)
		r.y = append(r.y, y-c.mean(v.x[i]))
		r.start = append(r.start, i+1)
	}
	return r
}

// candidates are points between the contexts of the rows.
func (g *General) candidates() *virtual {
	r := rand.New(rand.NewPCG(7, uint64(len(g.rows.contexts)))) // the same points every time
	low, high := slices.Min(g.rows.x), slices.Max(g.rows.x)
	e, v := g.rows.encoder, &virtual{}
	for range candidateContexts {
		// Two different contexts; a single one has none to be mixed with.
		n := len(g.rows.contexts)
		i := r.IntN(n)
		a, b := g.rows.contexts[i], g.rows.contexts[(i+1+r.IntN(max(n-1, 1)))%n]
		t := .1 + .8*r.Float64()
		between := func(p, q float64) float64 { return p + t*(q-p) }
		args := make([]float64, len(e.arguments))
		for k := range args {
			if arg := &e.arguments[k]; !arg.text {
				args[k] = round(between(a.args[k], b.args[k])*arg.scale()+(arg.low+arg.high)/2, arg.grid())
			}
		}
		cores, memory, size := a.cores, a.memory, between(a.size, b.size)
		if n == 1 {
			size += singleSpread * (t - .5)
		}
		size = round(size, sizeGrid)
		for s := range candidateScaleOuts {
			x := low * math.Pow(high/low, float64(s)/(candidateScaleOuts-1))
			v.cores, v.memory, v.size = append(v.cores, cores), append(v.memory, memory), append(v.size, size)
			v.args, v.x = append(v.args, args), append(v.x, x)
		}
	}
	return v
}

// choose picks points by pivoted Cholesky decomposition of the prior covariance:
// each next one is where the points so far leave most variance.
func (g *General) choose(all *virtual) *virtual {
	n, size := len(all.x), g.rows.encoder.sizeRange()
	encodedAll, nodes := make([]*encoded, n), make([]node, n)
	left := make([]float64, n)
	for i := range n {
		encodedAll[i] = all.encode(g.rows.encoder, i)
		// Candidates of one made-up context are one context to the kernel, so that the
		// choice does not count what is specific to a context.
		encodedAll[i].id, nodes[i] = 0, newNode(all.x[i], g.params[exponent])
		encodedAll[i].input = 0
		d := g.k.pair(encodedAll[i], encodedAll[i], size)
		left[i] = g.k.covariance(&d, &nodes[i], &nodes[i])
	}
	out := &virtual{}
	var columns [][]float64
	for range min(virtualPoints, n) {
		best := 0
		for i := range left {
			if left[i] > left[best] {
				best = i
			}
		}
		if left[best] < minVirtualVariance {
			break
		}
		out.add(all, best)
		pivot := math.Sqrt(left[best])
		column := make([]float64, n)
		for i := range n {
			d := g.k.pair(encodedAll[best], encodedAll[i], size)
			c := g.k.covariance(&d, &nodes[best], &nodes[i])
			for _, o := range columns {
				c -= o[best] * o[i]
			}
			column[i] = c / pivot
			left[i] = max(left[i]-column[i]*column[i], 0)
		}
		left[best] = 0
		columns = append(columns, column)
	}
	return out
}

// Grids of what is shared, in logarithms. Points are put on theirs before they are
// predicted, so that it costs no accuracy; it keeps exact sizes of inputs and numbers
// of runtimes from being worked out of the points.
const (
	sizeGrid  = 1. / 16   // 6% of an input's size
	valueGrid = 1. / 1024 // 0.1% of a runtime
	// gridSteps of the range of an argument of which no logarithm counts, at least.
	gridSteps = 16
)

// grid of an argument's values: a power of two.
func (a *argument) grid() float64 {
	if a.log {
		return sizeGrid
	}
	return math.Exp2(math.Floor(math.Log2(a.scale() / gridSteps)))
}

func round(v, grid float64) float64 { return math.Round(v/grid) * grid }

// coarse returns the encoder with its extents moved outwards to the grids.
func (e *encoder) coarse() *encoder {
	outwards := func(low, high *float64, grid float64) {
		*low, *high = math.Floor(*low/grid)*grid, math.Ceil(*high/grid)*grid
	}
	c := &encoder{lowSize: e.lowSize, highSize: e.highSize, meanSize: round(e.meanSize, sizeGrid), arguments: slices.Clone(e.arguments)}
	outwards(&c.lowSize, &c.highSize, sizeGrid)
	for i := range c.arguments {
		a := &c.arguments[i]
		grid := a.grid()
		outwards(&a.low, &a.high, grid)
		a.missing = round(a.missing, grid)
	}
	return c
}

// minVirtualVariance is what a point must still tell: 1% of the runtime.
const minVirtualVariance = 1e-4

// virtualise returns the points that stand for the model.
func (g *General) virtualise() *virtual {
	v := g.choose(g.candidates())
	for i, x := range v.x {
		t := &target{g: g, context: v.encode(g.rows.encoder, i), at: map[int]*projection{}}
		t.context.id = len(g.rows.contexts)
		// On the machine type of the history with these resources, if there is one.
		for _, o := range g.rows.contexts {
			if resourceName(o.cores, o.memory) == t.context.machine {
				t.context.machine, t.context.environment = o.machine, o.environment
				break
			}
		}
		t.pair()
		p := t.projectAt(x)
		v.value = append(v.value, round(p.mean, valueGrid))
		v.variance = append(v.variance, max(t.covariance(p, p), g.params[noiseMedian]*g.params[noiseMedian]))
	}
	return v
}

// argumentsOf lists the encoder's arguments as weights do.
func (e *encoder) weightArguments() []predict.WeightArgument {
	out := make([]predict.WeightArgument, len(e.arguments))
	for i, a := range e.arguments {
		out[i] = predict.WeightArgument{Name: a.name, Text: a.text, Optional: a.optional}
	}
	return out
}
