package search

import (
	"fmt"
	"math/rand/v2"

	"github.com/karasu-project/karasu/model/ensemble"
)

// KarasuTrees is [Karasu] with the trees of [Arrow] as surrogates, of the target and of
// each support. A support's trees, learnt from the pairs of its own configurations and
// what they used, say for each of the target's runs how another configuration would
// differ from it. Without usable supports it is Arrow.
//
// Source: Scheinert et al.: Karasu, arXiv 2308.11792, section IV (Karasu with augmented
// Bayesian optimisation).
type KarasuTrees struct{ supports *pairCache }

// NewKarasuTrees returns the method "karasu-trees". The value keeps the trees of the
// supports that it saw last, which makes it faster and changes no answer.
func NewKarasuTrees() *KarasuTrees { return &KarasuTrees{supports: newPairCache()} }

// Name returns "karasu-trees".
func (*KarasuTrees) Name() string { return "karasu-trees" }

// Evaluate implements [Method].
func (m *KarasuTrees) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	sources, to := s.sources(observed), s.destinations()
	used, index := m.supports.usable(p, len(sources) == 0 || measured(sources))
	g, weights := s.prior(), equalShares(len(used))
	switch {
	case len(sources) > 0:
		if g, weights, err = rankedPairs(sources, to, used, p.Seed); err != nil {
			return nil, err
		}
	case len(used) > 0:
		if err := g.shaped(used, to); err != nil {
			return nil, err
		}
	}
	e := s.evaluate(g)
	e.Weights = rankedShares(weights, index)
	design := initialDesign
	if len(used) > 0 {
		design = 0 // the supports' runs take its place
	}
	s.finish(e, g, design)
	return e, nil
}

// shaped adds to a prior the consensus of supports' shapes.
func (g gaussian) shaped(used []*pairSupport, to []place) error {
	ranked := make([]ensemble.RankedSupport, len(used))
	for i := range ranked {
		ranked[i].Scale = 1 // shapes are in nats
	}
	mean, variance, err := ensemble.Consensus(ranked, func(i int) ([]float64, []float64, error) {
		shape := used[i].forest.gaussian(used[i].sources, to)
		return shape.mean, shape.variance, nil
	})
	if err != nil {
		return fmt.Errorf("consensus of supports: %w", err)
	}
	for i := range mean {
		g.mean[i] += mean[i]
		g.variance[i] += variance[i]
	}
	return nil
}

// rankedPairs is the ensemble of the target's trees and the supports', by n >= 1
// sources of the target: a weighted sum of independent predictions (Feurer et al. 2018,
// section 3), and the weights, the target's own last.
func rankedPairs(sources []source, to []place, used []*pairSupport, seed uint64) (gaussian, []float64, error) {
	own, err := fitPairs(sources, measured(sources), pairTrees, seed)
	if err != nil {
		return gaussian{}, nil, err
	}
	if len(used) == 0 {
		return own.gaussian(sources, to), []float64{1}, nil
	}
	weights, err := pairWeights(sources, used, seed)
	if err != nil {
		return gaussian{}, nil, err
	}
	g := gaussian{make([]float64, len(to)), make([]float64, len(to))}
	for i, w := range weights {
		if w == 0 {
			continue
		}
		m := own
		if i < len(used) {
			m = used[i].forest
		}
		part := m.gaussian(sources, to)
		for c := range to {
			g.mean[c] += w * part.mean[c]
			g.variance[c] += w * w * part.variance[c]
		}
	}
	return g, weights, nil
}

// pairWeights are ranking weights (see [ensemble.RankingWeights]) with trees in place of
// posterior samples: the share of them in which a model misranks the fewest pairs of the
// target's n sources, one entry a support and the target's own last. A support ranks two
// sources by the difference that it sees from one to the other; the target's own trees
// know only the others. With one source there is no pair: supports share equally.
func pairWeights(sources []source, used []*pairSupport, seed uint64) ([]float64, error) {
	if len(sources) < 2 {
		return equalShares(len(used)), nil
	}
	own, err := ownMisranked(sources, seed)
	if err != nil {
		return nil, err
	}
	losses := make([][]int, len(used)+1)
	losses[len(used)] = own
	limit := quantile(own, dilutionQuantile)
	for i, u := range used {
		if l := u.misranked(sources); quantile(l, .5) <= limit {
			losses[i] = l
		}
	}
	return leastLoss(losses, rand.New(rand.NewPCG(seed, rankingStream))), nil
}
