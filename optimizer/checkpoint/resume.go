package checkpoint

import "slices"

// LaunchSeconds pass from the end of a stage's last parent to its own start: what is
// usual in Spark's logs.
const LaunchSeconds = .130

// resume says at which point of its time a job is that starts again after some stages.
type resume struct {
	g *Graph
	// start is, by place, the point before which a job is that still has to run the
	// stage; first is the least, the point of a job that has all stages left.
	start []float64
	first float64
}

// resume of a recorded job keeps to the recorded starts: a job is at the earliest start
// of a stage that is left. Packed, what is left runs as soon as what it reads is there,
// with slots enough, so that the job is its longest remaining path before its end.
func (g *Graph) resume(packed bool) *resume {
	n := g.Len()
	r := &resume{g: g, start: make([]float64, n)}
	if !packed {
		for i, s := range g.stages {
			r.start[i] = s.Start
		}
		r.first = slices.Min(r.start)
		return r
	}
	path := make([]float64, n) // the longest path from a stage's start to the job's end
	for i := n - 1; i >= 0; i-- {
		s := g.stages[i]
		for _, c := range g.children(i) {
			path[i] = max(path[i], path[c])
		}
		path[i] += s.End - s.Start + LaunchSeconds
		r.start[i] = max(0, g.end-path[i])
	}
	r.first = slices.Min(r.start)
	return r
}

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
