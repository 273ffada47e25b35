package structured

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// Anchors of the features: a scale-out, cores a node, memory a core and an input
// size in the middle of what people use. They only centre.
const (
	anchorScaleOut = 5.
	anchorCores    = 8.
	anchorMemory   = 4.   // GiB a core
	anchorBytes    = 15e9 // the input size where s = 0
	minSizeRange   = .7   // of s: a factor of two
	minLinearRange = .5   // of an argument that may be zero or negative
	gigabyte       = 1e9
)

// minLogRange is the least range of a positive argument: a factor of two.
var minLogRange = math.Ln2

// argument is how one argument of the algorithm becomes a feature.
type argument struct {
	name           string
	text, optional bool
	// log says that all values are positive, so that their logarithm counts.
	log bool
	// low and high are the extent of the values, logarithms where log is set.
	low, high float64
	// missing is the value of a context without this optional argument: the median.
	missing  float64
	textMiss string
}

func (a *argument) scale() float64 {
	if a.log {
		return max(a.high-a.low, minLogRange)
	}
	return max(a.high-a.low, minLinearRange)
}

// encoder turns contexts into features. Its extent is that of the contexts that it
// was made from; for a context outside of it another encoder is made.
type encoder struct {
	arguments []argument
	// lowSize and highSize are the extent of s; meanSize stands for an unknown size.
	lowSize, highSize, meanSize float64
}

// encoded are the features of a context.
type encoded struct {
	environment, machine string
	input                float64
	// cores of a node in 8, memory of a core in 4 GiB, input in 15 GB: logarithms.
	cores, memory, size float64
	// ratio is ln(GB of input / GiB of a node).
	ratio float64
	// args are centred, in ranges; texts are compared only.
	args  []float64
	texts []string
	// id tells contexts apart.
	id int
}

// logSize is the feature s of an input size.
func logSize(bytes float64) float64 { return math.Log(bytes / anchorBytes) }

// newEncoder sees all contexts that take part.
func newEncoder(contexts []predict.Context) *encoder {
	e := &encoder{lowSize: math.Inf(1), highSize: math.Inf(-1)}
	var known float64
	for _, c := range contexts {
		if c.InputBytes == predict.Unknown {
			continue
		}
		s := logSize(c.InputBytes)
		e.lowSize, e.highSize = min(e.lowSize, s), max(e.highSize, s)
		e.meanSize += s
		known++
	}
	if known == 0 {
		e.lowSize, e.highSize = 0, 0
	} else {
		e.meanSize /= known
	}
	names := map[string]bool{}
	for _, c := range contexts {
		for _, a := range c.Arguments {
			names[a.Name] = true
		}
	}
	for name := range names {
		e.arguments = append(e.arguments, newArgument(name, contexts))
	}
	slices.SortFunc(e.arguments, func(a, b argument) int { return strings.Compare(a.name, b.name) })
	return e
}

func newArgument(name string, contexts []predict.Context) argument {
	a := argument{name: name, log: true}
	var numbers []float64
	texts := map[string]int{}
	for _, c := range contexts {
		v, ok := c.Argument(name)
		if !ok || v.Optional {
			a.optional = true
		}
		if !ok {
			continue
		}
		if v.Text != "" {
			a.text = true
			texts[v.Text]++
			continue
		}
		numbers = append(numbers, v.Number)
		a.log = a.log && v.Number > 0
	}
	for t, n := range texts {
		if n > texts[a.textMiss] || n == texts[a.textMiss] && t < a.textMiss {
			a.textMiss = t
		}
	}
	if len(numbers) == 0 {
		a.log = false
		return a
	}
	slices.Sort(numbers)
	for i, v := range numbers {
		if a.log {
			numbers[i] = math.Log(v)
		}
	}
	a.low, a.high, a.missing = numbers[0], numbers[len(numbers)-1], numbers[len(numbers)/2]
	return a
}

