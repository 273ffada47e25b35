package hadoop

import (
	"cmp"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// sample is a value that stands for a weight, such as a share over a time.
type sample struct{ value, weight float64 }

// quantile returns the least value at or below which lies share q of the weight. The
// samples are sorted by value.
func quantile(samples []sample, q float64) float64 {
	total := 0.0
	for _, s := range samples {
		total += s.weight
	}
	rest := q * total
	for _, s := range samples {
		if rest -= s.weight; rest <= 0 {
			return s.value
		}
	}
	if len(samples) == 0 {
		return 0
	}
	return samples[len(samples)-1].value
}

func sorted(samples []sample) []sample {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	return samples
}

func distribution(samples []sample) model.Distribution {
	samples = sorted(samples)
	d := model.Distribution{P10: quantile(samples, .1), P50: quantile(samples, .5), P90: quantile(samples, .9)}
	if len(samples) > 0 {
		d.Max = samples[len(samples)-1].value
	}
	return d
}

// shares returns percentiles of shares; nil where nothing was measured.
func shares(samples []sample) *model.Percentiles {
	if !slices.ContainsFunc(samples, func(s sample) bool { return s.value > 0 }) {
		return nil
	}
	samples = sorted(samples)
	return &model.Percentiles{P10: min(1, quantile(samples, .1)), P50: min(1, quantile(samples, .5)), P90: min(1, quantile(samples, .9))}
}
