package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

// Karasu is the published collaborative search: [CherryPick] with a ranking-weighted
// ensemble of the target's process and those of its supports as the model, from the
// first run on. Without usable supports it is CherryPick.
//
// Source: Scheinert et al.: Karasu, arXiv 2308.11792. There, the first run is drawn at
// random; here it follows the consensus of the supports.
type Karasu struct{ supports *supportCache }

// NewKarasu returns the method "karasu". The value keeps the models of the supports
// that it saw last, which makes it faster and changes no answer.
func NewKarasu() *Karasu { return &Karasu{supports: newSupportCache()} }

// Name returns "karasu".
func (*Karasu) Name() string { return "karasu" }

// Evaluate implements [Method].
func (m *Karasu) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	x := s.features()
	used, index := m.supports.usable(p)
	ranked := make([]ensemble.RankedSupport, len(used))
	for i, c := range used {
		ranked[i] = c.RankedSupport
	}
	key := hashPoints(x)
	at := func(i int) ([]float64, []float64, error) { return used[i].posterior(x, key) }
	g, weights := s.prior(), equalShares(len(used))
	switch {
	case len(s.history.points) > 0:
		own, err := s.fit()
		if err != nil {
			return nil, err
		}
		r, err := ensemble.NewRGPE(own, ranked, p.Seed)
		if err != nil {
			return nil, fmt.Errorf("ranking-weighted ensemble: %w", err)
		}
		weights = r.Weights()
		if g.mean, g.variance, err = r.PosteriorWith(x, at); err != nil {
			return nil, fmt.Errorf("ranking-weighted ensemble: %w", err)
		}
	case len(used) > 0:
		mean, variance, err := ensemble.Consensus(ranked, at)
		if err != nil {
			return nil, fmt.Errorf("consensus of supports: %w", err)
		}
		for i := range mean {
			g.mean[i] += mean[i]
			g.variance[i] += variance[i]
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

// equalShares returns the weights before the first run, when nothing tells n supports
// apart; the target's own, the last, has a share only without them.
func equalShares(n int) []float64 {
	w := make([]float64, n+1)
	for i := range n {
		w[i] = 1 / float64(n)
	}
	if n == 0 {
		w[0] = 1
	}
	return w
}

// rankedShares lists the positive weights, the own one always, by falling share.
// The own weight is the last; index maps the others to the problem's supports.
func rankedShares(weights []float64, index []int) []Weight {
	out := []Weight{{Support: -1, Share: min(weights[len(index)], 1)}}
	for i, w := range weights[:len(index)] {
		if w > 0 {
			out = append(out, Weight{Support: index[i], Share: min(w, 1)})
		}
	}
	slices.SortStableFunc(out, func(a, b Weight) int { return cmp.Compare(b.Share, a.Share) })
	return out
}