// covers says whether a context lies within the extent and kind of the encoder, so
// that adding it would not change the encoding of others.
func (e *encoder) covers(c predict.Context) bool {
	if c.InputBytes != predict.Unknown {
		if s := logSize(c.InputBytes); s < e.lowSize || s > e.highSize {
			return false
		}
	}
	for i := range e.arguments {
		a := &e.arguments[i]
		v, ok := c.Argument(a.name)
		if !ok || v.Text != "" {
			continue
		}
		n := v.Number
		if a.log {
			if n <= 0 {
				return false
			}
			n = math.Log(n)
		}
		if n < a.low || n > a.high {
			return false
		}
	}
	return true
}

// extend returns an encoder whose extent holds a context, too. Arguments of which
// the logarithm counts, but of which the context has a zero or negative number, count
// as they are from then on; it lists them.
func (e *encoder) extend(c predict.Context) (w *encoder, linear []int) {
	w = &encoder{lowSize: e.lowSize, highSize: e.highSize, meanSize: e.meanSize, arguments: slices.Clone(e.arguments)}
	if c.InputBytes != predict.Unknown {
		s := logSize(c.InputBytes)
		w.lowSize, w.highSize = min(w.lowSize, s), max(w.highSize, s)
	}
	for i := range w.arguments {
		a := &w.arguments[i]
		v, ok := c.Argument(a.name)
		if !ok || a.text {
			continue
		}
		n := v.Number
		if a.log && n <= 0 {
			a.log, a.low, a.high, a.missing = false, math.Exp(a.low), math.Exp(a.high), math.Exp(a.missing)
			linear = append(linear, i)
		}
		if a.log {
			n = math.Log(n)
		}
		a.low, a.high = min(a.low, n), max(a.high, n)
	}
	return w, linear
}

// check names the essential arguments that a context lacks, and arguments of the
// wrong kind. Arguments that the history does not know teach nothing and are ignored.
func (e *encoder) check(c predict.Context) error {
	var missing []string
	for i := range e.arguments {
		a := &e.arguments[i]
		v, ok := c.Argument(a.name)
		switch {
		case !ok && !a.optional:
			missing = append(missing, a.name)
		case ok && v.Text != "" && !a.text:
			return &model.FieldError{Field: "argument " + a.name, Problem: "must be a number, as in other contexts: " + v.Text}
		}
	}
	if len(missing) > 0 {
		return &model.FieldError{Field: "arguments", Problem: fmt.Sprintf("lack %s, which every known context has", strings.Join(missing, ", "))}
	}
	return nil
}

// encode returns the features of a context.
func (e *encoder) encode(c predict.Context, id int) *encoded {
	s := e.meanSize
	if c.InputBytes != predict.Unknown {
		s = logSize(c.InputBytes)
	}
	f := &encoded{
		environment: c.Environment, machine: c.MachineType, input: c.InputBytes, id: id,
		cores:  math.Log(c.Resources.VCPUs / anchorCores),
		memory: math.Log(c.Resources.MemoryGiB / c.Resources.VCPUs / anchorMemory),
		size:   s,
		ratio:  s + math.Log(anchorBytes/gigabyte/c.Resources.MemoryGiB),
		args:   make([]float64, len(e.arguments)), texts: make([]string, len(e.arguments)),
	}
	for i := range e.arguments {
		a := &e.arguments[i]
		v, ok := c.Argument(a.name)
		if a.text {
			f.texts[i] = a.textMiss
			if ok {
				f.texts[i] = v.Text
			}
			if v.Text == "" && ok {
				f.texts[i] = fmt.Sprint(v.Number)
			}
			continue
		}
		n := a.missing
		if ok {
			n = v.Number
			if a.log {
				n = math.Log(n)
			}
		}
		f.args[i] = (n - (a.low+a.high)/2) / a.scale()
	}
	return f
}

// sizeRange is what differences of s are divided by.
func (e *encoder) sizeRange() float64 { return max(e.highSize-e.lowSize, minSizeRange) }

// prior mean of ln(runtime) of a context at a scale-out.
func (f *encoded) mean(x float64) float64 {
	return meanLevel + meanCores*(math.Log(x*anchorCores/40)+f.cores) + meanSize*f.size
}
