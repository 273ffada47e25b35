package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
	"github.com/karasu-project/karasu/model/trees"
)

const (
	// pairTrees is the number of trees of a surrogate: the usual hundred.
	pairTrees = 100
	// maxSources are the known configurations that make pairs; n of them make n (n - 1)
	// rows, and every prediction asks each.
	maxSources = 24
	// maxAsked pairs are predicted by one forest: at a microsecond for ten trees these are
	// 0.1 s. In larger spaces fewer sources are asked, leastAsked at least.
	maxAsked, leastAsked = 12_000, 3
	// plainSD is of a prediction from one known configuration alone, without any pair
	// to learn from: the spread of log runtime over configurations in public tables.
	plainSD = 0.6
	// leastTreeSD is the least deviation of a prediction: trees that agree may all be
	// wrong.
	leastTreeSD = 0.1
)

// place is one end of a pair: a configuration in the features of the trees.
type place struct {
	x [gp.FeatureDimensions]float64
	// cores and gib are of all nodes, log2.
	cores, gib float64
}

func newPlace(c model.Configuration, r model.Resources) place {
	p := place{
		cores: math.Log2(float64(c.ScaleOut) * r.VCPUs),
		gib:   math.Log2(float64(c.ScaleOut) * r.MemoryGiB),
	}
	gp.AppendFeatures(p.x[:0], c, r)
	return p
}

// source is a configuration with a runtime.
type source struct {
	place
	logRuntime float64
	metrics    model.Metrics
}

// sources are the configurations with a runtime, also those that are no candidates
// today, with the median utilisation of their runs. Of more than [maxSources] the
// last ones count.
func (s *state) sources(observed []Observation) []source {
	points := s.history.points
	points = points[max(0, len(points)-maxSources):]
	out := make([]source, len(points))
	for i := range points {
		pt := &points[i]
		var all []model.Metrics
		for _, o := range observed {
			if o.Configuration == pt.configuration && o.Outcome != model.Failed && o.Metrics.Validate() == nil {
				all = append(all, o.Metrics)
			}
		}
		out[i] = source{newPlace(pt.configuration, pt.resources), pt.logRuntime, medianMetrics(all)}
	}
	return out
}

// destinations are the candidates.
func (s *state) destinations() []place {
	out := make([]place, len(s.problem.Candidates))
	for i := range out {
		out[i] = newPlace(s.problem.Candidates[i].Configuration, s.problem.Candidates[i].Resources)
	}
	return out
}

// measured says whether a source has metrics that the trees use.
func measured(sources []source) bool {
	return slices.ContainsFunc(sources, func(s source) bool { return s.metrics.CPU != nil || s.metrics.Memory != nil })
}

// series lists the four resources in the order of the features.
func series(m *model.Metrics) [4]*model.Percentiles {
	return [...]*model.Percentiles{m.CPU, m.Memory, m.Disk, m.Network}
}

// medianMetrics is the median of each percentile over the runs that measured it.
func medianMetrics(all []model.Metrics) model.Metrics {
	var out model.Metrics
	for k, to := range []**model.Percentiles{&out.CPU, &out.Memory, &out.Disk, &out.Network} {
		var p10, p50, p90 []float64
		for i := range all {
			if p := series(&all[i])[k]; p != nil {
				p10, p50, p90 = append(p10, p.P10), append(p50, p.P50), append(p90, p.P90)
			}
		}
		if len(p50) > 0 {
			*to = &model.Percentiles{P10: median(p10), P50: median(p50), P90: median(p90)}
		}
	}
	return out
}

// unknownDemand is that of what was not measured, below all others.
const unknownDemand = -64

// appendPair appends the features of a pair: the destination, by how much it differs
// from the source, and with metrics the cores and the memory that the source kept busy
// over what the destination has (log2). Trees cannot make up such ratios. The shares by
// themselves, and those of disks and network, tell workloads apart more than they tell
// what to expect, and with few pairs that is noise: on simulated workloads they make
// predictions worse.
func appendPair(dst []float64, from *source, to *place, metrics bool) []float64 {
	dst = append(dst, to.x[:]...)
	for k := range to.x {
		dst = append(dst, to.x[k]-from.x[k])
	}
	if !metrics {
		return dst
	}
	cores, memory := float64(unknownDemand), float64(unknownDemand)
	if p := from.metrics.CPU; p != nil {
		cores = max(unknownDemand, math.Log2(p.P50)+from.cores-to.cores)
	}
	if p := from.metrics.Memory; p != nil {
		memory = max(unknownDemand, math.Log2(p.P90)+from.gib-to.gib)
	}
	return append(dst, cores, memory)
}

// pairForest predicts how the log runtime of one configuration differs from that of
// another, learnt from all ordered pairs of known ones. Without a pair it says nothing.
type pairForest struct {
	forest  *trees.Forest // nil without pairs
	metrics bool
}

// fitPairs grows n trees on the pairs of one or more sources.
func fitPairs(sources []source, metrics bool, n int, seed uint64) (*pairForest, error) {
	m := &pairForest{metrics: metrics}
	if len(sources) < 2 {
		return m, nil
	}
	var x, y []float64
	for i := range sources {
		for j := range sources {
			if i != j {
				x = appendPair(x, &sources[i], &sources[j].place, metrics)
				y = append(y, sources[j].logRuntime-sources[i].logRuntime)
			}
		}
	}
	var err error
	if m.forest, err = trees.FitForest(x, len(x)/len(y), y, trees.ForestOptions{Trees: n, Seed: seed}); err != nil {
		return nil, fmt.Errorf("trees over pairs of %d configurations: %w", len(sources), err)
	}
	return m, nil
}

// evenly returns at most n of the sources, at even distances and the last among them.
func evenly(sources []source, n int) []source {
	if len(sources) <= n {
		return sources
	}
	out := make([]source, n)
	for k := range out {
		out[k] = sources[(k+1)*len(sources)/n-1]
	}
	return out
}

// gaussian is the prediction at the destinations: every source's runtime and the
// difference that each tree sees, averaged over n >= 1 sources. Its variance is that
// between trees, and that between sources over their number.
func (m *pairForest) gaussian(sources []source, to []place) gaussian {
	g := gaussian{make([]float64, len(to)), make([]float64, len(to))}
	sources = evenly(sources, max(leastAsked, maxAsked/len(to)))
	n := float64(len(sources))
	level := 0.
	for i := range sources {
		level += sources[i].logRuntime / n
	}
	if m.forest == nil {
		for c := range to {
			g.mean[c], g.variance[c] = level, plainSD*plainSD
		}
		return g
	}
	byTree, one, each := make([]float64, m.forest.Trees()), make([]float64, m.forest.Trees()), make([]float64, len(sources))
	var x []float64
	for c := range to {
		clear(byTree)
		for i := range sources {
			clear(one)
			x = appendPair(x[:0], &sources[i], &to[c], m.metrics)
			m.forest.Add(one, x)
			for t, v := range one {
				byTree[t] += v / n
			}
			difference, _ := trees.Moments(one)
			each[i] = sources[i].logRuntime + difference
		}
		mean, betweenTrees := trees.Moments(byTree)
		_, betweenSources := trees.Moments(each)
		g.mean[c] = level + mean
		g.variance[c] = betweenTrees*betweenTrees + betweenSources*betweenSources/n + leastTreeSD*leastTreeSD
	}
	return g
}
