package advisor

import (
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// explainRecommendation adds what the answer would be without other workloads'
// knowledge, and what one more run is expected to save.
func (a *Advisor) explainRecommendation(t *task, p *search.Problem, e *search.Evaluation, out *karasuv1.RecommendResponse) error {
	out.Next = a.suggestion(t, p, e)
	if steps, _ := a.steps(t, p, e); len(steps) > 0 {
		out.Best = steps[len(steps)-1].Best
	}
	solo, err := a.alone(t, p, e)
	if err != nil {
		return fmt.Errorf("recommend alone: %w", err)
	}
	if solo == nil {
		return nil
	}
	if order := rank(p, solo); len(order) > 0 {
		out.WithoutOthers = predicted(t, p, e, order[0])
	}
	return nil
}

// noAnswer says why a search with valid runs has no answer yet.
func noAnswer(p *search.Problem, steps []*karasuv1.SearchStep) string {
	for _, s := range steps {
		c := s.GetRun().GetConfiguration()
		if s.GetValid() && slices.ContainsFunc(p.Candidates, func(x search.Candidate) bool {
			return x.Configuration.MachineType == c.GetMachineType() && x.Configuration.ScaleOut == int(c.GetScaleOut())
		}) {
			return "there are valid runs, but the runs of one configuration disagree so much that none counts as an answer; repeat the best one"
		}
	}
	return "there are valid runs, but on configurations that are no candidates of this search: they teach it, and none is an answer"
}
