package ernest

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// NNLS returns the x >= 0 that minimises |a x - b|, a being m x n, by the active
// set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter
// 23). Columns are scaled to unit length first.
func NNLS(a [][]float64, b []float64) []float64 {
	m, n := len(a), len(a[0])
	scale := make([]float64, n)
	for j := range n {
		for i := range m {
			scale[j] += a[i][j] * a[i][j]
		}
	}
	// Normal equations: n is 4, columns are scaled, so that conditions stay small
	// enough for float64 with a ridge of 1e-12.
	q, c := make([]float64, n*n), make([]float64, n)
	for j := range n {
		if scale[j] = math.Sqrt(scale[j]); scale[j] == 0 {
			scale[j] = 1
		}
	}
	for j := range n {
		for k := range n {
			for i := range m {
				q[j*n+k] += a[i][j] * a[i][k] / (scale[j] * scale[k])
			}
		}
		q[j*n+j] += 1e-12
		for i := range m {
			c[j] += a[i][j] * b[i] / scale[j]
		}
	}
	x := activeSet(q, c)
	for j := range x {
		x[j] /= scale[j]
	}
	return x
}

// activeSet minimises x'qx/2 - c'x over x >= 0.
func activeSet(q, c []float64) []float64 {
	n := len(c)
	x, passive := make([]float64, n), make([]bool, n)
	const tolerance = 1e-10
	var size float64
	for _, v := range c {
		size = max(size, v, -v)
	}
	for range 10 * n {
		// The most promising coefficient that is at zero.
		best, gain := -1, tolerance*size
		for j := range n {
			w := c[j]
			for k := range n {
				w -= q[j*n+k] * x[k]
			}
			if !passive[j] && w > gain {
				best, gain = j, w
			}
		}
		if best < 0 {
			return x
		}
		passive[best] = true
		for {
			s, ok := solvePassive(q, c, passive)
			if !ok {
				passive[best] = false
				return x
			}
			step, blocking := 1., -1
			for j := range n {
				if passive[j] && s[j] <= 0 {
					if t := x[j] / (x[j] - s[j]); t < step {
						step, blocking = t, j
					}
				}
			}
			for j := range n {
				x[j] += step * (s[j] - x[j])
			}
			if blocking < 0 {
				break
			}
			passive[blocking], x[blocking] = false, 0
		}
	}
	return x
}

// solvePassive solves for the passive coefficients with the others at zero.
func solvePassive(q, c []float64, passive []bool) ([]float64, bool) {
	n := len(c)
	var index []int
	for j := range n {
		if passive[j] {
			index = append(index, j)
		}
	}
	k := len(index)
	a, b := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i, p := range index {
		b.SetVec(i, c[p])
		for j := i; j < k; j++ {
			a.SetSym(i, j, q[p*n+index[j]])
		}
	}
	var chol mat.Cholesky
	var s mat.VecDense
	if !chol.Factorize(a) || chol.SolveVecTo(&s, b) != nil {
		// Singular to working precision: the error is only a warning of that.
		if s.Len() != k {
			return nil, false
		}
	}
	out := make([]float64, n)
	for i, p := range index {
		out[p] = s.AtVec(i)
	}
	return out, true
}
