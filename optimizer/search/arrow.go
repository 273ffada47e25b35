package search

// Arrow is the solo search with low-level metrics: [CherryPick] whose surrogate are
// extremely randomised trees over pairs of a known configuration, with the utilisation
// that its run showed, and another one, as in [pairForest]. Where runs have no metrics
// the pair alone says what it can. It ignores supports.
//
// Source: Hsu, Nair, Freeh, Menzies: Arrow: Low-Level Augmented Bayesian Optimization
// for Finding the Best Cloud VM, ICDCS 2018. There the trees predict the runtime; here
// how it differs from the known one, so that the answer of each is in place at once.
type Arrow struct{}

// NewArrow returns the method "arrow".
func NewArrow() Arrow { return Arrow{} }

// Name returns "arrow".
func (Arrow) Name() string { return "arrow" }

// Evaluate implements [Method].
func (Arrow) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	g := s.prior()
	if sources := s.sources(observed); len(sources) > 0 {
		own, err := fitPairs(sources, measured(sources), pairTrees, p.Seed)
		if err != nil {
			return nil, err
		}
		g = own.gaussian(sources, s.destinations())
	}
	e := s.evaluate(g)
	e.Weights = []Weight{{Support: -1, Share: 1}}
	s.finish(e, g, initialDesign)
	return e, nil
}
