package predict

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Unknown is the input size of a context where nobody knows it. Zero is an error,
// so that a forgotten size is found.
const Unknown = -1

// Bounds of a context.
const (
	// MaxArguments bounds the arguments of a job.
	MaxArguments = model.MaxArguments
	// MaxText bounds names and text values, in bytes.
	MaxText = model.MaxArgumentText
	// maxNumber bounds numeric arguments in size.
	maxNumber = model.MaxArgumentNumber
)

// Context is everything that a runtime depends on except the scale-out: one
// algorithm with one input on one kind of machine. (Bellamy, section III-B; the
// algorithm itself is not part of it, since a model is of one algorithm.)
type Context struct {
	// Environment is the infrastructure, such as "aws-emr". Contexts of different
	// environments share little.
	Environment string
	// MachineType is the provider's name of it. Resources are those of one node.
	MachineType string
	Resources   model.Resources
	// InputBytes is the size of the input, above zero, or [Unknown].
	InputBytes float64
	// Arguments are the job's parameters and what else describes its input, by
	// distinct names. The order does not matter.
	Arguments []Argument
}

// Argument is a named property of a job: a number, or a text where Text is set.
type Argument struct {
	Name   string
	Number float64
	Text   string
	// Optional arguments may be missing in a context; essential ones may not
	// (Bellamy, section III-C).
	Optional bool
}

// Observation is one run of a context.
type Observation struct {
	// ScaleOut is the number of nodes.
	ScaleOut int
	// RuntimeSeconds is the wall time.
	RuntimeSeconds float64
}

// History is what is known of one context.
type History struct {
	Context Context
	Runs    []Observation
}

// Validate checks that the context can be used by any model, and names what is
// missing. Errors wrap [model.ErrInvalid].
func (c Context) Validate() error {
	if c.MachineType == "" {
		return invalid("machine type", "is missing")
	}
	if c.Resources == (model.Resources{}) {
		return invalid("machine type", "%q is unknown: add it to the catalog with its vCPUs and memory", c.MachineType)
	}
	if err := c.Resources.Validate(); err != nil {
		return err
	}
	if c.InputBytes != Unknown && !(c.InputBytes >= 1 && c.InputBytes <= model.MaxInputBytes) {
		return invalid("input size", "must be between 1 byte and 1 EiB: %g", c.InputBytes)
	}
	if len(c.Arguments) > MaxArguments {
		return invalid("arguments", "are more than %d: %d", MaxArguments, len(c.Arguments))
	}
	seen := make(map[string]bool, len(c.Arguments))
	for _, a := range c.Arguments {
		if err := a.validate(); err != nil {
			return err
		}
		if seen[a.Name] {
			return invalid("argument "+a.Name, "is given twice")
		}
		seen[a.Name] = true
	}
	return nil
}

func (a Argument) validate() error {
	switch {
	case a.Name == "" || len(a.Name) > MaxText:
		return invalid("argument name", "must have 1 to %d bytes", MaxText)
	case len(a.Text) > MaxText:
		return invalid("argument "+a.Name, "is longer than %d bytes", MaxText)
	case !(math.Abs(a.Number) <= maxNumber):
		return invalid("argument "+a.Name, "must be a number within ±%g: %g", maxNumber, a.Number)
	}
	return nil
}

// Argument returns the argument of that name.
func (c Context) Argument(name string) (Argument, bool) {
	for _, a := range c.Arguments {
		if a.Name == name {
			return a, true
		}
	}
	return Argument{}, false
}

// Equal says whether two contexts are the same, whatever the order of arguments.
func (c Context) Equal(o Context) bool {
	return c.Environment == o.Environment && c.MachineType == o.MachineType && c.Resources == o.Resources &&
		c.InputBytes == o.InputBytes && slices.Equal(c.sorted(), o.sorted())
}

func (c Context) sorted() []Argument {
	byName := func(a, b Argument) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(c.Arguments, byName) {
		return c.Arguments
	}
	s := slices.Clone(c.Arguments)
	slices.SortFunc(s, byName)
	return s
}

// Validate checks the scale-out and the runtime.
func (o Observation) Validate() error {
	if err := ValidateScaleOut(o.ScaleOut); err != nil {
		return err
	}
	return model.ValidateSeconds("runtime", o.RuntimeSeconds)
}

// ValidateScaleOut checks a number of nodes.
func ValidateScaleOut(x int) error {
	if x < 1 || x > model.MaxScaleOut {
		return invalid("scale-out", "must be between 1 and %d nodes: %d", model.MaxScaleOut, x)
	}
	return nil
}

// ValidateRuns checks every run.
func ValidateRuns(runs []Observation) error {
	for _, r := range runs {
		if err := r.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// ValidateHistory checks contexts and runs.
func ValidateHistory(history []History) error {
	for _, h := range history {
		if err := h.Context.Validate(); err != nil {
			return err
		}
		if err := ValidateRuns(h.Runs); err != nil {
			return err
		}
	}
	return nil
}

// Summary is the middle of the repeats at one scale-out.
type Summary struct {
	ScaleOut int
	// MedianSeconds of Repeats runs.
	MedianSeconds float64
	Repeats       int
}

// Summarise returns one summary a scale-out, in rising order.
func Summarise(runs []Observation) []Summary {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b Observation) int {
		return cmp.Or(cmp.Compare(a.ScaleOut, b.ScaleOut), cmp.Compare(a.RuntimeSeconds, b.RuntimeSeconds))
	})
	var out []Summary
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j].ScaleOut == sorted[i].ScaleOut {
			j++
		}
		k := j - i
		median := (sorted[i+(k-1)/2].RuntimeSeconds + sorted[i+k/2].RuntimeSeconds) / 2
		out = append(out, Summary{sorted[i].ScaleOut, median, k})
		i = j
	}
	return out
}
