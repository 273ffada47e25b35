package structured

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model/runtime"
)

// Family names the model and its features.
const Family = "structured-points/1"

// Values of the weights, in this order: the constants; least, largest and mean
// feature s; for each argument whether its logarithm counts, least, largest and
// missing value; for each point cores, memory, s, every argument, scale-out,
// ln(seconds) and its variance. Sizes are [constants, arguments, points].
const (
	sizeValues     = 3
	argumentValues = 4
	pointValues    = 6
)

// Weights implements [predict.General]. Text arguments take part as if all contexts
// had the most frequent text. Extents and points lie on a grid, and all values are
// rounded to 32 bits, in which they travel without loss. It wraps
// [predict.ErrNotPortable] without a history.
func (g *General) Weights() (*predict.Weights, error) {
	v := g.virtual
	w, e := &predict.Weights{Family: Family}, g.rows.encoder
	if v == nil {
		e = e.coarse()
		if len(g.blocks) == 0 {
			return nil, fmt.Errorf("%w: it was not fitted on any run", predict.ErrNotPortable)
		}
		v = g.virtualise()
		for _, b := range g.blocks {
			w.Contexts++
			for _, r := range b.runs {
				w.Runs += r.Repeats
			}
		}
	} else {
		w.Contexts, w.Runs = v.contexts, v.runs
	}
	w.Arguments = e.weightArguments()
	w.Sizes = []int{int(numParams), len(e.arguments), len(v.x)}
	w.Values = append(w.Values, g.params[:]...)
	w.Values = append(w.Values, e.lowSize, e.highSize, e.meanSize)
	for _, a := range e.arguments {
		var log float64
		if a.log {
			log = 1
		}
		w.Values = append(w.Values, log, a.low, a.high, a.missing)
	}
	for i := range v.x {
		w.Values = append(w.Values, v.cores[i], v.memory[i], v.size[i])
		w.Values = append(w.Values, v.args[i]...)
		w.Values = append(w.Values, v.x[i], v.value[i], v.variance[i])
	}
	for i, value := range w.Values {
		w.Values[i] = float64(float32(value))
	}
	return w, w.Validate()
}

// Bounds of values that come from outside.
const (
	// maxFeature bounds logarithms of resources and sizes.
	maxFeature = 30
	// minLogSeconds and maxLogSeconds of a point: a millisecond and ten years, with a
	// margin for the point being a prediction.
	minLogSeconds = -7.5
	maxLogSeconds = 20.5
	// maxLogExbibyte bounds the extent of input sizes, which begins with 1 byte, moved
	// outwards to a grid.
	maxLogExbibyte = 42
	sizeMargin     = 1
	// minVariance is a noise of 0.1%, maxVariance one of e^10.
	minVariance = 1e-6
	maxVariance = 100
	// maxArgument bounds arguments; plain numbers, where no logarithm counts.
	maxArgument = 1e6
	// maxLogArgument is the logarithm of the largest number that an argument can be.
	maxLogArgument = 42
)

// FromWeights returns the model that weights describe. It copies them. It wraps
// [predict.ErrWeights], and never panics, whoever made them.
func FromWeights(w *predict.Weights, o Options) (*General, error) {
	g, e, err := parse(w)
	if err != nil {
		return nil, err
	}
	g.options = o
	if err := g.solve(g.virtual.rows(e)); err != nil {
		return nil, fmt.Errorf("%w: %w", predict.ErrWeights, err)
	}
	if err := g.consistent(); err != nil {
		return nil, err
	}
	return g, nil
}

// CheckWeights checks shapes and ranges as [FromWeights] does, in a time that is
// linear in the values: not whether the points agree with each other.
func CheckWeights(w *predict.Weights) error {
	_, _, err := parse(w)
	return err
}

// parse reads weights into a model that is not solved yet, and its encoder.
func parse(w *predict.Weights) (*General, *encoder, error) {
	if err := w.Validate(); err != nil {
		return nil, nil, err
	}
	bad := func(format string, args ...any) (*General, *encoder, error) {
		return nil, nil, fmt.Errorf("%w: %s", predict.ErrWeights, fmt.Sprintf(format, args...))
	}
	if w.Family != Family {
		return bad("family %.40q, want %q", w.Family, Family)
	}
	if len(w.Sizes) != 3 || w.Sizes[0] != int(numParams) || w.Sizes[1] != len(w.Arguments) || w.Sizes[2] < 1 || w.Sizes[2] > virtualPoints {
		return bad("sizes %v", w.Sizes)
	}
	args, points := w.Sizes[1], w.Sizes[2]
	if want := int(numParams) + sizeValues + args*argumentValues + points*(pointValues+args); len(w.Values) != want {
		return bad("%d values, want %d", len(w.Values), want)
	}
	g := &General{params: Params(w.Values[:numParams])}
	if !g.params.valid() {
		return bad("constants are too far from the defaults")
	}
	rest := w.Values[numParams:]
	e := &encoder{lowSize: rest[0], highSize: rest[1], meanSize: rest[2]}
	if !(-maxFeature <= e.lowSize && e.lowSize <= e.highSize && e.highSize <= maxFeature && math.Abs(e.meanSize) <= maxFeature) {
		return bad("input sizes from e^%g to e^%g", e.lowSize, e.highSize)
	}
	// ln(bytes) is that of the anchor higher.
	if low, high := e.lowSize+math.Log(anchorBytes), e.highSize+math.Log(anchorBytes); low < -sizeMargin || high > maxLogExbibyte+sizeMargin {
		return bad("input sizes from e^%.3g to e^%.3g bytes", low, high)
	}
	rest = rest[sizeValues:]
	for i, a := range w.Arguments {
		v := rest[i*argumentValues:]
		if v[0] != 0 && v[0] != 1 || !(-maxArgument <= v[1] && v[1] <= v[2] && v[2] <= maxArgument) || math.Abs(v[3]) > maxArgument ||
			v[0] == 1 && max(-v[1], v[2], math.Abs(v[3])) > maxLogArgument {
			return bad("argument %d has values %v", i, v[:argumentValues])
		}
		if i > 0 && strings.Compare(w.Arguments[i-1].Name, a.Name) >= 0 {
			return bad("arguments are not in order")
		}
		e.arguments = append(e.arguments, argument{
			name: a.Name, text: a.Text, optional: a.Optional, log: v[0] == 1, low: v[1], high: v[2], missing: v[3],
		})
	}
	v, err := pointsFrom(rest[args*argumentValues:], args, points)
	if err != nil {
		return nil, nil, err
	}
	v.contexts, v.runs = w.Contexts, w.Runs
	g.virtual = v
	return g, e, nil
}

