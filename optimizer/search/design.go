package search

import (
	"math"
	"math/rand/v2"
)

// designMargin is the part of every feature's range, at both ends, that the initial
// design leaves out: extremes are rarely the answer, and cost most.
const designMargin = 0.1

// designFeatures is the number of features that the initial design spreads over.
const designFeatures = 3

// designPoint returns the open candidate that the initial design takes next: the
// one closest to the next point of a random Latin hypercube of [initialDesign] points
// (McKay et al. 1979: one point in each third of every feature) over nodes, vCPUs of a
// node and memory per vCPU, all in log space and scaled to the candidates' ranges.
// Another hypercube follows where those runs all failed. Ties: lowest index. There
// must be an open candidate.
func (s *state) designPoint() int {
	x := s.designSpace()
	block, run := s.history.runs/initialDesign, s.history.runs%initialDesign
	r := rand.New(rand.NewPCG(s.problem.Seed, designStream+uint64(block)))
	var at [designFeatures]float64
	for k := range at {
		order := r.Perm(initialDesign)
		var within [initialDesign]float64
		for i := range within {
			within[i] = r.Float64()
		}
		u := (float64(order[run]) + within[run]) / initialDesign
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
func (s *state) designSpace() [][designFeatures]float64 {
	x := make([][designFeatures]float64, len(s.problem.Candidates))
	for i := range x {
		c := &s.problem.Candidates[i]
		x[i] = [...]float64{
			math.Log(float64(c.Configuration.ScaleOut)),
			math.Log(c.Resources.VCPUs),
			math.Log(c.Resources.MemoryGiB / c.Resources.VCPUs),
		}
	}
	for k := range designFeatures {
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
