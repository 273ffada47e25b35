// Package deadline answers the question of C3O (Will et al., IEEE BigData 2021): which
// is the cheapest cluster on which a job meets a deadline, with a stated confidence?
//
// It chooses between configurations of which the runtime's distribution is predicted.
// Whether the confidence is kept is a matter of those distributions; `karasu bench
// predict` measures it.
package deadline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// DefaultConfidence of an answer where none is asked for.
const DefaultConfidence = .95

// ErrNoOptions means that there is nothing to choose from.
var ErrNoOptions = errors.New("no configurations to choose from")

// Option is a configuration with what is predicted of it.
type Option struct {
	Configuration model.Configuration
	Runtime       predict.Distribution
	// USDPerHour is the price of one node; 0 is unknown.
	USDPerHour float64
}

// Cost returns the cost in USD of a run of so many seconds. It is false where the
// price is unknown.
func (o *Option) Cost(seconds float64) (usd float64, known bool) {
	return o.USDPerHour * float64(o.Configuration.ScaleOut) * seconds / 3600, o.USDPerHour > 0
}

// Answer is a choice.
type Answer struct {
	// Choice is the index of the cheapest option that meets the deadline with the
	// confidence; where none does, of the one that is most likely to meet it or, where
	// none has 1%, of the shortest median.
	Choice int
	// Met says that the choice meets the deadline with the confidence.
	Met bool
	// Probability that a run on the choice meets the deadline.
	Probability float64
	// Qualified is the number of options that meet it.
	Qualified int
}

// Cheapest chooses by cost at the median runtime among the options that meet a
// deadline in seconds with a probability of at least confidence, in [0.5, 1). Options
// of unknown price come after all others, the fastest first. Of equals it is the most
// likely one, then the smaller, then the first by name. Errors are [ErrNoOptions] or
// wrap [model.ErrInvalid].
func Cheapest(options []Option, seconds, confidence float64) (Answer, error) {
	if len(options) == 0 {
		return Answer{}, ErrNoOptions
	}
	if err := Validate(seconds, confidence); err != nil {
		return Answer{}, err
	}
	type entry struct {
		index             int
		cost, probability float64
	}
	entries := make([]entry, len(options))
	a := Answer{}
	for i := range options {
		o := &options[i]
		e := entry{i, math.Inf(1), o.Runtime.Within(seconds)}
		if usd, known := o.Cost(o.Runtime.Median()); known {
			e.cost = usd
		}
		if e.probability >= confidence {
			a.Qualified++
		}
		entries[i] = e
	}
	best := slices.MinFunc(entries, func(x, y entry) int {
		p, q := &options[x.index], &options[y.index]
		byName := func() int {
			return cmp.Or(cmp.Compare(p.Configuration.ScaleOut, q.Configuration.ScaleOut),
				cmp.Compare(p.Configuration.MachineType, q.Configuration.MachineType))
		}
		meets := func(e entry) int {
			if e.probability >= confidence {
				return 0
			}
			return 1
		}
		if meets(x) == 1 && meets(y) == 1 && x.probability < hopeless && y.probability < hopeless {
			return cmp.Or(cmp.Compare(p.Runtime.LogMedian, q.Runtime.LogMedian), cmp.Compare(x.cost, y.cost), byName())
		}
		if o := cmp.Compare(meets(x), meets(y)); o != 0 || meets(x) == 1 {
			return cmp.Or(o, cmp.Compare(y.probability, x.probability), cmp.Compare(x.cost, y.cost), byName())
		}
		if math.IsInf(x.cost, 1) && math.IsInf(y.cost, 1) {
			return cmp.Or(cmp.Compare(p.Runtime.LogMedian, q.Runtime.LogMedian), byName())
		}
		return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(y.probability, x.probability), byName())
	})
	a.Choice, a.Probability, a.Met = best.index, best.probability, best.probability >= confidence
	return a, nil
}

// hopeless is the probability below which it says nothing which of two is likelier: the
// less certain prediction would win. The shorter median is closer.
const hopeless = .01

// Validate checks a deadline in seconds and a confidence.
func Validate(seconds, confidence float64) error {
	if err := model.ValidateSeconds("deadline", seconds); err != nil {
		return err
	}
	if !(confidence >= .5 && confidence < 1) {
		return &model.FieldError{Field: "confidence", Problem: fmt.Sprintf("must be at least 0.5 and below 1: %g", confidence)}
	}
	return nil
}
