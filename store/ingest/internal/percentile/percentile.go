// Package percentile takes percentiles of weighted samples, exactly.
package percentile

import (
	"cmp"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// Sample is a value that stands for a weight above 0, such as a share over a time.
type Sample struct{ Value, Weight float64 }

// Of returns a sample.
func Of(value, weight float64) Sample { return Sample{value, weight} }

// quantile returns the least value at or below which lies share q of the weight. The
// samples are sorted by value.
func quantile(samples []Sample, q float64) float64 {
	total := 0.0
	for _, s := range samples {
		total += s.Weight
	}
	rest := q * total
	for _, s := range samples {
		if rest -= s.Weight; rest <= 1e-9*total {
			return s.Value
		}
	}
	return samples[len(samples)-1].Value
}

// sorted returns the samples that are numbers, in order.
func sorted(samples []Sample) []Sample {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		return math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || !(s.Weight > 0)
	})
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Value, b.Value) })
	return samples
}

// Distribution returns percentiles of amounts; zero of nothing.
func Distribution(samples []Sample) model.Distribution {
	samples = sorted(samples)
	if len(samples) == 0 {
		return model.Distribution{}
	}
	return model.Distribution{P10: quantile(samples, .1), P50: quantile(samples, .5), P90: quantile(samples, .9), Max: samples[len(samples)-1].Value}
}

// Shares returns percentiles of shares, cut to [0, 1]; nil of nothing.
func Shares(samples []Sample) *model.Percentiles {
	samples = sorted(samples)
	if len(samples) == 0 {
		return nil
	}
	share := func(q float64) float64 { return min(1, max(0, quantile(samples, q))) }
	return &model.Percentiles{P10: share(.1), P50: share(.5), P90: share(.9)}
}
