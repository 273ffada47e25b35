package search

import (
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

const (
	// tail is what lies outside Low and High on each side.
	tail = 0.1
	// visibleWeight is a hypothesis' weight below which it is left out of
	// quantiles, which are for people.
	visibleWeight = 1e-3
	// maxParts of a mixture are kept for quantiles; see binned.
	maxParts = 32
	// quantileTolerance is of a log runtime: 0.1%.
	quantileTolerance = 1e-3
)

// predictions describe one more run on each candidate, its noise included.
func predictions(m *ensemble.Mixture, improvement, limit []float64, noiseSD float64) []Prediction {
	out := make([]Prediction, len(improvement))
	mean, variance := m.AllMoments()
	parts := visible(m.Weight, visibleWeight)
	blocks(len(out), func(from, to int) {
		var room normalMixture
		for i := from; i < to; i++ {
			q := marginalOf(m, parts, i, noiseSD*noiseSD, &room)
			p := &out[i]
			p.LogMean, p.LogSD = mean[i], math.Sqrt(variance[i]+noiseSD*noiseSD)
			p.RuntimeSeconds = seconds(q.quantile(.5))
			p.LowSeconds, p.HighSeconds = seconds(q.quantile(tail)), seconds(q.quantile(1-tail))
			p.MeetsTarget, p.Acquisition = 1, improvement[i]
			if !math.IsInf(limit[i], 1) {
				p.MeetsTarget = q.cdf(limit[i])
			}
		}
	})
	return out
}

// normalMixture is a univariate mixture.
type normalMixture struct{ weight, mean, sd []float64 }

// marginal is the mixture at a candidate, without its negligible parts.
func marginal(m *ensemble.Mixture, candidate int, noiseVar float64) *normalMixture {
	return marginalOf(m, visible(m.Weight, visibleWeight), candidate, noiseVar, &normalMixture{})
}

// marginalOf is the mixture of the given hypotheses at a candidate, perhaps in room.
func marginalOf(m *ensemble.Mixture, parts []int, candidate int, noiseVar float64, room *normalMixture) *normalMixture {
	if len(parts) == 0 { // more than 1/visibleWeight hypotheses, all equal
		mean, variance := m.Moments(candidate)
		return &normalMixture{[]float64{1}, []float64{mean}, []float64{math.Sqrt(variance + noiseVar)}}
	}
	if len(room.weight) != len(parts) {
		*room = *newNormalMixture(len(parts))
	}
	q, total := room, 0.
	for k, h := range parts {
		q.weight[k], q.mean[k], q.sd[k] = m.Weight[h], m.Mean[h][candidate], math.Sqrt(m.Variance[h][candidate]+noiseVar)
		total += q.weight[k]
	}
	for k := range q.weight {
		q.weight[k] /= total
	}
	return q.binned(maxParts)
}

func newNormalMixture(n int) *normalMixture {
	room := make([]float64, 3*n)
	return &normalMixture{room[:n:n], room[n : 2*n : 2*n], room[2*n:]}
}

// binned returns a mixture of at most n parts with the same mean and variance: parts
// whose means fall into one of n equal bins become one.
func (q *normalMixture) binned(n int) *normalMixture {
	if len(q.weight) <= n {
		return q
	}
	lo := slices.Min(q.mean)
	width := (slices.Max(q.mean) - lo) / float64(n)
	if !(width > 0) {
		width = 1
	}
	sums := newNormalMixture(n)
	weight, mean, square := sums.weight, sums.mean, sums.sd
	for k, w := range q.weight {
		b := min(int((q.mean[k]-lo)/width), n-1)
		weight[b] += w
		mean[b] += w * q.mean[k]
		// Around lo, so that nothing cancels.
		square[b] += w * (q.sd[k]*q.sd[k] + (q.mean[k]-lo)*(q.mean[k]-lo))
	}
	parts := 0
	for b, w := range weight { // in place: parts <= b
		if w > 0 {
			m := mean[b] / w
			weight[parts], mean[parts], square[parts] = w, m, math.Sqrt(square[b]/w-(m-lo)*(m-lo))
			parts++
		}
	}
	return &normalMixture{weight[:parts], mean[:parts], square[:parts]}
}

func (q *normalMixture) cdf(y float64) float64 {
	cdf, _ := q.at(y)
	return cdf
}

// at returns the distribution function and the density.
func (q *normalMixture) at(y float64) (cdf, pdf float64) {
	for k, w := range q.weight {
		c, p := ensemble.Normal((y - q.mean[k]) / q.sd[k])
		cdf += w * c
		pdf += w * p / q.sd[k]
	}
	return min(cdf, 1), pdf
}

// quantile inverts cdf by Newton steps inside a bracket that bisection shrinks
// where a step would leave it.
func (q *normalMixture) quantile(p float64) float64 {
	lo, hi, mean := math.Inf(1), math.Inf(-1), 0.
	for k, w := range q.weight {
		lo, hi = min(lo, q.mean[k]-8*q.sd[k]), max(hi, q.mean[k]+8*q.sd[k])
		mean += w * q.mean[k]
	}
	y := mean
	for range 60 {
		excess, pdf := q.at(y)
		excess -= p
		if excess > 0 {
			hi = y
		} else {
			lo = y
		}
		next := y - excess/pdf
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-y) < quantileTolerance {
			return next
		}
		y = next
	}
	return y
}
