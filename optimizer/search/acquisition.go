package search

import (
	"math"

	"github.com/karasu-project/karasu/model/ensemble"
)

// headroom is how far above the worst objective at the target the incumbent is
// taken to be while no valid run is known, in nats. It makes the first valid run
// worth something wherever it is.
const headroom = 0.5

// negligibleWeight is a hypothesis' weight below which it adds nothing to a sum
// that is compared to 1e-9.
const negligibleWeight = 1e-14

// expectedImprovement is the expected fall of the log objective below the
// incumbent by a run on each candidate, counting only runs within its limit, a log
// runtime:
//
//	c = incumbent - offset, a = min(c, limit), z = (a - mu) / sigma
//	EI = (c - mu) Phi(z) + sigma phi(z)
//
// averaged over the mixture. Where c > limit, the improvement at the limit's
// edge is c - limit > 0, not 0: that is what a valid run is worth at least.
// Candidates of unknown offset have 0.
func expectedImprovement(m *ensemble.Mixture, incumbent float64, limit, offset []float64, known []bool) []float64 {
	out := make([]float64, len(offset))
	weights := visible(m.Weight, negligibleWeight)
	blocks(len(out), func(from, to int) {
		for _, h := range weights {
			w, mean, variance := m.Weight[h], m.Mean[h], m.Variance[h]
			for i := from; i < to; i++ {
				if !known[i] {
					continue
				}
				c, sd := incumbent-offset[i], math.Sqrt(variance[i])
				z := (min(c, limit[i]) - mean[i]) / sd
				if z < hopeless {
					continue
				}
				cdf, pdf := ensemble.Normal(z)
				out[i] += w * ((c-mean[i])*cdf + sd*pdf)
			}
		}
		for i := from; i < to; i++ {
			out[i] = max(out[i], 0) // rounding
		}
	})
	return out
}

// hopeless is the z below which a normal variable adds less than 1e-14.
const hopeless = -8

// visible lists the hypotheses of at least the given weight, in order.
func visible(weights []float64, least float64) []int {
	out := make([]int, 0, len(weights))
	for h, w := range weights {
		if w >= least {
			out = append(out, h)
		}
	}
	return out
}
