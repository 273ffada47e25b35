package spark

import (
	"math"

	"github.com/karasu-project/karasu/model"
)

// sketch estimates percentiles of weighted, non-negative values to within 2% in a
// fixed space: it counts by logarithmic buckets, each 4% wide (as in DDSketch, Masson
// et al., VLDB 2019).
type sketch struct {
	zero, total float64
	max         float64
	buckets     []float64
}

const (
	sketchGamma = 1.04
	sketchLow   = 1e-9 // what is smaller counts as zero
	// sketchSize covers 1e-9 to 1e27: ln(1e36) / ln(1.04).
	sketchSize = 2114
)

var sketchScale = 1 / math.Log(sketchGamma)

func (s *sketch) add(value, weight float64) {
	if !(value >= 0) || !(weight > 0) || math.IsInf(weight, 1) {
		return
	}
	s.total += weight
	s.max = max(s.max, value)
	if value < sketchLow {
		s.zero += weight
		return
	}
	if s.buckets == nil {
		s.buckets = make([]float64, sketchSize)
	}
	i := int(math.Log(value/sketchLow) * sketchScale)
	s.buckets[min(i, sketchSize-1)] += weight
}

// quantile returns the value at share q of the weight; 0 of nothing.
func (s *sketch) quantile(q float64) float64 {
	rest := q*s.total - s.zero
	if rest <= 0 {
		return 0
	}
	for i, w := range s.buckets {
		if rest -= w; rest <= 0 {
			return min(s.max, sketchLow*math.Pow(sketchGamma, float64(i)+.5))
		}
	}
	return s.max
}

func (s *sketch) distribution() model.Distribution {
	return model.Distribution{P10: s.quantile(.1), P50: s.quantile(.5), P90: s.quantile(.9), Max: s.max}
}

// shares returns percentiles of values that are shares; nil of nothing.
func (s *sketch) shares() *model.Percentiles {
	if s.total == 0 {
		return nil
	}
	return &model.Percentiles{P10: min(1, s.quantile(.1)), P50: min(1, s.quantile(.5)), P90: min(1, s.quantile(.9))}
}
