package ensemble

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// baseFeatures is the number of features that every configuration has.
const baseFeatures = 3

// Point is a configuration as the ensemble sees it.
type Point struct {
	// Nodes, CoresPerNode and GiBPerNode are all above zero.
	Nodes, CoresPerNode, GiBPerNode float64
	// Extra are further features in doublings (disk, network, accelerator); every
	// point of a space and every trace that refers to it has equally many.
	Extra []float64
}

// memoryGiB is the memory of the cluster beyond reserve GiB a core; at least 0.
func (p Point) memoryGiB(reserve float64) float64 {
	return max(0, p.Nodes*p.GiBPerNode-reserve*p.Nodes*p.CoresPerNode)
}

func (p Point) validate(extra int) error {
	for _, v := range []float64{p.Nodes, p.CoresPerNode, p.GiBPerNode} {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: a point of %g nodes with %g cores and %g GiB", ErrInvalid, p.Nodes, p.CoresPerNode, p.GiBPerNode)
		}
	}
	if len(p.Extra) != extra {
		return fmt.Errorf("%w: a point with %d extra features, want %d", ErrInvalid, len(p.Extra), extra)
	}
	for _, v := range p.Extra {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: an extra feature of %g", ErrInvalid, v)
		}
	}
	return nil
}

// Features returns the d = 3 + len(Extra) coordinates of a point, all in doublings:
// log2 of the cores of the cluster, of the cores of a node and of the GiB of
// memory per core.
func Features(p Point) []float64 {
	x := make([]float64, 0, baseFeatures+len(p.Extra))
	x = append(x, math.Log2(p.Nodes*p.CoresPerNode), math.Log2(p.CoresPerNode), math.Log2(p.GiBPerNode/p.CoresPerNode))
	return append(x, p.Extra...)
}

// space is the geometry of one problem: the candidates, then further points at
// which runs were made.
type space struct {
	// n is the number of candidates; they come first in x.
	n int
	// d is the number of features.
	d int
	// center is the mean over the candidates, length d. It is subtracted from x
	// and from the features of traces.
	center []float64
	// x is points x d, centred.
	x [][]float64
	// cliffs has one centred step function a quantile of memory for data: 1 below
	// it, minus the mean over the candidates. Quantiles x points. supportCliffs are
	// those of hypotheses with a support.
	cliffs, supportCliffs [][]float64
}

// newSpace takes n >= 1 candidates and further points, all with as many features.
func newSpace(p *Params, candidates, outside []Point) (*space, error) {
	if len(candidates) == 0 {
		return nil, fmt.Errorf("%w: no candidates", ErrInvalid)
	}
	all := slices.Concat(candidates, outside)
	extra := len(candidates[0].Extra)
	s := &space{n: len(candidates), d: baseFeatures + extra, x: make([][]float64, len(all))}
	s.center = make([]float64, s.d)
	for i, q := range all {
		if err := q.validate(extra); err != nil {
			return nil, err
		}
		s.x[i] = Features(q)
		if i < s.n {
			floats.Add(s.center, s.x[i])
		}
	}
	floats.Scale(1/float64(s.n), s.center)
	for _, x := range s.x {
		floats.Sub(x, s.center)
	}

	memory := make([]float64, len(all))
	for i, q := range all {
		memory[i] = q.memoryGiB(p.CliffReserveGiB)
	}
	steps := func(quantiles []float64) [][]float64 {
		return stepFunctions(memory, s.n, quantiles)
	}
	s.cliffs = steps(p.CliffQuantiles)
	s.supportCliffs = s.cliffs
	if p.SupportCliffQuantiles != nil {
		s.supportCliffs = steps(p.SupportCliffQuantiles)
	}
	return s, nil
}

// stepFunctions returns, for each quantile of the memory of the first n points, 1
// where a point has less and 0 elsewhere, minus the mean over the n. Quantiles x points.
func stepFunctions(memory []float64, n int, quantiles []float64) [][]float64 {
	sorted := slices.Sorted(slices.Values(memory[:n]))
	var all [][]float64
	for _, quantile := range quantiles {
		theta := linearQuantile(sorted, quantile)
		h := make([]float64, len(memory))
		for i, m := range memory {
			// Boundaries fall on candidates, so equality must survive rounding.
			if m < theta*(1-1e-12) {
				h[i] = 1
			}
		}
		floats.AddConst(-stat.Mean(h[:n], nil), h)
		all = append(all, h)
	}
	return all
}

// linearQuantile interpolates between order statistics of sorted values, n >= 1
// (type 7 of Hyndman and Fan 1996).
func linearQuantile(sorted []float64, q float64) float64 {
	pos := q * float64(len(sorted)-1)
	i := min(int(pos), len(sorted)-1)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (pos-float64(i))*(sorted[i+1]-sorted[i])
}
