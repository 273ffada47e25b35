package search

import "math/rand/v2"

// Random tries the candidates in an order drawn from the seed. It is the floor that
// other methods are measured against.
type Random struct{}

// NewRandom returns the method "random".
func NewRandom() Random { return Random{} }

// Name returns "random".
func (Random) Name() string { return "random" }

// Evaluate implements [Method]. It learns nothing: the predictions are the prior's,
// and it stops only where the space is exhausted.
func (Random) Evaluate(p *Problem, observed []Observation) (*Evaluation, error) {
	if p.Confidence > 0 {
		return nil, unsupported("random", "takes no confidence; use the method evidence")
	}
	s, err := newState(p, observed)
	if err != nil {
		return nil, err
	}
	prior := s.prior()
	e := s.evaluate(prior)
	if len(p.Objectives) > 0 {
		e.Front = s.observedFront(s.answers(prior.mixture(), runNoiseSD))
	}
	e.Weights = []Weight{{Support: -1, Share: 1}}
	e.Next = -1
	for _, i := range rand.New(rand.NewPCG(p.Seed, randomStream)).Perm(len(s.open)) {
		if s.open[i] {
			e.Next = i
			break
		}
	}
	if e.Next < 0 {
		decideStop(e, s)
	}
	return e, nil
}
