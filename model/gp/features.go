package gp

import (
	"math"

	"github.com/karasu-project/karasu/model"
)

// FeatureDimensions is d of the family "gp-matern52-ard/1".
const FeatureDimensions = 3

// AppendFeatures appends the family's features of a configuration to dst:
//
//	log2(vCPUs of all nodes), log2(vCPUs of a node), log2(GiB of memory per vCPU)
//
// One unit is one doubling, in each. They are not centred or scaled any further, so
// that peers with different catalogues agree. The arguments must be valid.
func AppendFeatures(dst []float64, c model.Configuration, r model.Resources) []float64 {
	return append(dst,
		math.Log2(float64(c.ScaleOut)*r.VCPUs),
		math.Log2(r.VCPUs),
		math.Log2(r.MemoryGiB/r.VCPUs))
}
