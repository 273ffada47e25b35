package advisor

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// beyond is the factor from the known range on that counts as extrapolation.
const beyond = 2

// extents are the ranges of what is known, of own runs and of the models that have a
// say. What nobody knows is missing.
type extents struct {
	input, nodes structured.Range
	arguments    map[string]structured.Range
}

func nothingKnown() structured.Range {
	return structured.Range{Least: math.Inf(1), Largest: math.Inf(-1)}
}

func widen(r structured.Range, low, high float64) structured.Range {
	return structured.Range{Least: min(r.Least, low), Largest: max(r.Largest, high)}
}

func (e *extents) argument(name string, low, high float64) {
	r, known := e.arguments[name]
	if !known {
		r = nothingKnown()
	}
	e.arguments[name] = widen(r, low, high)
}

// extents gathers what is known.
func (o *outlook) extents() *extents {
	e := &extents{nothingKnown(), nothingKnown(), map[string]structured.Range{}}
	for _, h := range o.own.histories {
		if b := h.Context.InputBytes; b != predict.Unknown {
			e.input = widen(e.input, b, b)
		}
		for _, r := range h.Runs {
			e.nodes = widen(e.nodes, float64(r.ScaleOut), float64(r.ScaleOut))
		}
		for _, a := range h.Context.Arguments {
			if a.Text == "" {
				e.argument(a.Name, a.Number, a.Number)
			}
		}
	}
	for i, p := range o.peers {
		if p.weights == nil || o.tally.peers[i] == 0 {
			continue
		}
		x, err := structured.ExtentOf(p.weights)
		if err != nil {
			continue // a family that does not tell
		}
		if r := x.InputBytes; !sizeless(r) {
			e.input = widen(e.input, r.Least, r.Largest)
		}
		e.nodes = widen(e.nodes, x.ScaleOuts.Least, x.ScaleOuts.Largest)
		for _, a := range x.Arguments {
			if !a.Text {
				e.argument(a.Name, a.Least, a.Largest)
			}
		}
	}
	return e
}

// extrapolations say what was asked for far outside of what is known.
func (o *outlook) extrapolations() []string {
	e := o.extents()
	var out []string
	say := func(what string, value float64, r structured.Range, unit string) {
		if text := outside(value, r); text != "" {
			out = append(out, fmt.Sprintf("%s is %s (%.4g to %.4g%s): this is an extrapolation, do not rely on its interval or on a deadline", what, text, r.Least, r.Largest, unit))
		}
	}
	if o.workload.InputBytes > 0 {
		say(fmt.Sprintf("the input of %.4g bytes", o.workload.InputBytes), o.workload.InputBytes, e.input, " bytes")
	}
	if t := &o.tally; t.predictions > 0 {
		least, most := float64(t.leastNodes), float64(t.mostNodes)
		say(fmt.Sprintf("a cluster of %g nodes", most), most, e.nodes, " nodes")
		if least < most {
			say(fmt.Sprintf("a cluster of %g nodes", least), least, e.nodes, " nodes")
		}
	}
	for _, a := range o.workload.Arguments {
		if r, known := e.arguments[a.Name]; known && a.Text == "" {
			say(fmt.Sprintf("the argument %s of %.4g", a.Name, a.Number), a.Number, r, "")
		}
	}
	return out
}

// outside says how far a value is outside a range; "" is not much, which for ranges that
// touch zero is the width of the range.
func outside(v float64, r structured.Range) string {
	switch {
	case r.Least > r.Largest:
		return "" // nothing is known
	case r.Least > 0 && v > 0:
		if v > beyond*r.Largest {
			return fmt.Sprintf("%.3g times above the largest known", v/r.Largest)
		}
		if v < r.Least/beyond {
			return fmt.Sprintf("%.3g times below the smallest known", r.Least/v)
		}
	default:
		width := max(r.Largest-r.Least, math.Abs(r.Largest), math.Abs(r.Least))
		if v > r.Largest+width || v < r.Least-width {
			return "far outside the known range"
		}
	}
	return ""
}

// sizeless says whether a model's extent is that of one that knows no input sizes.
func sizeless(r structured.Range) bool {
	return r.Least == structured.AnchorBytes && r.Largest == structured.AnchorBytes
}
