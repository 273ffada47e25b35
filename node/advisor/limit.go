package advisor

import (
	"math"

	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// limitSeconds is how long a run on a candidate may take to keep to target and budget;
// +Inf without both, and where only a budget is given and the price is not known.
func limitSeconds(s *karasuv1.SearchSettings, c *search.Candidate) float64 {
	limit := math.Inf(1)
	if t := s.GetTargetSeconds(); t > 0 {
		limit = t
	}
	if b := s.GetBudgetUsd(); b > 0 {
		if offset, known := c.LogOffset(search.Cost); known {
			limit = min(limit, b*math.Exp(-offset))
		}
	}
	return limit
}

// stopAfter is the limit in seconds of the suggested candidate where it is more likely
// exceeded than kept; 0 where a run should not be stopped, and while nothing says how
// long the job takes.
func stopAfter(t *task, c *search.Candidate, next *karasuv1.Prediction) float64 {
	limit := limitSeconds(t.settings, c)
	if math.IsInf(limit, 1) || next.ProbabilityOfMeetingTarget == nil || next.GetProbabilityOfMeetingTarget() >= 0.5 {
		return 0
	}
	return limit
}
