package ensemble

import (
	"encoding/binary"
	"math"
)

// maxKernelEntries bounds what a kernelTable keeps: 4 million entries are 64 MB.
// Larger problems compute each row when it is asked for.
const maxKernelEntries = 4 << 20

// kernelTable holds the covariances between the configurations of supports and all
// configurations of a problem. Supports share most of their configurations with each
// other and with the candidates, so that each pair is computed once for all of them.
//
// Positions 0.. are those of the space, further ones follow as supports name them.
// It is not safe for concurrent use before fill, and read-only after.
type kernelTable struct {
	prior *shapePrior
	// points is the number of positions of the space.
	points int
	// x is positions x d; used marks those that a support names, columns are all of
	// these, and column their index in it.
	x       [][]float64
	used    []bool
	columns []int
	column  []int
	index   map[string]int
	// displaced has the filled rows, a displacement.
	displaced map[float64]*displacedRows
}

// displacedRows are rows by position, nil where none is kept.
type displacedRows struct{ rows []gram }

func newKernelTable(prior *shapePrior, s *space) *kernelTable {
	t := &kernelTable{prior: prior, points: len(s.x), x: s.x[:len(s.x):len(s.x)], index: make(map[string]int, len(s.x)), displaced: map[float64]*displacedRows{}}
	var key []byte
	for i, x := range s.x {
		key = positionKey(key, x)
		if _, ok := t.index[string(key)]; !ok {
			t.index[string(key)] = i
		}
	}
	t.used = make([]bool, len(t.x))
	return t
}

func positionKey(key []byte, x []float64) []byte {
	key = key[:0]
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	return key
}

// position returns the place of x, which it keeps where it is new.
func (t *kernelTable) position(x []float64) int {
	var room [64]byte
	key := positionKey(room[:0], x)
	i, ok := t.index[string(key)]
	if !ok {
		i = len(t.x)
		t.index[string(key)] = i
		t.x, t.used = append(t.x, x), append(t.used, false)
	}
	t.used[i] = true
	return i
}

// fill ends the adding of positions and computes the rows without displacement.
func (t *kernelTable) fill() {
	t.column = make([]int, len(t.x))
	for i, used := range t.used {
		t.column[i] = -1
		if used {
			t.column[i] = len(t.columns)
			t.columns = append(t.columns, i)
		}
	}
	t.displace(0)
}

// displace computes the rows of covariances with all positions (with those of the
// space, where k is not 0) displaced by -k in the first feature.
func (t *kernelTable) displace(k float64) {
	if t.displaced[k] != nil {
		return
	}
	d := &displacedRows{rows: make([]gram, len(t.x))}
	t.displaced[k] = d
	n := t.width(k)
	if len(t.columns)*n > maxKernelEntries {
		return
	}
	block := make([]float64, 2*n*len(t.columns))
	chunks(len(t.columns), 4, func(from, to int) {
		for c, i := range t.columns[from:to] {
			t.compute(d, i, k, block[2*n*(from+c):2*n*(from+c+1)])
		}
	})
}

func (t *kernelTable) width(k float64) int {
	if k != 0 {
		return t.points
	}
	return len(t.x)
}

// row returns the covariances of a used position with all positions (those of the
// space, where k is not 0), which displace has been called for.
func (t *kernelTable) row(i int, k float64) gram {
	d := t.displaced[k]
	if g := d.rows[i]; g.cols > 0 {
		return g
	}
	one := displacedRows{rows: make([]gram, i+1)}
	t.compute(&one, i, k, make([]float64, 2*t.width(k)))
	return one.rows[i]
}

// compute fills a row, which is kept in the block.
func (t *kernelTable) compute(d *displacedRows, i int, k float64, block []float64) {
	n := len(block) / 2
	g := gram{rows: 1, cols: n, fixed: block[:n:n], matern: block[n:]}
	t.prior.covRow(g, t.x[i], t.x[:n], k)
	d.rows[i] = g
}

// symmetric gathers the covariance of positions among themselves.
func (t *kernelTable) symmetric(at []int) gram {
	n := len(at)
	block := make([]float64, 2*n*n)
	g := gram{rows: n, cols: n, fixed: block[: n*n : n*n], matern: block[n*n:]}
	for i, p := range at {
		r := t.row(p, 0)
		for j, q := range at {
			g.fixed[i*n+j], g.matern[i*n+j] = r.fixed[q], r.matern[q]
		}
	}
	return g
}
