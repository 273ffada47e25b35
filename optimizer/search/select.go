package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// MaxEvidenceSupports bounds the supports that one evidence-weighted ensemble
// computes with exactly. Of more, the first are used: see [SelectSupports].
const MaxEvidenceSupports = 64

// Weights of what makes a support worth an exact computation, beside its class.
const (
	// rankWeight is of the rank correlation with the target's own runs, in [-1, 1].
	rankWeight = 1.0
	// sizeWeight is of the likeness of input sizes, in [0, 1]; unknown counts half.
	sizeWeight = 1.0
	// sizeScale is the difference in doublings at which likeness falls to 1/e.
	sizeScale = 3.0
	// pointsWeight is of the number of configurations, in [0, 1].
	pointsWeight = 0.5
	// enoughPoints is how many configurations count in full.
	enoughPoints = 20
)

// SelectSupports returns the limit most promising supports for a target, the most
// promising first, by description and a cheap score, without any model. Supports of
// a nearer class come first. Within a class authors take turns, so that no author
// can crowd out the others with many records; an author's supports are ordered by
// rank correlation with the target's runs, likeness of input size and number of
// configurations. It takes 10,000 supports in some milliseconds and is deterministic.
func SelectSupports(p *Problem, all []Support, observed []Observation, limit int) []Support {
	type entry struct {
		index, class, turn int
		score              float64
	}
	entries := make([]entry, 0, len(all))
	for i := range all {
		s := &all[i]
		entries = append(entries, entry{index: i, class: int(classOf(s.Summary.Topic, p.Topic)), score: promise(p, &s.Summary, observed)})
	}
	byScore := func(a, b entry) int {
		x, y := &all[a.index], &all[b.index]
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(a.turn, b.turn), cmp.Compare(b.score, a.score),
			compareSupports(x, y), cmp.Compare(a.index, b.index))
	}
	slices.SortFunc(entries, byScore)
	type lane struct {
		class  int
		author string
	}
	turns := map[lane]int{}
	for i := range entries {
		l := lane{entries[i].class, all[entries[i].index].Author}
		entries[i].turn = turns[l]
		turns[l]++
	}
	slices.SortFunc(entries, byScore)
	out := make([]Support, 0, min(limit, len(entries)))
	for _, e := range entries[:min(limit, len(entries))] {
		out = append(out, all[e.index])
	}
	return out
}

// promise scores a support within its class.
func promise(p *Problem, s *model.Summary, observed []Observation) float64 {
	score := rankWeight * rankCorrelation(s.Points, observed)
	likeness := 0.5
	if theirs := s.InputBytes(); p.InputBytes > 0 && theirs > 0 {
		likeness = math.Exp(-math.Abs(math.Log2(p.InputBytes/theirs)) / sizeScale)
	}
	return score + sizeWeight*likeness + pointsWeight*min(1, float64(len(s.Points))/enoughPoints)
}

// rankCorrelation is Kendall's tau between the target's runtimes and the support's
// at the nearest of its configurations; 0 below two runs.
func rankCorrelation(points []model.Point, observed []Observation) float64 {
	var mine, theirs []float64
	for _, o := range observed {
		if o.RuntimeSeconds <= 0 || o.Outcome == model.Failed {
			continue
		}
		if v, ok := nearest(points, o); ok {
			mine, theirs = append(mine, o.RuntimeSeconds), append(theirs, v)
		}
	}
	pairs, sum := 0, 0
	for i := range mine {
		for j := range i {
			pairs++
			sum += cmp.Compare(mine[i], mine[j]) * cmp.Compare(theirs[i], theirs[j])
		}
	}
	if pairs == 0 {
		return 0
	}
	return float64(sum) / float64(pairs)
}

// nearest returns the log runtime at the point that is most like the observation's
// configuration, in doublings of cores, cores a node and memory a core.
func nearest(points []model.Point, o Observation) (logRuntime float64, ok bool) {
	best := math.Inf(1)
	for i := range points {
		q := &points[i]
		if !q.Observed() {
			continue
		}
		d := math.Abs(math.Log2(float64(q.Configuration.ScaleOut)*q.Resources.VCPUs/(float64(o.Configuration.ScaleOut)*o.Resources.VCPUs))) +
			math.Abs(math.Log2(q.Resources.VCPUs/o.Resources.VCPUs)) +
			math.Abs(math.Log2(q.Resources.MemoryGiB/q.Resources.VCPUs*o.Resources.VCPUs/o.Resources.MemoryGiB))
		if d < best {
			best, logRuntime = d, q.LogRuntime
		}
	}
	return logRuntime, !math.IsInf(best, 1)
}
