package ensemble

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/karasu-project/karasu/model/gp"
)

// rankingSamples is the number of posterior samples over which ranking losses are
// compared: a weight of 1/2 has a Monte Carlo error of 0.5 / sqrt(256) = 0.03.
const rankingSamples = 256

// dilutionQuantile is of the target's own loss: a support whose median loss is above
// it is left out, so that many bad supports cannot take the weight of a good one
// (Feurer et al., section 4.3).
const dilutionQuantile = 0.95

// RankingWeights returns the weights of the ranking-weighted ensemble: one a
// support, and the target's own last. They are at least 0 and sum to 1. Without
// supports the target has all.
//
// Of every model, samples of the target's n observations are drawn: from the joint
// posterior of a support, from the leave-one-out posteriors of the target, so that it
// gets no credit for what it was told. A sample's loss is the number of pairs that it
// ranks otherwise than the observations do; a model's weight is the share of samples
// in which its loss is the smallest, ties shared equally (Feurer et al., section 4).
// The standard normal draws are common to all models: two equal models get equal
// weights, whatever their order. A target with one observation has no pair to be
// ranked by and a flat posterior: then the supports share equally.
//
// A support that is nil, has other features than the target's, or no usable posterior
// gets weight 0. The same seed gives the same weights. It wraps [ErrInvalid].
func RankingWeights(target *gp.GP, supports []*gp.GP, seed uint64) ([]float64, error) {
	if target == nil {
		return nil, fmt.Errorf("%w: no target model", ErrInvalid)
	}
	weights := make([]float64, len(supports)+1)
	if len(supports) == 0 {
		weights[0] = 1
		return weights, nil
	}
	draws := standardNormals(rankingSamples*target.Len(), seed)
	x, y := target.Inputs(), target.Values()
	losses := make([][]int, len(weights))
	own := ownLosses(target, y, draws)
	limit := lossQuantile(own, dilutionQuantile)
	ranked := 0
	for i, s := range supports {
		if s == nil || s.Dimensions() != target.Dimensions() {
			continue
		}
		if l, err := supportLosses(s, x, y, draws); err == nil && lossQuantile(l, 0.5) <= limit {
			losses[i] = l
			ranked++
		}
	}
	if ranked == 0 || target.Len() > 1 {
		losses[len(supports)] = own
	}
	shareBest(weights, losses)
	return weights, nil
}

// rankingStream tells these draws from others of the same seed.
const rankingStream = 0x52475045

func standardNormals(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, rankingStream))
	z := make([]float64, n)
	for i := range z {
		z[i] = r.NormFloat64()
	}
	return z
}

// supportLosses returns a loss a sample of the joint posterior at the target's points.
func supportLosses(s *gp.GP, x, y, draws []float64) ([]int, error) {
	mean, cov, err := s.Joint(x)
	if err != nil {
		return nil, err
	}
	root, err := gp.Root(cov)
	if err != nil {
		return nil, err
	}
	l, n := root.RawTriangular(), len(y)
	f := make([]float64, n)
	losses := make([]int, rankingSamples)
	for s := range losses {
		z := draws[s*n : s*n+n]
		for i := range n {
			f[i] = mean[i] + floats.Dot(l.Data[i*l.Stride:i*l.Stride+i+1], z[:i+1])
		}
		losses[s] = misranked(f, f, y)
	}
	return losses, nil
}

// ownLosses returns a loss a sample of the target's leave-one-out posteriors. A
// sample is ranked among the other observations, and not against its own.
func ownLosses(target *gp.GP, y, draws []float64) []int {
	mean, variance := target.LeaveOneOut()
	n := len(y)
	f := make([]float64, n)
	losses := make([]int, rankingSamples)
	for s := range losses {
		for i := range n {
			f[i] = mean[i] + draws[s*n+i]*math.Sqrt(variance[i])
		}
		losses[s] = misranked(f, y, y)
	}
	return losses
}

// misranked counts the ordered pairs j != k for which (f_j < g_k) is not as
// (y_j < y_k).
func misranked(f, g, y []float64) int {
	loss := 0
	for j := range y {
		for k := range y {
			if j != k && (f[j] < g[k]) != (y[j] < y[k]) {
				loss++
			}
		}
	}
	return loss
}

// shareBest writes the weights: for every sample, an equal share to each of the
// models with the smallest loss. A model without losses takes no part; one at least
// has some.
func shareBest(weights []float64, losses [][]int) {
	var best []int
	for s := range rankingSamples {
		best = best[:0]
		for i, l := range losses {
			switch {
			case l == nil:
			case len(best) == 0 || l[s] < losses[best[0]][s]:
				best = append(best[:0], i)
			case l[s] == losses[best[0]][s]:
				best = append(best, i)
			}
		}
		for _, i := range best {
			weights[i] += 1 / float64(len(best)*rankingSamples)
		}
	}
	floats.Scale(1/floats.Sum(weights), weights)
}

// lossQuantile returns the value below which a share q of the sample lies, the
// upper of two neighbours.
func lossQuantile(losses []int, q float64) int {
	s := slices.Clone(losses)
	slices.Sort(s)
	return s[min(int(q*float64(len(s))), len(s)-1)]
}
