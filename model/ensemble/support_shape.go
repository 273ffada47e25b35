package ensemble

import (
	"gonum.org/v1/gonum/floats"
)

// supportShape is the posterior of a support's shape, displaced by k doublings of
// the scale-out, averaged over the shape scales by evidence and matched to a
// Gaussian by its first two moments; then shrunk towards the prior.
//
// It keeps nothing of its own that has both the runs and the points as dimensions: rows
// of its covariance are computed from those of the table.
type supportShape struct {
	kernel *kernelRows
	runs   *series
	// rows are of the runs, from the table of kernels.
	rows   []gram
	params *Params
	k      float64
	// weights are of the shape scales.
	weights []float64
	// shrink is rho^2, s2 the evidence-weighted mean of the squared scales and
	// shrinkS2 the squared scale of the prior shrunk to.
	shrink, s2, shrinkS2 float64
	mu, sigma            []float64
	// between has, a scale that is not negligible, its mean - mean of all.
	between [][]float64
}

// negligible is a share of evidence below which a scale adds nothing to a double.
const negligible = 1e-16

// newSupportShape conditions the shape prior on the pooled runs of a support, which
// are at distinct configurations. The table must have been displaced by k.
func (e *evaluator) newSupportShape(kernel *kernelRows, runs *series, k float64) *supportShape {
	q := &supportShape{
		kernel: kernel, runs: runs, rows: make([]gram, len(runs.at)), params: e.p, k: k,
		shrink: e.p.Shrinkage * e.p.Shrinkage, shrinkS2: e.p.ShrinkageShapeSD * e.p.ShrinkageShapeSD,
	}
	s := kernel.s
	n, points, scales := len(runs.at), len(s.x), len(e.p.ShapeSDs)
	block := make([]float64, scales*(1+points)+2*points)
	q.weights, block = block[:scales:scales], block[scales:]
	q.sigma, q.mu, block = block[:points:points], block[points:2*points:2*points], block[2*points:]
	for j := range q.weights {
		q.weights[j] = runs.fits[j].log
	}
	softmax(q.weights)

	rows := q.rows
	for i, p := range runs.at {
		rows[i] = e.table.row(p, k)
	}
	room := e.room(n * points)
	defer e.rooms.Put(room)
	v := rowsOf(*room, n, points)
	mean := q.mu
	for j, sd := range e.p.ShapeSDs {
		w := q.weights[j]
		q.s2 += w * sd * sd
		if w < negligible {
			continue
		}
		for i := range n {
			rows[i].at(v[i], 0, sd*sd, 0)
		}
		fit := &runs.fits[j]
		forwardRows(fit.factor, n, v)
		own := block[j*points : (j+1)*points : (j+1)*points]
		for i, x := range s.x {
			// The displacement adds the same to the prior mean everywhere.
			own[i] = e.prior.mean(x) - k*e.prior.slopeMean[0]
		}
		for i := range n {
			floats.AddScaled(own, fit.solved[i], v[i])
			addSquares(q.sigma, -w, v[i])
		}
		floats.AddScaled(mean, w, own)
		q.between = append(q.between, own)
	}
	q.combine(mean)
	return q
}

// combine matches the moments of the mixture over scales, of which between has the
// means and sigma what the runs take from the variance, and shrinks.
func (q *supportShape) combine(mean []float64) {
	kernel, j := q.kernel, 0
	for _, w := range q.weights {
		if w < negligible {
			continue
		}
		floats.Sub(q.between[j], mean)
		addSquares(q.sigma, w, q.between[j])
		j++
	}
	for i, x := range kernel.s.x {
		q.sigma[i] += kernel.diagonal[i] + q.displacement(x[0], x[0]) + q.s2
		q.sigma[i] = q.shrink*q.sigma[i] + (1-q.shrink)*(kernel.diagonal[i]+q.shrinkS2)
	}
	centre(mean, kernel.s.n)
	for i, m := range kernel.mu {
		mean[i] = m + q.params.Shrinkage*(mean[i]-m)
	}
}

// displacement is what shifting both points by -k in x1 adds to the linear part
// of their covariance.
func (q *supportShape) displacement(a, b float64) float64 {
	return q.kernel.prior.slopeVar[0] * q.k * (q.k - a - b)
}

func (q *supportShape) mean() []float64     { return q.mu }
func (q *supportShape) variance() []float64 { return q.sigma }

func (q *supportShape) row(dst []float64, i int) {
	g := q.kernel.row(i)
	s2 := q.shrink*q.s2 + (1-q.shrink)*q.shrinkS2
	g.at(dst, 0, s2, 0)
	if q.k != 0 {
		x := q.kernel.s.x
		for j := range dst {
			dst[j] += q.shrink * q.displacement(x[i][0], x[j][0])
		}
	}
	// What the runs explain, sum_s w_s K_s' A_s^-1 K_s with K_s = fixed + s^2 matern and
	// the covariance A_s of the runs, as one combination of the rows of each part.
	n, points := len(q.runs.at), len(dst)
	room := make([]float64, 3*n)
	solved, fixed, matern := room[:n], room[n:2*n], room[2*n:]
	rows, j := q.rows, 0
	for s, w := range q.weights {
		if w < negligible {
			continue
		}
		s2 := q.params.ShapeSDs[s] * q.params.ShapeSDs[s]
		for t := range rows {
			solved[t] = rows[t].fixed[i] + s2*rows[t].matern[i]
		}
		forward(q.runs.fits[s].factor, n, solved)
		backward(q.runs.fits[s].factor, n, solved)
		floats.AddScaled(fixed, w, solved)
		floats.AddScaled(matern, w*s2, solved)
		floats.AddScaled(dst, q.shrink*w*q.between[j][i], q.between[j])
		j++
	}
	for t, g := range rows {
		floats.AddScaled(dst, -q.shrink*fixed[t], g.fixed[:points])
		floats.AddScaled(dst, -q.shrink*matern[t], g.matern[:points])
	}
}
