package search

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	// rankingTrees are compared; a weight of 1/2 has a Monte Carlo error of
	// 0.5 / sqrt(50) = 0.07.
	rankingTrees = 50
	// dilutionQuantile is of the target's own loss: a support whose median loss is above
	// it is left out (Feurer et al. 2018, section 4.3).
	dilutionQuantile = 0.95
	// rankingStream of a problem's seed meets trees of different models.
	rankingStream = 3
)

// ownMisranked returns, a tree, the number of ordered pairs (j, k) of the n >= 2 sources
// that it ranks wrong, where k is predicted by trees that do not know it.
func ownMisranked(sources []source, seed uint64) ([]int, error) {
	loss := make([]int, rankingTrees)
	n := float64(len(sources) - 1)
	var x []float64
	for k := range sources {
		others := slices.Delete(slices.Clone(sources), k, k+1)
		m, err := fitPairs(others, measured(others), rankingTrees, seed)
		if err != nil {
			return nil, err
		}
		predicted := make([]float64, rankingTrees)
		for i := range others {
			if m.forest != nil {
				x = appendPair(x[:0], &others[i], &sources[k].place, m.metrics)
				m.forest.Add(predicted, x)
			}
		}
		level := 0.
		for i := range others {
			level += others[i].logRuntime / n
		}
		for t, sum := range predicted {
			for j := range others {
				if (level+sum/n > others[j].logRuntime) != (sources[k].logRuntime > others[j].logRuntime) {
					loss[t]++
				}
			}
		}
	}
	return loss, nil
}

// misranked returns, a tree, the number of ordered pairs of the target's sources that
// the support ranks wrong.
func (u *pairSupport) misranked(sources []source) []int {
	loss := make([]int, rankingTrees)
	to, back := make([]float64, rankingTrees), make([]float64, rankingTrees)
	var x []float64
	for j := range sources {
		for k := range j {
			clear(to)
			clear(back)
			x = appendPair(x[:0], &sources[j], &sources[k].place, u.forest.metrics)
			u.forest.forest.Add(to, x)
			x = appendPair(x[:0], &sources[k], &sources[j].place, u.forest.metrics)
			u.forest.forest.Add(back, x)
			for t := range loss {
				if (to[t] > back[t]) != (sources[k].logRuntime > sources[j].logRuntime) {
					loss[t] += 2
				}
			}
		}
	}
	return loss
}

// quantile is the value below which a share q of the losses lies, the upper of two.
func quantile(losses []int, q float64) int {
	s := slices.Sorted(slices.Values(losses))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// leastLoss returns the weights: for every tree, an equal share to each of the models of
// smallest loss. Trees of different models have nothing to do with each other, so they
// are met in a random order. A model without losses takes no part; one at least has some.
func leastLoss(losses [][]int, random *rand.Rand) []float64 {
	for i, l := range losses {
		if l != nil {
			losses[i] = slices.Clone(l)
			random.Shuffle(len(l), func(a, b int) { losses[i][a], losses[i][b] = losses[i][b], losses[i][a] })
		}
	}
	weights := make([]float64, len(losses))
	for t := range rankingTrees {
		var best []int
		for i, l := range losses {
			switch {
			case l == nil:
			case len(best) == 0 || l[t] < losses[best[0]][t]:
				best = append(best[:0], i)
			case l[t] == losses[best[0]][t]:
				best = append(best, i)
			}
		}
		for _, i := range best {
			weights[i] += 1 / float64(len(best)*rankingTrees)
		}
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return weights
}
