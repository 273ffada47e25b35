package ensemble

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// shape is a Gaussian over the level-free log runtime at all points of a space.
// Its covariance is never formed: only the rows of points that were run are.
type shape interface {
	// mean is centred over the candidates; one entry a point. Not to be changed.
	mean() []float64
	// variance is the diagonal of the covariance. Not to be changed.
	variance() []float64
	// row writes the covariance of point i with all points into dst.
	row(dst []float64, i int)
}

// kernelRows computes rows of the two parts of the prior covariance over a space
// once, on demand.
type kernelRows struct {
	prior *shapePrior
	s     *space
	// diagonal is the fixed part at every point; the Matérn part is 1.
	diagonal []float64
	rows     map[int]gram
}

func newKernelRows(prior *shapePrior, s *space) *kernelRows {
	k := &kernelRows{prior: prior, s: s, diagonal: make([]float64, len(s.x)), rows: map[int]gram{}}
	for i, x := range s.x {
		k.diagonal[i], _ = prior.cov(x, x)
	}
	return k
}

func (k *kernelRows) row(i int) gram {
	g, ok := k.rows[i]
	if !ok {
		g = k.prior.gram(k.s.x[i:i+1], k.s.x)
		k.rows[i] = g
	}
	return g
}

// priorShape is the shape prior at one squared scale.
type priorShape struct {
	kernel    *kernelRows
	s2        float64
	mu, sigma []float64
}

func newPriorShape(kernel *kernelRows, scale float64) *priorShape {
	q := &priorShape{kernel: kernel, s2: scale * scale, mu: priorMean(kernel), sigma: slices.Clone(kernel.diagonal)}
	floats.AddConst(q.s2, q.sigma)
	return q
}

func priorMean(kernel *kernelRows) []float64 {
	m := make([]float64, len(kernel.s.x))
	for i, x := range kernel.s.x {
		m[i] = kernel.prior.mean(x)
	}
	centre(m, kernel.s.n)
	return m
}

// centre subtracts the mean of the first n values from all.
func centre(v []float64, n int) { floats.AddConst(-stat.Mean(v[:n], nil), v) }

func (q *priorShape) mean() []float64          { return q.mu }
func (q *priorShape) variance() []float64      { return q.sigma }
func (q *priorShape) row(dst []float64, i int) { q.kernel.row(i).at(dst, 0, q.s2, 0) }

// supportShape is the posterior of a support's shape, displaced by k doublings of
// the scale-out, averaged over the shape scales by evidence and matched to a
// Gaussian by its first two moments; then shrunk towards the prior.
type supportShape struct {
	kernel *kernelRows
	k      float64
	// shrink is rho^2, s2 the evidence-weighted mean of the squared scales and
	// shrinkS2 the squared scale of the prior shrunk to.
	shrink, s2, shrinkS2 float64
	mu, sigma            []float64
	// explained has, a scale and a run of the support, the row sqrt(w) L^-1 K
	// over all points: what the runs take away from the prior covariance.
	explained [][]float64
	// between has, a scale, sqrt(w) (mean of the scale - mean of all).
	between [][]float64
}

// newSupportShape conditions the shape prior on the pooled runs of a support.
func (e *evaluator) newSupportShape(kernel *kernelRows, runs *series, k float64) (*supportShape, error) {
	s := kernel.s
	q := &supportShape{
		kernel: kernel, k: k, shrink: e.p.Shrinkage * e.p.Shrinkage,
		shrinkS2: e.p.ShrinkageShapeSD * e.p.ShrinkageShapeSD,
	}
	d := distinctRuns(runs)
	n, points := len(d.x), len(s.x)

	displaced, prior := s.x, make([]float64, points)
	if k != 0 {
		displaced = make([][]float64, points)
		for i, x := range s.x {
			displaced[i] = slices.Clone(x)
			displaced[i][0] -= k
		}
	}
	for i, x := range displaced {
		prior[i] = e.prior.mean(x)
	}
	own, cross := e.prior.symmetric(d.x), e.prior.gram(d.x, displaced)

	scales := len(e.p.ShapeSDs)
	weights, means, solved := make([]float64, scales), make([][]float64, scales), make([][][]float64, scales)
	for j, sd := range e.p.ShapeSDs {
		l := e.covariance(own, sd, d.noise)
		logDiag, err := factorize(l, n)
		if err != nil {
			return nil, err
		}
		a := slices.Clone(d.residual)
		forward(l, n, a)
		weights[j] = -.5*floats.Dot(a, a) - logDiag
		v := newRows(n, points)
		for i := range n {
			cross.at(v[i], i, sd*sd, 0)
		}
		forwardRows(l, n, v)
		means[j] = slices.Clone(prior)
		for i := range n {
			floats.AddScaled(means[j], a[i], v[i])
		}
		solved[j] = v
	}
	softmax(weights)
	q.combine(e.p, weights, means, solved)
	return q, nil
}

// negligible is a share of evidence below which a scale adds nothing to a double.
const negligible = 1e-18

// combine matches the moments of the mixture over scales.
func (q *supportShape) combine(p *Params, weights []float64, means [][]float64, solved [][][]float64) {
	points, kernel := len(q.kernel.s.x), q.kernel
	mean := make([]float64, points)
	for j, w := range weights {
		floats.AddScaled(mean, w, means[j])
	}
	q.sigma = make([]float64, points)
	for j, w := range weights {
		q.s2 += w * p.ShapeSDs[j] * p.ShapeSDs[j]
		if w < negligible {
			continue
		}
		root := math.Sqrt(w)
		floats.Sub(means[j], mean)
		floats.Scale(root, means[j])
		q.between = append(q.between, means[j])
		addSquares(q.sigma, 1, means[j])
		for _, v := range solved[j] {
			floats.Scale(root, v)
			q.explained = append(q.explained, v)
			addSquares(q.sigma, -1, v)
		}
	}
	for i, x := range kernel.s.x {
		q.sigma[i] += kernel.diagonal[i] + q.displacement(x[0], x[0]) + q.s2
		q.sigma[i] = q.shrink*q.sigma[i] + (1-q.shrink)*(kernel.diagonal[i]+q.shrinkS2)
	}
	centre(mean, kernel.s.n)
	q.mu = priorMean(kernel)
	for i := range q.mu {
		q.mu[i] += p.Shrinkage * (mean[i] - q.mu[i])
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
	for _, v := range q.explained {
		floats.AddScaled(dst, -q.shrink*v[i], v)
	}
	for _, v := range q.between {
		floats.AddScaled(dst, q.shrink*v[i], v)
	}
}

// distinct are the runs of a series by configuration: several of one are exactly
// equivalent to their precision-weighted mean.
type distinct struct {
	x               [][]float64
	residual, noise []float64
}

func distinctRuns(s *series) distinct {
	var d distinct
	r := s.residual()
	for i, x := range s.x {
		j := slices.IndexFunc(d.x, func(o []float64) bool { return slices.Equal(o, x) })
		if j < 0 {
			d.x, d.residual, d.noise = append(d.x, x), append(d.residual, r[i]), append(d.noise, s.noise[i])
			continue
		}
		// Noise of j falls with every run, so it is the weight so far.
		share := d.noise[j] / (d.noise[j] + s.noise[i])
		d.residual[j] += share * (r[i] - d.residual[j])
		d.noise[j] *= 1 - share
	}
	return d
}
