package search

import (
	"math"
	"math/rand/v2"
)

// designMargin is the part of every feature's range, at both ends, that the initial
// design leaves out: extremes are rarely the answer, and cost most.
const designMargin = 0.1

// designBases are those of the Halton sequence, one a feature.
var designBases = [...]int{2, 3, 5}

// designPoint returns the open candidate that the initial design takes next: the
// one closest to the next point of a Halton sequence, shifted by the seed (a
// Cranley-Patterson rotation), over nodes, vCPUs of a node and memory per vCPU, all in
// log space and scaled to the candidates' ranges. Ties: lowest index. There must be
// an open candidate.
func (s *state) designPoint() int {
	x := s.designSpace()
	r := rand.New(rand.NewPCG(s.problem.Seed, designStream))
	var at [len(designBases)]float64
	for k, base := range designBases {
		_, u := math.Modf(r.Float64() + radicalInverse(s.history.runs+1, base))
		at[k] = designMargin + (1-2*designMargin)*u
	}
	next, nearest := -1, math.Inf(1)
	for i, open := range s.open {
		if !open {
			continue
		}
		var d float64
		for k := range at {
			d += (x[i][k] - at[k]) * (x[i][k] - at[k])
		}
		if d < nearest {
			next, nearest = i, d
		}
	}
	return next
}

// designSpace returns the candidates in the unit cube. A feature in which they do
// not differ is 0 for all, and so does not matter.
func (s *state) designSpace() [][len(designBases)]float64 {
	x := make([][len(designBases)]float64, len(s.problem.Candidates))
	for i := range x {
		c := &s.problem.Candidates[i]
		x[i] = [...]float64{
			math.Log(float64(c.Configuration.ScaleOut)),
			math.Log(c.Resources.VCPUs),
			math.Log(c.Resources.MemoryGiB / c.Resources.VCPUs),
		}
	}
	for k := range designBases {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range x {
			lo, hi = min(lo, x[i][k]), max(hi, x[i][k])
		}
		span := hi - lo
		for i := range x {
			if x[i][k] -= lo; span > 0 {
				x[i][k] /= span
			}
		}
	}
	return x
}

// radicalInverse mirrors the digits of i >= 0 in a base at the point: entry i of van
// der Corput's sequence, in [0, 1).
func radicalInverse(i, base int) float64 {
	v, f := 0.0, 1.0
	for ; i > 0; i /= base {
		f /= float64(base)
		v += f * float64(i%base)
	}
	return v
}
