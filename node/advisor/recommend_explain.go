package advisor

import (
	"fmt"

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
	if len(e.Weights) == 0 || len(e.Weights) == 1 && e.Weights[0].Support < 0 {
		return nil
	}
	observed, err := a.observations(t)
	if err != nil {
		return err
	}
	alone := *p
	alone.Supports = nil
	solo, err := a.ask(t, &alone, observed)
	if err != nil {
		return fmt.Errorf("recommend alone: %w", err)
	}
	if order := rank(&alone, solo); len(order) > 0 {
		out.WithoutOthers = prediction(p, e, order[0])
	}
	return nil
}
