package search

import (
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
)

// maxMetricDistance is the distance of two configurations, in doublings of cores,
// cores a node and memory a core together, beyond which their utilisation is not
// compared: Karasu compares runs on equal or similar configurations only.
const maxMetricDistance = 2

// metricFactors returns, a usable support, the logarithm by which utilisation changes
// its prior mass; nil where nothing can be compared.
//
// A run of the target is compared with the support's run on the nearest configuration
// by the Euclidean distance of their vectors of percentiles (Karasu, arXiv 2308.11792),
// over what both measured and per dimension, so that it is between 0 and 1. A run's
// weight falls as e^(-distance/2) of the configurations. The weighted mean d moves the
// mass by
//
//	MetricBound (1 - d/MetricScale) W/(W + 1), bounded to ±MetricBound W/(W + 1)
//
// where W is the sum of weights: one run on the same configuration gives half of it.
func (m *Evidence) metricFactors(s *state, observed []Observation, c *ensembleConfig) []float64 {
	if m.params.MetricBound == 0 {
		return nil
	}
	own := slices.DeleteFunc(s.sources(observed), func(o source) bool { return o.metrics == model.Metrics{} })
	if len(own) == 0 {
		return nil
	}
	var factors []float64
	for k, i := range c.supports {
		theirs := measuredPoints(s.problem.Supports[i].Summary.Points)
		sum, weight := 0., 0.
		for j := range own {
			if d, w, ok := metricDistance(&own[j], theirs); ok {
				sum += w * d
				weight += w
			}
		}
		if weight == 0 {
			continue
		}
		if factors == nil {
			factors = make([]float64, len(c.supports))
		}
		likeness := min(max(1-sum/weight/m.params.MetricScale, -1), 1)
		factors[k] = m.params.MetricBound * likeness * weight / (weight + 1)
	}
	return factors
}

// measuredPoints are those with any utilisation.
func measuredPoints(points []model.Point) []source {
	var out []source
	for i := range points {
		if q := &points[i]; q.Metrics != (model.Metrics{}) {
			out = append(out, source{newPlace(q.Configuration, q.Resources), q.LogRuntime, q.Metrics})
		}
	}
	return out
}

// metricDistance compares a run with that on the nearest configuration that has
// anything in common to compare. It is false where none is near.
func metricDistance(own *source, theirs []source) (distance, weight float64, ok bool) {
	best := math.Inf(1)
	for i := range theirs {
		apart := 0.
		for k, x := range theirs[i].x {
			apart += math.Abs(x - own.x[k])
		}
		if apart > maxMetricDistance || apart >= best {
			continue
		}
		if d, comparable := utilisationDistance(&own.metrics, &theirs[i].metrics); comparable {
			best, distance, ok = apart, d, true
		}
	}
	return distance, math.Exp(-best / 2), ok
}

// utilisationDistance is the Euclidean distance of the percentiles that both have,
// over the square root of their number. It is false where they have none.
func utilisationDistance(a, b *model.Metrics) (float64, bool) {
	sum, n := 0., 0.
	other := series(b)
	for k, p := range series(a) {
		if q := other[k]; p != nil && q != nil {
			x, y, z := p.P10-q.P10, p.P50-q.P50, p.P90-q.P90
			sum += x*x + y*y + z*z
			n += 3
		}
	}
	if n == 0 {
		return 0, false
	}
	return math.Sqrt(sum / n), true
}

// weighMetrics moves the mixture's weights by what utilisation says of the supports.
// Without any it changes nothing.
func (m *Evidence) weighMetrics(mixture *ensemble.Mixture, s *state, observed []Observation, c *ensembleConfig) {
	if factors := m.metricFactors(s, observed, c); factors != nil {
		mixture.Reweigh(factors)
	}
}