const (
	// maxSurprise is the largest mean square of the points' values in units of what the
	// kernel expects of them, all correlations considered: y' K^-1 y / n. Honest ones,
	// which are smooth predictions, have below 0.2; random ones hundreds.
	maxSurprise = 1
	// maxMedianSlope of ln(runtime) over ln(scale-out), in the median over points: where
	// more nodes take longer in most contexts, the sign is wrong.
	maxMedianSlope = .1
	// minSizeSlope of ln(runtime) over ln(bytes), in the median over points: where more
	// input takes less time, the sign is wrong, too. C3O's algorithms have .3 to .8, and
	// the same inverted -.2 to -.7; PageRank's runtimes hardly depend on the scale-out.
	minSizeSlope = -.1
	// minSizeExtent is the extent of ln(bytes) from which on that slope means anything.
	minSizeExtent = .25
)

// consistent checks that the points could be predictions of one algorithm's runtimes.
func (g *General) consistent() error {
	var surprise float64
	for i, y := range g.rows.y {
		surprise += y * g.alpha[i] / float64(len(g.rows.y))
	}
	if !(surprise <= maxSurprise) {
		return fmt.Errorf("%w: points contradict each other (%.3g)", predict.ErrWeights, surprise)
	}
	low, high := slices.Min(g.rows.x), slices.Max(g.rows.x)
	if high < 2*low {
		return g.consistentSizes() // too near to tell
	}
	slopes := make([]float64, 0, len(g.rows.contexts))
	for _, c := range g.rows.contexts {
		t := &target{g: g, context: c}
		t.pair()
		slopes = append(slopes, (t.meanAt(high)-t.meanAt(low))/math.Log(high/low))
	}
	slices.Sort(slopes)
	if m := slopes[len(slopes)/2]; !(m <= maxMedianSlope) {
		return fmt.Errorf("%w: runtimes rise with the scale-out (slope %.3g)", predict.ErrWeights, m)
	}
	return g.consistentSizes()
}

// consistentSizes checks that more input takes longer.
func (g *General) consistentSizes() error {
	e := g.rows.encoder
	if e.highSize-e.lowSize < minSizeExtent {
		return nil
	}
	slopes := make([]float64, 0, len(g.rows.contexts))
	for i, c := range g.rows.contexts {
		at := func(size float64) float64 {
			moved := *c
			moved.ratio, moved.size = c.ratio+size-c.size, size
			moved.id, moved.input = -1, 0 // like no other
			t := &target{g: g, context: &moved}
			t.pair()
			return t.meanAt(g.rows.x[i])
		}
		slopes = append(slopes, (at(e.highSize)-at(e.lowSize))/(e.highSize-e.lowSize))
	}
	slices.Sort(slopes)
	if m := slopes[len(slopes)/2]; !(m >= minSizeSlope) {
		return fmt.Errorf("%w: runtimes fall with the input's size (slope %.3g)", predict.ErrWeights, m)
	}
	return nil
}

func pointsFrom(values []float64, args, points int) (*virtual, error) {
	v := &virtual{}
	for i := range points {
		p := values[i*(pointValues+args):][:pointValues+args]
		x, value, variance := p[3+args], p[4+args], p[5+args]
		ok := x >= 1 && x <= 1e5 && value >= minLogSeconds && value <= maxLogSeconds && variance >= minVariance && variance <= maxVariance
		for k, f := range p[:3+args] {
			ok = ok && (math.Abs(f) <= maxFeature || k >= 3 && math.Abs(f) <= maxArgument)
		}
		if !ok {
			return nil, fmt.Errorf("%w: point %d is out of range", predict.ErrWeights, i)
		}
		v.cores, v.memory, v.size = append(v.cores, p[0]), append(v.memory, p[1]), append(v.size, p[2])
		v.args = append(v.args, append([]float64(nil), p[3:3+args]...))
		v.x, v.value, v.variance = append(v.x, x), append(v.value, value), append(v.variance, variance)
	}
	return v, nil
}
