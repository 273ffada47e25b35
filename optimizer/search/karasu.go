package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

// supportedDesign is the number of runs that a search with supports starts with:
// their models take the place of the others (Karasu, section IV).
const supportedDesign = 1

// Karasu is the published collaborative search: [CherryPick] with a ranking-weighted
// ensemble of the target's process and those of its supports as the model. Without
// usable supports it is CherryPick.
//
// Source: Scheinert et al.: Karasu, arXiv 2308.11792.
type Karasu struct{ supports *supportCache }

// NewKarasu returns the method "karasu". The value keeps the models of the supports
// that it saw last, which makes it faster and changes no answer.
func NewKarasu() *Karasu { return &Karasu{supports: newSupportCache()} }

// Name returns "karasu".
func (*Karasu) Name() string { return "karasu" }

// Evaluate implements [Method].
func (m *Karasu) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	if err := needsEvidence(p, "karasu"); err != nil {
		return nil, err
	}
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	x := s.features()
	used, index := m.supports.usable(p)
	g, weights := s.prior(), uniform(len(used)+1)
	if len(s.history.points) > 0 {
		own, err := s.fit()
		if err != nil {
			return nil, err
		}
		ranked := make([]ensemble.RankedSupport, len(used))
		for i, c := range used {
			ranked[i] = c.RankedSupport
		}
		r, err := ensemble.NewRGPE(own, ranked, p.Seed)
		if err != nil {
			return nil, fmt.Errorf("ranking-weighted ensemble: %w", err)
		}
		weights = r.Weights()
		at := hashPoints(x)
		g.mean, g.variance, err = r.PosteriorWith(x, func(i int) ([]float64, []float64, error) { return used[i].posterior(x, at) })
		if err != nil {
			return nil, fmt.Errorf("ranking-weighted ensemble: %w", err)
		}
	}
	e := s.evaluate(g)
	e.Weights = rankedShares(weights, index)
	design := initialDesign
	if len(used) > 0 {
		design = supportedDesign
	}
	s.finish(e, design)
	return e, nil
}

// uniform returns n equal weights: before the first run nothing tells the models
// apart.
func uniform(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// rankedShares lists the positive weights, the own one always, by falling share.
// The own weight is the last; index maps the others to the problem's supports.
func rankedShares(weights []float64, index []int) []Weight {
	out := []Weight{{Support: -1, Share: weights[len(index)]}}
	for i, w := range weights[:len(index)] {
		if w > 0 {
			out = append(out, Weight{Support: index[i], Share: w})
		}
	}
	slices.SortStableFunc(out, func(a, b Weight) int { return cmp.Compare(b.Share, a.Share) })
	return out
}
