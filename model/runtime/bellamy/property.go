package bellamy

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

const (
	// propertySize is the length N of a property's vector: a mark of its kind and 39
	// digits or hash buckets (section III-B).
	propertySize = 40
	buckets      = propertySize - 1
	// fraction multiplies numbers that are not whole before they are rounded.
	fraction = 1e4
	maxGram  = 3
)

// encodeNumber writes a number's binary digits behind a mark of 1. Numbers with a
// fraction count in ten-thousandths, negative ones lose their sign.
func encodeNumber(v float64) []float64 {
	out := make([]float64, propertySize)
	out[0] = 1
	v = math.Abs(v)
	if v != math.Trunc(v) {
		v *= fraction
	}
	n := uint64(min(math.Round(v), 1<<buckets-1))
	for i := range buckets {
		out[propertySize-1-i] = float64(n >> i & 1)
	}
	return out
}

// encodeText hashes the text's character n-grams (n = 1..3, lower case) into
// buckets, counts them and scales the counts to length one, behind a mark of 0.
func encodeText(s string) []float64 {
	out := make([]float64, propertySize)
	runes := []rune(strings.ToLower(s))
	var square float64
	for n := 1; n <= maxGram; n++ {
		for i := 0; i+n <= len(runes); i++ {
			h := fnv.New32a()
			_, _ = h.Write([]byte(string(runes[i : i+n]))) // a hash does not fail
			out[1+h.Sum32()%buckets]++
		}
	}
	for _, v := range out {
		square += v * v
	}
	if square > 0 {
		for i := range out {
			out[i] /= math.Sqrt(square)
		}
	}
	return out
}

// schema says which properties of a context are essential; all others are optional.
type schema struct {
	arguments []predict.WeightArgument
}

func newSchema(history []predict.History) schema {
	var s schema
	index := map[string]int{}
	for _, h := range history {
		for _, a := range h.Context.Arguments {
			i, ok := index[a.Name]
			if !ok {
				i = len(s.arguments)
				index[a.Name] = i
				s.arguments = append(s.arguments, predict.WeightArgument{Name: a.Name})
			}
			s.arguments[i].Text = s.arguments[i].Text || a.Text != ""
			s.arguments[i].Optional = s.arguments[i].Optional || a.Optional
		}
	}
	for i := range s.arguments {
		for _, h := range history {
			if _, ok := h.Context.Argument(s.arguments[i].Name); !ok {
				s.arguments[i].Optional = true
			}
		}
	}
	slices.SortFunc(s.arguments, func(a, b predict.WeightArgument) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// essentials is the number of essential properties: machine type, input size and
// arguments.
func (s schema) essentials() int {
	n := 2
	for _, a := range s.arguments {
		if !a.Optional {
			n++
		}
	}
	return n
}

// properties returns the vectors of a context, the essential ones first.
func (s schema) properties(c predict.Context) (essential, optional [][]float64, err error) {
	size := 0.
	if c.InputBytes != predict.Unknown {
		size = math.Round(c.InputBytes / 1e6)
	}
	essential = [][]float64{encodeText(c.MachineType), encodeNumber(size)}
	optional = [][]float64{encodeNumber(c.Resources.VCPUs), encodeNumber(math.Round(c.Resources.MemoryGiB))}
	var missing []string
	for _, a := range s.arguments {
		v, ok := c.Argument(a.Name)
		if !ok {
			if !a.Optional {
				missing = append(missing, a.Name)
			}
			continue
		}
		e := encodeNumber(v.Number)
		if v.Text != "" {
			e = encodeText(v.Text)
		}
		if a.Optional {
			optional = append(optional, e)
		} else {
			essential = append(essential, e)
		}
	}
	if len(missing) > 0 {
		return nil, nil, &model.FieldError{
			Field: "arguments", Problem: "lack " + strings.Join(missing, ", ") + ", which every known context has",
		}
	}
	return essential, optional, nil
}
