package c3o

import (
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model/runtime"
)

// point is a run with its features.
type point struct {
	scaleOut float64
	// context has cores and memory of a node, input size and arguments.
	context []float64
	seconds float64
	// group tells contexts apart.
	group int
}

// features are the numbers of a context, in the order of names. Texts are numbered
// in alphabetical order, missing values are 0.
type features struct {
	names []string
	texts map[string][]string
	// bytes stands for an unknown input size: the mean.
	bytes float64
}

func newFeatures(history []predict.History) *features {
	f := &features{texts: map[string][]string{}}
	var known float64
	for _, h := range history {
		if h.Context.InputBytes != predict.Unknown {
			f.bytes += h.Context.InputBytes
			known++
		}
		for _, a := range h.Context.Arguments {
			if !slices.Contains(f.names, a.Name) {
				f.names = append(f.names, a.Name)
			}
			if a.Text != "" && !slices.Contains(f.texts[a.Name], a.Text) {
				f.texts[a.Name] = append(f.texts[a.Name], a.Text)
			}
		}
	}
	if known > 0 {
		f.bytes /= known
	}
	slices.SortFunc(f.names, strings.Compare)
	for _, t := range f.texts {
		slices.SortFunc(t, strings.Compare)
	}
	return f
}

func (f *features) of(c predict.Context) []float64 {
	bytes := c.InputBytes
	if bytes == predict.Unknown {
		bytes = f.bytes
	}
	v := []float64{c.Resources.VCPUs, c.Resources.MemoryGiB, bytes / 1e9}
	for _, name := range f.names {
		a, _ := c.Argument(name)
		n := a.Number
		if a.Text != "" {
			n = float64(slices.Index(f.texts[name], a.Text))
		}
		v = append(v, n)
	}
	return v
}

// points returns the medians of a history.
func (f *features) points(history []predict.History) []point {
	var out []point
	for i, h := range history {
		c := f.of(h.Context)
		for _, s := range predict.Summarise(h.Runs) {
			out = append(out, point{float64(s.ScaleOut), c, s.MedianSeconds, i})
		}
	}
	return out
}
