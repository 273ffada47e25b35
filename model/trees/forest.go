package trees

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ForestOptions of extremely randomised trees. Zero values are the defaults in
// parentheses.
type ForestOptions struct {
	// Trees is the number of trees (100).
	Trees int
	// MinSplit is the least number of rows that a node needs to be split (2).
	MinSplit int
	// MinLeaf is the least number of rows in a leaf (1); a threshold that leaves fewer on
	// a side is not taken.
	MinLeaf int
	// Features is how many that differ among a node's rows are looked at, drawn at random
	// (all). Fewer are faster, and make trees more unlike.
	Features int
	// Seed of the random thresholds.
	Seed uint64
}

func (o *ForestOptions) defaults() error {
	if o.Trees == 0 {
		o.Trees = 100
	}
	if o.MinSplit == 0 {
		o.MinSplit = 2
	}
	if o.MinLeaf == 0 {
		o.MinLeaf = 1
	}
	if o.Trees < 1 || o.Trees > maxTrees || o.MinSplit < 2 || o.MinLeaf < 1 || o.Features < 0 {
		return fmt.Errorf("%w: options %+v", ErrInput, *o)
	}
	return nil
}

// Forest is a set of extremely randomised trees (Geurts, Ernst and Wehenkel, Machine
// Learning 63, 2006): each is grown on all rows, and at a node takes the best of one
// random threshold a feature. How far the trees are apart says how unsure they are.
// It is immutable and safe for concurrent use.
type Forest struct {
	trees [][]node
}

// FitForest grows a forest on n rows: x is n x d in row-major order. The same
// arguments give the same forest. It wraps [ErrInput].
func FitForest(x []float64, d int, y []float64, o ForestOptions) (*Forest, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	if err := checkTable(x, d, y); err != nil {
		return nil, err
	}
	f := &Forest{}
	g := &forester{x: transposed(x, d), y: y, minSplit: o.MinSplit, minLeaf: float64(o.MinLeaf), most: o.Features, rows: make([]int32, len(y))}
	all := make([]int32, d)
	for i := range all {
		all[i] = int32(i)
	}
	for t := range o.Trees {
		// A stream of its own for each tree: the first trees of a larger forest are those
		// of a smaller one.
		g.random = rand.New(rand.NewPCG(o.Seed, uint64(t)))
		for i := range g.rows {
			g.rows[i] = int32(i)
		}
		g.tree = nil
		g.grow(g.rows, all)
		f.trees = append(f.trees, g.tree)
	}
	return f, nil
}

// Trees returns the number of trees.
func (f *Forest) Trees() int { return len(f.trees) }

// Add adds the value of every tree at a point of d features to sum, which has one
// entry a tree.
func (f *Forest) Add(sum []float64, x []float64) {
	for t, tree := range f.trees {
		i := 0
		for tree[i].feature >= 0 {
			if x[tree[i].feature] <= tree[i].threshold {
				i = tree[i].left
			} else {
				i = tree[i].right
			}
		}
		sum[t] += tree[i].value
	}
}

// Predict returns mean and standard deviation over the trees at a point.
func (f *Forest) Predict(x []float64) (mean, sd float64) {
	values := make([]float64, len(f.trees))
	f.Add(values, x)
	return Moments(values)
}

// Moments returns the mean and the standard deviation (over n) of n >= 1 values.
func Moments(values []float64) (mean, sd float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(sd)
}

// transposed returns the columns one after the other: a split reads few of them, many
// rows of each.
func transposed(x []float64, d int) [][]float64 {
	n := len(x) / d
	columns := make([][]float64, d)
	for f := range columns {
		columns[f] = make([]float64, n)
		for i := range n {
			columns[f][i] = x[i*d+f]
		}
	}
	return columns
}

// forester grows one tree after the other. x is by column.
type forester struct {
	x        [][]float64
	y        []float64
	minSplit int
	minLeaf  float64
	most     int
	random   *rand.Rand
	rows     []int32
	tree     []node
}

// grow appends the subtree of the rows, which it reorders, and returns its index. No
// other than the given features differ among the rows.
func (g *forester) grow(rows, features []int32) int {
	at := len(g.tree)
	var mean, low, high float64
	for k, r := range rows {
		v := g.y[r]
		mean += v / float64(len(rows))
		if k == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	g.tree = append(g.tree, node{feature: -1, value: mean})
	if len(rows) < g.minSplit || !(high > low) {
		return at
	}
	feature, threshold, features := g.split(rows, features, mean)
	if feature < 0 {
		return at
	}
	n := 0
	for k, r := range rows {
		if g.x[feature][r] <= threshold {
			rows[n], rows[k] = rows[k], rows[n]
			n++
		}
	}
	left, right := g.grow(rows[:n], features), g.grow(rows[n:], features)
	g.tree[at].feature, g.tree[at].threshold, g.tree[at].left, g.tree[at].right = feature, threshold, left, right
	return at
}

// split returns the best of one uniform threshold a feature; -1 where all rows are
// equal or no threshold leaves enough rows on both sides. Of equals the first counts.
// differ are the features without those that were found not to differ among the rows:
// these are constant in all nodes below, too.
func (g *forester) split(rows, features []int32, mean float64) (feature int, threshold float64, differ []int32) {
	feature = -1
	differ = make([]int32, 0, len(features))
	if g.most > 0 && g.most < len(features) {
		features = slices.Clone(features)
		g.random.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
	}
	best := math.Inf(-1)
	for k, f32 := range features {
		if g.most > 0 && len(differ) >= g.most {
			differ = append(differ, features[k:]...) // some may not differ
			break
		}
		f, column := int(f32), g.x[f32]
		low := column[rows[0]]
		high := low
		for _, r := range rows[1:] {
			if v := column[r]; v < low {
				low = v
			} else if v > high {
				high = v
			}
		}
		if !(high > low) {
			continue
		}
		differ = append(differ, f32)
		t := low + g.random.Float64()*(high-low)
		if !(t < high) { // rounding
			t = low
		}
		var sum, n float64
		for _, r := range rows {
			if column[r] <= t {
				sum += g.y[r] - mean
				n++
			}
		}
		if n < g.minLeaf || float64(len(rows))-n < g.minLeaf {
			continue
		}
		// The sums of both sides around the mean cancel, so this is the fall of the sum
		// of squares.
		if gain := sum*sum/n + sum*sum/(float64(len(rows))-n); gain > best {
			best, feature, threshold = gain, f, t
		}
	}
	return feature, threshold, differ
}
