package checkpoint

import (
	"cmp"
	"slices"
)

// LaunchSeconds pass from the end of a stage's last parent to its own start: what is
// usual in Spark's logs.
const LaunchSeconds = .130

// resume says at which point of its time a job is that starts again after some stages.
type resume struct {
	g *Graph
	// start is, by place, the point before which a job is that still has to run the
	// stage; runs are the places in that order.
	start []float64
	runs  []int32
}

// resume of a recorded job keeps to the recorded starts: a job is at the earliest start
// of a stage that is left. Packed, what is left runs as soon as what it reads is there,
// with slots enough, so that the job is its longest remaining path before its end.
func (g *Graph) resume(packed bool) *resume {
	n := g.Len()
	r := &resume{g: g, start: make([]float64, n), runs: make([]int32, n)}
	path := make([]float64, n) // the longest path from a stage's start to the job's end
	for i := n - 1; i >= 0; i-- {
		s := g.stages[i]
		r.runs[i] = int32(i)
		r.start[i] = s.Start
		if !packed {
			continue
		}
		for _, c := range g.children(i) {
			path[i] = max(path[i], path[c])
		}
		path[i] += s.End - s.Start + LaunchSeconds
		r.start[i] = max(0, g.end-path[i])
	}
	slices.SortStableFunc(r.runs, func(a, b int32) int { return cmp.Compare(r.start[a], r.start[b]) })
	return r
}

// first is the point of a job that has all stages left.
func (r *resume) first() float64 { return r.start[r.runs[0]] }

// point is where a job is whose stages outside a set are left.
func (r *resume) point(in []bool) float64 {
	least := r.g.end
	for i, s := range r.start {
		if i >= len(in) || !in[i] {
			least = min(least, s)
		}
	}
	return least
}
