package stage

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/karasu-project/karasu/model/trees"
)

// Settings of the forests, chosen on the public TPC graphs by leaving queries out.
const (
	// blockTrees grow on the same rows; each block leaves out one of folds parts of the
	// groups, which tells how the model does on jobs that it did not learn from.
	blockTrees = 4
	folds      = 5
	// minSplit rows and more are split.
	minSplit = 8
	// splitFeatures are looked at for a split.
	splitFeatures = 20
	// sharedLeaf rows at least are behind each number that is shared. With many rows
	// leaves grow, so that a tree has some sharedLeaves.
	sharedLeaf   = 5
	sharedLeaves = 150
	sharedTrees  = 4 * folds
)

// forest of blocks, with what its errors were outside of what each block learned from.
type forest struct {
	blocks []*trees.Forest
	calibration
}

// calibration of the spread among trees: the standard deviation of an error is
// Factor x sqrt(variance among trees + Floor).
type calibration struct{ factor, floor float64 }

// rows is a table of n rows x d features with targets and the group of each row.
type rows struct {
	d      int
	x, y   []float64
	groups []int
}

// fitForest grows a forest and predicts each row by the blocks that left its group out.
func fitForest(r rows, count int, o trees.ForestOptions) (*forest, []float64, error) {
	n := len(r.y)
	fold := assignFolds(r.groups, o.Seed)
	f := &forest{}
	sum, square, votes := make([]float64, n), make([]float64, n), make([]float64, n)
	values := make([]float64, blockTrees)
	blocks := max(folds, (count+blockTrees-1)/blockTrees)
	for b := range blocks {
		var x, y []float64
		for i, v := range r.y {
			if fold[i] != b%folds {
				x, y = append(x, r.x[i*r.d:(i+1)*r.d]...), append(y, v)
			}
		}
		if len(y) == 0 {
			x, y = r.x, r.y // one row alone
		}
		o.Trees = blockTrees
		o.Seed++
		block, err := trees.FitForest(x, r.d, y, o)
		if err != nil {
			return nil, nil, err
		}
		f.blocks = append(f.blocks, block)
		for i := range r.y {
			if fold[i] != b%folds {
				continue
			}
			clear(values)
			block.Add(values, r.x[i*r.d:(i+1)*r.d])
			for _, v := range values {
				sum[i] += v
				square[i] += v * v
				votes[i]++
			}
		}
	}
	for i := range sum {
		sum[i] /= votes[i]
		square[i] = max(0, square[i]/votes[i]-sum[i]*sum[i])
	}
	f.calibration = calibrate(r.y, sum, square)
	return f, sum, nil
}

// assignFolds spreads the groups evenly over the folds in a random order. With fewer
// groups than folds the rows stand for themselves.
func assignFolds(groups []int, seed uint64) []int {
	distinct := slices.Compact(slices.Sorted(slices.Values(groups)))
	place := make(map[int]int, len(distinct))
	random := rand.New(rand.NewPCG(seed, 1))
	random.Shuffle(len(distinct), func(i, j int) { distinct[i], distinct[j] = distinct[j], distinct[i] })
	for i, g := range distinct {
		place[g] = i % folds
	}
	fold := make([]int, len(groups))
	for i, g := range groups {
		if fold[i] = place[g]; len(distinct) < folds {
			fold[i] = i % folds
		}
	}
	return fold
}

// minScale is the least standard deviation of a predicted logarithm: stages do not
// repeat better than to some percent.
const minScale = .03

// calibrate fits the factor to errors made outside of the training rows.
func calibrate(y, predicted, variance []float64) calibration {
	var mean float64
	for _, v := range variance {
		mean += v / float64(len(y))
	}
	c := calibration{floor: mean + minScale*minScale}
	var sum float64
	for i, v := range y {
		e := v - predicted[i]
		sum += e * e / (variance[i] + c.floor) / float64(len(y))
	}
	c.factor = math.Sqrt(sum)
	return c
}

func (c calibration) scale(variance float64) float64 {
	return max(minScale, c.factor*math.Sqrt(variance+c.floor))
}

// predict returns the mean over all trees and the calibrated deviation.
func (f *forest) predict(x []float64) (mean, scale float64) {
	var values []float64
	for _, b := range f.blocks {
		block := make([]float64, b.Trees())
		b.Add(block, x)
		values = append(values, block...)
	}
	mean, sd := trees.Moments(values)
	return mean, f.scale(sd * sd)
}
