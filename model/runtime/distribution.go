package predict

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/karasu-project/karasu/model"
)

// Distribution is of one runtime: its logarithm is LogMedian + Scale t with t of
// Student's distribution with Freedom degrees of freedom.
type Distribution struct {
	// LogMedian is the natural logarithm of the median runtime in seconds.
	LogMedian float64
	// Scale, above 0, is in natural logarithms.
	Scale float64
	// Freedom of [MinFreedom] and more; large is a log-normal distribution.
	Freedom float64
}

// Bounds of a distribution.
const (
	// MinFreedom still has a variance.
	MinFreedom = 2.1
	// MaxFreedom is not told from a normal distribution.
	MaxFreedom = 1e6
	// minScale is 0.1% of the runtime: nothing repeats better.
	minScale = 1e-3
	maxScale = 50
)

// NewDistribution returns a distribution that is finite, with scale and runtime
// within what [model.MaxRuntime] allows. It wraps [ErrNumeric] where logMedian or
// scale is not a number.
func NewDistribution(logMedian, scale, freedom float64) (Distribution, error) {
	if math.IsNaN(logMedian) || math.IsNaN(scale) || math.IsNaN(freedom) {
		return Distribution{}, fmt.Errorf("%w: prediction %g ± %g", ErrNumeric, logMedian, scale)
	}
	return Distribution{
		LogMedian: possible(logMedian),
		Scale:     min(max(scale, minScale), maxScale),
		Freedom:   min(max(freedom, MinFreedom), MaxFreedom),
	}, nil
}

// possible moves ln(seconds) to what a run can take: a millisecond to ten years.
func possible(logSeconds float64) float64 {
	return min(max(logSeconds, math.Log(model.MinRuntime.Seconds())), math.Log(model.MaxRuntime.Seconds()))
}

// Median runtime in seconds.
func (d Distribution) Median() float64 { return math.Exp(d.LogMedian) }

// Quantile returns the runtime in seconds that a run stays below with probability
// p, which must be above 0 and below 1.
func (d Distribution) Quantile(p float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.Freedom}.Quantile(p)
	return math.Exp(possible(d.LogMedian + d.Scale*t))
}

// Interval returns the central interval in seconds that holds a run with the given
// probability, such as 0.8.
func (d Distribution) Interval(probability float64) (low, high float64) {
	return d.Quantile((1 - probability) / 2), d.Quantile((1 + probability) / 2)
}

// Variance of the logarithm of the runtime.
func (d Distribution) Variance() float64 { return d.Scale * d.Scale * d.Freedom / (d.Freedom - 2) }

// Within returns the probability that a run takes at most so many seconds.
func (d Distribution) Within(seconds float64) float64 {
	if !(seconds > 0) {
		return 0
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.Freedom}.CDF((math.Log(seconds) - d.LogMedian) / d.Scale)
}
