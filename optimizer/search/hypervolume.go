package search

import (
	"cmp"
	"slices"
)

// dominates says whether a is at most b in every objective and below it in one.
func dominates(a, b []float64) bool {
	below := false
	for k := range a {
		if a[k] > b[k] {
			return false
		}
		below = below || a[k] < b[k]
	}
	return below
}

// NonDominated returns the indices of the points that no other point dominates, all
// objectives to be minimised, in their order. Of equal points the first counts.
func NonDominated(points [][]float64) []int {
	var out []int
	for i, p := range points {
		beaten := false
		for j, q := range points {
			beaten = beaten || dominates(q, p) || j < i && slices.Equal(q, p)
		}
		if !beaten {
			out = append(out, i)
		}
	}
	return out
}

// Hypervolume returns the volume that the points dominate within a reference point,
// for one to three objectives to be minimised (Zitzler and Thiele, PPSN 1998).
// Exact; O(n log n) for two objectives, O(n^2 log n) for three.
func Hypervolume(points [][]float64, reference []float64) float64 {
	var inside [][]float64
	for _, p := range points {
		if !slices.ContainsFunc(axes(len(reference)), func(k int) bool { return p[k] >= reference[k] }) {
			inside = append(inside, p)
		}
	}
	if len(inside) == 0 {
		return 0
	}
	last := len(reference) - 1
	slices.SortFunc(inside, func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	if last == 0 {
		return reference[0] - inside[0][0]
	}
	if last == 1 {
		return staircase(inside, reference)
	}
	// Slices along the last objective, between which nothing changes.
	volume := 0.
	for i := range inside {
		upper := reference[last]
		if i+1 < len(inside) {
			upper = inside[i+1][last]
		}
		if upper > inside[i][last] {
			volume += (upper - inside[i][last]) * Hypervolume(inside[:i+1:i+1], reference[:last])
		}
	}
	return volume
}

// staircase is the area that points, sorted by their second objective, dominate.
func staircase(points [][]float64, reference []float64) float64 {
	area, edge := 0., reference[0]
	for _, p := range points {
		if p[0] < edge {
			area += (edge - p[0]) * (reference[1] - p[1])
			edge = p[0]
		}
	}
	return area
}

func axes(n int) []int { return []int{0, 1, 2}[:n] }
