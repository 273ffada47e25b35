package search

import (
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

// line is the hypervolume improvement of one candidate as a function of its log
// runtime t. All log objectives are an offset plus t, so the outcome moves along
// the diagonal y(t) = offset + t, and the volume that y(t) dominates and the front
// does not, within the reference point, is a piecewise polynomial in t: its
// derivative is minus the free area of the faces of the box at y(t), and what is
// free of a face only changes where the diagonal passes a coordinate of the front.
//
// So the expectation over a normal t is a sum of the normal's partial moments over
// the pieces, exact and without the quadratic or cubic number of cells that
// independent objectives need (Emmerich, Deutz and Klinkenberg, CEC 2011; for
// perfectly correlated objectives the integral has one dimension). With one
// objective it is the expected improvement.
type line struct {
	// from falls. Piece j is for t in (from[j+1], from[j]], the last one for all
	// t up to from[j]; above from[0] the improvement is 0.
	from []float64
	// coefficient of powers 0 to 3 of w = from[j] - t >= 0; the improvement of piece j.
	coefficient [][4]float64
}

// newLine computes the pieces for a candidate of K offsets, a front of non-dominated
// points (n x K) and a reference point. O(n^2 log n).
func newLine(offset []float64, front [][]float64, reference []float64) *line {
	end := math.Inf(1)
	for k, o := range offset {
		end = min(end, reference[k]-o)
	}
	// passes is t where the diagonal passes each coordinate: n x K.
	passes := make([][]float64, len(front))
	for j, a := range front {
		beaten := math.Inf(-1)
		for k, o := range offset {
			t := a[k] - o
			passes[j] = append(passes[j], t)
			beaten = max(beaten, t)
		}
		end = min(end, beaten)
	}
	l := &line{from: []float64{end}}
	for _, row := range passes {
		for _, t := range row {
			if t < end {
				l.from = append(l.from, t)
			}
		}
	}
	slices.Sort(l.from)
	l.from = slices.Compact(l.from)
	slices.Reverse(l.from)

	gained := 0.
	for j, t := range l.from {
		inside := t - 1
		if j+1 < len(l.from) {
			inside = l.from[j+1] + (t-l.from[j+1])/2
		}
		var d [3]float64 // the derivative by w
		for k := range reference {
			addFace(&d, k, offset, t, inside, front, passes, reference)
		}
		c := [4]float64{gained, d[0], d[1] / 2, d[2] / 3}
		l.coefficient = append(l.coefficient, c)
		if j+1 < len(l.from) {
			gained = polynomial(&c, t-l.from[j+1])
		}
	}
	return l
}

// addFace adds the free area of face k of the box at y(t - w), as a polynomial in
// w: what lies in the plane z_k = y_k, between y and the reference point, and is
// not dominated. inside is a t within the piece, which decides what is on which side.
func addFace(d *[3]float64, k int, offset []float64, t, inside float64, front, passes [][]float64, reference []float64) {
	var others []int
	for o := range reference {
		if o != k {
			others = append(others, o)
		}
	}
	// bound is how far the free part reaches along each other axis; holes are
	// points within it that dominate a part of the face.
	bound := make([]float64, len(others))
	for i, o := range others {
		bound[i] = reference[o]
	}
	var holes [][]float64
	for j, a := range front {
		if passes[j][k] > inside {
			continue // behind the face
		}
		switch len(others) {
		case 1:
			bound[0] = min(bound[0], a[others[0]])
		case 2:
			u, v := others[0], others[1]
			switch {
			case passes[j][u] <= inside:
				bound[1] = min(bound[1], a[v])
			case passes[j][v] <= inside:
				bound[0] = min(bound[0], a[u])
			default:
				holes = append(holes, []float64{a[u], a[v]})
			}
		}
	}
	switch len(others) {
	case 0:
		d[0]++
	case 1:
		d[0] += bound[0] - (offset[others[0]] + t)
		d[1]++
	case 2:
		p, q := bound[0]-(offset[others[0]]+t), bound[1]-(offset[others[1]]+t)
		d[0] += p*q - Hypervolume(holes, bound)
		d[1] += p + q
		d[2]++
	}
}

func polynomial(c *[4]float64, w float64) float64 { return c[0] + w*(c[1]+w*(c[2]+w*c[3])) }

// at is the improvement by a run of log runtime t.
func (l *line) at(t float64) float64 {
	if t >= l.from[0] {
		return 0
	}
	j := 0
	for j+1 < len(l.from) && t <= l.from[j+1] {
		j++
	}
	return polynomial(&l.coefficient[j], l.from[j]-t)
}

// farTail is where a normal's mass, 1e-23, is nothing beside what is summed.
const farTail = -10

// expected is the mean of the improvement over t ~ N(mean, sd^2), runs above the
// limit counting nothing. O(pieces).
func (l *line) expected(mean, sd, limit float64) float64 {
	total := 0.
	for j, t := range l.from {
		upper, lower := (min(t, limit)-mean)/sd, math.Inf(-1)
		if j+1 < len(l.from) {
			lower = (l.from[j+1] - mean) / sd
		}
		if upper < farTail {
			break
		}
		if upper > lower {
			m := partialMoments(t-mean, sd, lower, upper)
			for k, c := range l.coefficient[j] {
				total += c * m[k]
			}
		}
	}
	return max(total, 0)
}

// partialMoments returns the integrals of (m - sd z)^n phi(z) over z in (a, b) for
// n = 0 to 3: with w the integrand's base, by parts,
//
//	I_n = m I_(n-1) + sd^2 (n-1) I_(n-2) + sd [w^(n-1) phi] from a to b
func partialMoments(m, sd, a, b float64) [4]float64 {
	var mass float64
	if a > 0 { // the upper tail's own function keeps its digits
		mass = ensemble.NormalCDF(-a) - ensemble.NormalCDF(-b)
	} else {
		mass = ensemble.NormalCDF(b) - ensemble.NormalCDF(a)
	}
	wa, wb, fa, fb := m-sd*a, m-sd*b, sd*ensemble.NormalPDF(a), sd*ensemble.NormalPDF(b)
	if math.IsInf(a, -1) {
		wa = 0 // times a density of 0
	}
	if math.IsInf(b, 1) {
		wb = 0
	}
	first := m*mass + fb - fa
	second := m*first + sd*sd*mass + wb*fb - wa*fa
	third := m*second + 2*sd*sd*first + wb*wb*fb - wa*wa*fa
	return [4]float64{mass, first, second, third}
}
