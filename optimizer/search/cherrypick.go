package search

// initialDesign is the number of runs that a search alone starts with before it
// trusts its model (CherryPick, NSDI 2017, section 3.4).
const initialDesign = 3

// CherryPick is the solo baseline: a Gaussian process on the target's own runs and
// constrained expected improvement, after three runs that fill the space. It
// ignores supports.
//
// Source: Alipourfard et al.: CherryPick, NSDI 2017. Runtimes are modelled rather than
// costs, of which they are a known multiple.
type CherryPick struct{}

// NewCherryPick returns the method "cherrypick".
func NewCherryPick() CherryPick { return CherryPick{} }

// Name returns "cherrypick".
func (CherryPick) Name() string { return "cherrypick" }

// Evaluate implements [Method].
func (CherryPick) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	g := s.prior()
	if len(s.history.points) > 0 {
		own, err := s.fit()
		if err != nil {
			return nil, err
		}
		if g.mean, g.variance, err = own.Posterior(s.features()); err != nil {
			return nil, err
		}
	}
	e := s.evaluate(g)
	e.Weights = []Weight{{Support: -1, Share: 1}}
	s.finish(e, g, initialDesign)
	return e, nil
}
