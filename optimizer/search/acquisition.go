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
	for h, w := range m.Weight {
		if w < negligibleWeight {
			continue
		}
		mean, variance := m.Mean[h], m.Variance[h]
		for i, o := range offset {
			if !known[i] {
				continue
			}
			c, sd := incumbent-o, math.Sqrt(variance[i])
			z := (min(c, limit[i]) - mean[i]) / sd
			out[i] += w * ((c-mean[i])*ensemble.NormalCDF(z) + sd*ensemble.NormalPDF(z))
		}
	}
	for i, v := range out {
		out[i] = max(v, 0) // rounding
	}
	return out
}
