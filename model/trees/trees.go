// Package trees fits regression trees to small tables of hundreds of rows and tens
// of features: gradient-boosted ones (Friedman, Annals of Statistics 29(5), 2001,
// algorithm 3, squared loss; exact splits, no sampling), and extremely randomised ones,
// whose spread says how unsure they are. Same data and seed, same trees.
package trees

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrInput is wrapped by every error about unusable data.
var ErrInput = errors.New("unusable data for trees")

// Bounds of the input.
const (
	MaxRows     = 100_000
	MaxFeatures = 256
	maxTrees    = 5000
	maxDepth    = 12
	// maxValue bounds features and targets, so that sums of squares stay finite.
	maxValue = 1e100
)

// Options of an ensemble. Zero values are the defaults in parentheses, which are
// those that are customary.
type Options struct {
	// Trees is the number of boosting steps (100).
	Trees int
	// Depth is the number of splits from root to leaf (3).
	Depth int
	// Rate is what every tree contributes of its fit (0.1).
	Rate float64
	// MinLeaf is the least number of rows in a leaf (1).
	MinLeaf int
}

func (o *Options) defaults() error {
	if o.Trees == 0 {
		o.Trees = 100
	}
	if o.Depth == 0 {
		o.Depth = 3
	}
	if o.Rate == 0 {
		o.Rate = .1
	}
	if o.MinLeaf == 0 {
		o.MinLeaf = 1
	}
	if o.Trees < 1 || o.Trees > maxTrees || o.Depth < 1 || o.Depth > maxDepth || !(o.Rate > 0 && o.Rate <= 1) || o.MinLeaf < 1 {
		return fmt.Errorf("%w: options %+v", ErrInput, *o)
	}
	return nil
}

// node of a tree; leaves have feature -1. Children are indices into the tree.
type node struct {
	feature     int
	threshold   float64
	left, right int
	value       float64
}

// Ensemble is a fitted sum of trees. It is immutable.
type Ensemble struct {
	features int
	base     float64
	trees    [][]node
}

// Fit boosts trees to n rows: x is n x d in row-major order. It wraps [ErrInput].
func Fit(x []float64, d int, y []float64, o Options) (*Ensemble, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	if err := checkTable(x, d, y); err != nil {
		return nil, err
	}
	e := &Ensemble{features: d}
	for _, v := range y {
		e.base += v / float64(len(y))
	}
	g := newGrower(x, d, o)
	for i, v := range y {
		g.residual[i] = v - e.base
	}
	for range o.Trees {
		t := g.grow()
		e.trees = append(e.trees, t)
		if len(t) == 1 {
			break // nothing is left to split
		}
	}
	return e, nil
}

// checkTable bounds shape and values of n rows.
func checkTable(x []float64, d int, y []float64) error {
	if d < 1 || d > MaxFeatures || len(y) < 1 || len(y) > MaxRows || len(x) != len(y)*d {
		return fmt.Errorf("%w: %d values for %d rows x %d features", ErrInput, len(x), len(y), d)
	}
	for _, part := range [][]float64{x, y} {
		for _, v := range part {
			if !(math.Abs(v) <= maxValue) {
				return fmt.Errorf("%w: value %g", ErrInput, v)
			}
		}
	}
	return nil
}

// Predict returns the value at a point of d features.
func (e *Ensemble) Predict(x []float64) float64 {
	v := e.base
	for _, t := range e.trees {
		i := 0
		for t[i].feature >= 0 {
			if x[t[i].feature] <= t[i].threshold {
				i = t[i].left
			} else {
				i = t[i].right
			}
		}
		v += t[i].value
	}
	return v
}

// grower grows one tree after the other on the residuals.
type grower struct {
	x        []float64
	d        int
	o        Options
	residual []float64
	// order has the rows by rising value of each feature.
	order [][]int32
	// sorted has their values.
	sorted [][]float64
	// leaf is the node that a row is in.
	leaf []int32
}

func newGrower(x []float64, d int, o Options) *grower {
	n := len(x) / d
	g := &grower{x: x, d: d, o: o, residual: make([]float64, n), leaf: make([]int32, n)}
	for f := range d {
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(x[int(a)*d+f], x[int(b)*d+f]) })
		g.order = append(g.order, rows)
		values := make([]float64, n)
		for i, r := range rows {
			values[i] = x[int(r)*d+f]
		}
		g.sorted = append(g.sorted, values)
	}
	return g
}

// split is the best found for a node. sum and count are of all its rows; the others
// are running values of the rows left of the current position.
type split struct {
	sum, count         float64
	leftSum, leftCount float64
	last               float64
	gain, threshold    float64
	feature            int
}

// grow returns the next tree, level by level, and takes it from the residuals.
func (g *grower) grow() []node {
	clear(g.leaf)
	tree := []node{{feature: -1}}
	from := 0
	for range g.o.Depth {
		to := len(tree)
		splits := g.best(from, to)
		for i := range splits {
			if s := &splits[i]; s.feature >= 0 {
				tree[from+i].feature, tree[from+i].threshold = s.feature, s.threshold
				tree[from+i].left, tree[from+i].right = len(tree), len(tree)+1
				tree = append(tree, node{feature: -1}, node{feature: -1})
			}
		}
		if len(tree) == to {
			break
		}
		for r, l := range g.leaf {
			if t := &tree[l]; t.feature >= 0 {
				if g.x[r*g.d+t.feature] <= t.threshold {
					g.leaf[r] = int32(t.left)
				} else {
					g.leaf[r] = int32(t.right)
				}
			}
		}
		from = to
	}
	count := make([]float64, len(tree))
	for r, l := range g.leaf {
		tree[l].value += g.residual[r]
		count[l]++
	}
	for i := range tree {
		if count[i] > 0 {
			tree[i].value *= g.o.Rate / count[i]
		}
	}
	for r, l := range g.leaf {
		g.residual[r] -= tree[l].value
	}
	return tree
}

// minGain is the least reduction of the sum of squares, as a share of it: rounding
// makes smaller ones.
const minGain = 1e-12

// best returns the best split of each node in [from, to).
func (g *grower) best(from, to int) []split {
	splits := make([]split, to-from)
	for i := range splits {
		splits[i].feature = -1
	}
	var total float64
	for r, l := range g.leaf {
		if i := int(l) - from; i >= 0 {
			splits[i].sum += g.residual[r]
			splits[i].count++
		}
		total += g.residual[r] * g.residual[r]
	}
	for f, rows := range g.order {
		for i := range splits {
			splits[i].leftSum, splits[i].leftCount = 0, 0
		}
		values := g.sorted[f]
		if values[0] == values[len(values)-1] {
			continue // nothing to split by
		}
		for k, r := range rows {
			i := int(g.leaf[r]) - from
			if i < 0 {
				continue
			}
			s, v := &splits[i], values[k]
			if s.leftCount >= float64(g.o.MinLeaf) && s.count-s.leftCount >= float64(g.o.MinLeaf) && v > s.last {
				right, rightCount := s.sum-s.leftSum, s.count-s.leftCount
				gain := s.leftSum*s.leftSum/s.leftCount + right*right/rightCount - s.sum*s.sum/s.count
				if gain > s.gain && gain > minGain*total {
					s.gain, s.feature = gain, f
					s.threshold = s.last + (v-s.last)/2
				}
			}
			s.leftSum += g.residual[r]
			s.leftCount++
			s.last = v
		}
	}
	return splits
}
