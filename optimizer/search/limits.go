package search

import (
	"math"

	"github.com/karasu-project/karasu/model/ensemble"
)

// logLimits returns, a candidate, ln of the longest runtime in seconds within the
// target and the budget; +Inf without both. Cost is linear in the runtime, so a
// budget is a bound on the runtime of each candidate. Without a known price a run
// is never known to be within a budget: known is cleared there.
// The error is [ErrUnknownPrice] where a budget leaves no candidate.
func logLimits(p *Problem, known []bool) ([]float64, error) {
	limit := make([]float64, len(p.Candidates))
	found := false
	for i := range p.Candidates {
		limit[i] = p.logTarget()
		if p.BudgetUSD > 0 {
			offset, ok := p.Candidates[i].LogOffset(Cost)
			known[i] = known[i] && ok
			limit[i] = min(limit[i], math.Log(p.BudgetUSD)-offset)
		}
		found = found || known[i]
	}
	if !found {
		return nil, ErrUnknownPrice
	}
	return limit, nil
}

// unsupportedError says in words for users what a method cannot do; it is
// [ErrUnsupported].
type unsupportedError struct{ method, what string }

func (e *unsupportedError) Error() string { return "the method " + e.method + " " + e.what }
func (e *unsupportedError) Unwrap() error { return ErrUnsupported }

func unsupported(method, what string) error { return &unsupportedError{method, what} }

// confidenceMargin is how far below its limit, in nats, a posterior mean must lie
// after a run for the candidate to be an answer at the problem's confidence: the
// quantile times the deviation of one more run. That deviation is at most sqrt(2)
// times that of one run, once there is one: that of the run to come and that of
// what the last one told. 0 without a confidence.
func (p *Problem) confidenceMargin(noiseSD float64) float64 {
	if p.Confidence == 0 {
		return 0
	}
	return math.Sqrt2 * math.Erfinv(2*p.Confidence-1) * math.Sqrt2 * noiseSD
}

// aims are the limits that a run must keep to become an answer.
func (s *state) aims(noiseSD float64) []float64 {
	margin := s.problem.confidenceMargin(noiseSD)
	if margin == 0 {
		return s.limit
	}
	aims := make([]float64, len(s.limit))
	for i, l := range s.limit {
		aims[i] = l - margin
	}
	return aims
}

// doubtFailures lowers the probability of keeping to the limits where larger
// configurations failed: a run that ends without a result keeps to nothing.
func (s *state) doubtFailures(predictions []Prediction) {
	for i := range predictions {
		if !math.IsInf(s.limit[i], 1) {
			predictions[i].MeetsTarget *= s.history.success[i]
		}
	}
}

// answers lists the observed candidates that are valid: by their runs, or with a
// confidence by the probability that one more run keeps to the limit.
func (s *state) answers(m *ensemble.Mixture, noiseSD float64) []int {
	var out []int
	for i := range s.history.points {
		pt := &s.history.points[i]
		c := pt.candidate
		if c < 0 || !s.known[c] || pt.timedOut {
			continue
		}
		valid := pt.meets(s.limit[c])
		if conf := s.problem.Confidence; conf > 0 {
			valid = marginal(m, c, noiseSD*noiseSD).cdf(s.limit[c]) >= conf
		}
		if valid {
			out = append(out, c)
		}
	}
	return out
}
