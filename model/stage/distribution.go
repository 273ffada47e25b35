package stage

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Distribution of an amount: its logarithm is normal. The zero value is an amount that
// is zero for certain, such as the shuffle of a stage that no other reads.
type Distribution struct {
	// LogMedian is the natural logarithm of the median, in seconds or bytes.
	LogMedian float64
	// Scale is the standard deviation of the logarithm; 0 only where the amount is
	// known.
	Scale float64
	// Positive says that the amount is above zero; without it the rest means nothing.
	Positive bool
}

// maxLog bounds logarithms, so that amounts and their products stay finite.
const maxLog = 60

func newDistribution(logMedian, scale float64) Distribution {
	return Distribution{LogMedian: min(max(logMedian, -maxLog), maxLog), Scale: min(max(scale, 0), maxLog), Positive: true}
}

// Known is the distribution of a measured amount.
func Known(v float64) Distribution {
	if !(v > 0) {
		return Distribution{}
	}
	return newDistribution(math.Log(v), 0)
}

// Median of the amount.
func (d Distribution) Median() float64 {
	if !d.Positive {
		return 0
	}
	return math.Exp(d.LogMedian)
}

// Quantile is what the amount stays below with probability p, above 0 and below 1.
func (d Distribution) Quantile(p float64) float64 {
	if !d.Positive {
		return 0
	}
	return math.Exp(d.LogMedian + d.Scale*distuv.UnitNormal.Quantile(p))
}
