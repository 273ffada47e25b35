package stage

import (
	"math"
	"slices"
)

// Extent is what weights tell their readers.
type Extent struct {
	// Trees of all forests, and Numbers in them: thresholds and leaves.
	Trees, Numbers int
	// Operators are the public ones that a tree asks for, by name.
	Operators []string
	// Of what leaves predict, which are means over stages; without leaves it is zero.
	DurationSeconds, TaskSeconds, OutputBytes Range
}

// Range of an amount, both ends included.
type Range struct{ Least, Largest float64 }

// ExtentOf says what weights tell. It wraps [ErrWeights].
func ExtentOf(w *Weights) (Extent, error) {
	if _, err := FromWeights(w); err != nil {
		return Extent{}, err
	}
	columns, err := w.columns()
	if err != nil {
		return Extent{}, err
	}
	e := Extent{}
	asked := make([]bool, len(publicOperators))
	ranges := [targets]*Range{&e.DurationSeconds, &e.TaskSeconds, &e.OutputBytes}
	count := func(f *WeightForest, leaf func(v float64)) {
		e.Trees, e.Numbers = e.Trees+f.Trees, e.Numbers+len(f.Values)
		for i, c := range f.Features {
			if c < 0 {
				leaf(float64(f.Values[i]))
			} else if o := int(columns[c]) - planFeatures; o >= 0 && o < len(asked) {
				asked[o] = true
			}
		}
	}
	for i := range w.Forests {
		count(&w.Forests[i], ranges[i%int(targets)].include)
	}
	count(&w.End, func(float64) {})
	for i, ok := range asked {
		if ok {
			e.Operators = append(e.Operators, publicOperators[i])
		}
	}
	slices.Sort(e.Operators)
	return e, nil
}

// include an amount by its logarithm.
func (r *Range) include(log float64) {
	v := math.Exp(min(max(log, -maxLog), maxLog))
	if r.Largest == 0 {
		*r = Range{v, v}
	}
	r.Least, r.Largest = min(r.Least, v), max(r.Largest, v)
}
