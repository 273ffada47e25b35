package c3o

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/karasu-project/karasu/model/runtime/ernest"
	"github.com/karasu-project/karasu/model/trees"
)

// kind of a model.
type kind int

const (
	gbm kind = iota
	bom
	ogb
	parametric
	kinds
)

// fitted predicts seconds; its argument's seconds and group are ignored.
type fitted func(p *point) float64

const (
	// ridge of the polynomial and of the linear model, on scaled columns.
	ridge = 1e-4
	// guard is the factor below the least and above the largest runtime that was
	// measured within which predictions stay.
	guard = 2.
	// polynomial is the number of coefficients of the shape over the scale-out.
	polynomial = 4
	// anchor is the scale-out at which the shape is one, up to its level.
	anchor = 6.
)

// fit fits one model to at least one point.
func fit(k kind, points []point) (fitted, error) {
	var f fitted
	var err error
	switch k {
	case gbm:
		f, err = fitTrees(points, true)
	case parametric:
		f = fitErnest(points)
	default:
		f, err = fitOptimistic(points, k == ogb)
	}
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(1), 0.
	for _, p := range points {
		low, high = min(low, p.seconds), max(high, p.seconds)
	}
	return func(p *point) float64 {
		v := f(p)
		if math.IsNaN(v) {
			v = low
		}
		return min(max(v, low/guard), high*guard)
	}, nil
}

// row returns the features of a point for trees.
func row(p *point, scaleOut bool) []float64 {
	if !scaleOut {
		return p.context
	}
	return append([]float64{p.scaleOut}, p.context...)
}

func fitTrees(points []point, scaleOut bool) (fitted, error) {
	var x, y []float64
	for i := range points {
		x = append(x, row(&points[i], scaleOut)...)
		y = append(y, points[i].seconds)
	}
	e, err := trees.Fit(x, len(x)/len(y), y, trees.Options{})
	if err != nil {
		return nil, err
	}
	return func(p *point) float64 { return e.Predict(row(p, scaleOut)) }, nil
}

// fitErnest has terms that are scaled by the input size.
func fitErnest(points []point) fitted {
	terms := func(p *point) []float64 {
		size := p.context[2]
		return []float64{1, size / p.scaleOut, math.Log(p.scaleOut), p.scaleOut}
	}
	a, b := make([][]float64, len(points)), make([]float64, len(points))
	for i := range points {
		a[i], b[i] = terms(&points[i]), points[i].seconds
	}
	c := ernest.NNLS(a, b)
	return func(p *point) float64 {
		var v float64
		for i, t := range terms(p) {
			v += c[i] * t
		}
		return v
	}
}

// fitOptimistic fits the shape over the scale-out to runtimes relative to the mean
// of their context, then the context's part to runtimes over the shape.
func fitOptimistic(points []point, boosted bool) (fitted, error) {
	shape := fitShape(points)
	flat := make([]point, len(points))
	for i, p := range points {
		p.seconds /= shape(p.scaleOut)
		flat[i] = p
	}
	var part fitted
	if boosted {
		var err error
		if part, err = fitTrees(flat, false); err != nil {
			return nil, err
		}
	} else {
		part = fitLinear(flat)
	}
	return func(p *point) float64 { return part(p) * shape(p.scaleOut) }, nil
}

// minShape keeps the polynomial positive.
const minShape = .05

// fitShape fits a polynomial of third degree in 1/x, one level a context being taken
// out: both centred.
func fitShape(points []point) func(x float64) float64 {
	basis := func(x float64) []float64 {
		u := anchor / x
		return []float64{u, u * u / 4, math.Log(x / anchor)}
	}
	sums := map[int][]float64{}
	for _, p := range points {
		s := sums[p.group]
		if s == nil {
			s = make([]float64, polynomial+1)
			sums[p.group] = s
		}
		for i, v := range basis(p.scaleOut) {
			s[i] += v
		}
		s[polynomial-1] += p.seconds
		s[polynomial]++
	}
	var x [][]float64
	var y []float64
	for _, p := range points {
		s := sums[p.group]
		n := s[polynomial]
		if n < 2 {
			continue
		}
		mean := s[polynomial-1] / n
		r := basis(p.scaleOut)
		for i := range r {
			r[i] -= s[i] / n
		}
		x, y = append(x, r), append(y, p.seconds/mean-1)
	}
	if len(x) == 0 {
		return func(float64) float64 { return 1 }
	}
	c := leastSquares(x, y)
	// The mean of the basis over all points is where the shape is one.
	centre := make([]float64, polynomial-1)
	for _, p := range points {
		for i, v := range basis(p.scaleOut) {
			centre[i] += v / float64(len(points))
		}
	}
	return func(x float64) float64 {
		v := 1.
		for i, b := range basis(x) {
			v += c[i] * (b - centre[i])
		}
		return max(v, minShape)
	}
}

// fitLinear is a ridge regression on the context.
func fitLinear(points []point) fitted {
	d, n := len(points[0].context), float64(len(points))
	mean, sd, level := make([]float64, d), make([]float64, d), 0.
	for _, p := range points {
		level += p.seconds / n
		for i, v := range p.context {
			mean[i] += v / n
		}
	}
	for _, p := range points {
		for i, v := range p.context {
			sd[i] += (v - mean[i]) * (v - mean[i]) / n
		}
	}
	scaled := func(p *point) []float64 {
		r := make([]float64, d)
		for i, v := range p.context {
			if sd[i] > 0 {
				r[i] = (v - mean[i]) / math.Sqrt(sd[i])
			}
		}
		return r
	}
	x, y := make([][]float64, len(points)), make([]float64, len(points))
	for i := range points {
		x[i], y[i] = scaled(&points[i]), points[i].seconds-level
	}
	c := leastSquares(x, y)
	return func(p *point) float64 {
		v := level
		for i, s := range scaled(p) {
			v += c[i] * s
		}
		return v
	}
}

// leastSquares returns the coefficients of a ridge regression, zero where it fails.
func leastSquares(x [][]float64, y []float64) []float64 {
	n, d := len(x), len(x[0])
	a, b := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for i := range n {
		for j := range d {
			b.SetVec(j, b.AtVec(j)+x[i][j]*y[i])
			for k := j; k < d; k++ {
				a.SetSym(j, k, a.At(j, k)+x[i][j]*x[i][k])
			}
		}
	}
	for j := range d {
		a.SetSym(j, j, a.At(j, j)+ridge*float64(n))
	}
	var chol mat.Cholesky
	out := mat.NewVecDense(d, nil)
	if !chol.Factorize(a) || chol.SolveVecTo(out, b) != nil {
		return make([]float64, d)
	}
	return out.RawVector().Data
}
