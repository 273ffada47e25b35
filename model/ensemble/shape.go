package ensemble

import (
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
	// mu is the prior mean and diagonal the fixed part of the variance at every point;
	// the Matérn part is 1.
	mu, diagonal []float64
	rows         map[int]gram
}

func newKernelRows(prior *shapePrior, s *space) *kernelRows {
	k := &kernelRows{prior: prior, s: s, diagonal: make([]float64, len(s.x)), rows: map[int]gram{}}
	for i, x := range s.x {
		k.diagonal[i] = prior.variance(x)
	}
	k.mu = priorMean(prior, s)
	return k
}

func (k *kernelRows) row(i int) gram {
	g, ok := k.rows[i]
	if !ok {
		n := len(k.s.x)
		g = gram{rows: 1, cols: n, fixed: make([]float64, n), matern: make([]float64, n)}
		k.prior.covRow(g, k.s.x[i], k.s.x, 0)
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
	q := &priorShape{kernel: kernel, s2: scale * scale, mu: kernel.mu, sigma: slices.Clone(kernel.diagonal)}
	floats.AddConst(q.s2, q.sigma)
	return q
}

func priorMean(prior *shapePrior, s *space) []float64 {
	m := make([]float64, len(s.x))
	for i, x := range s.x {
		m[i] = prior.mean(x)
	}
	centre(m, s.n)
	return m
}

// centre subtracts the mean of the first n values from all.
func centre(v []float64, n int) { floats.AddConst(-stat.Mean(v[:n], nil), v) }

func (q *priorShape) mean() []float64          { return q.mu }
func (q *priorShape) variance() []float64      { return q.sigma }
func (q *priorShape) row(dst []float64, i int) { q.kernel.row(i).at(dst, 0, q.s2, 0) }
