package search

import (
	"slices"

	"github.com/karasu-project/karasu/model"
)

// EvaluatePending is m.Evaluate for a search of which some runs are under way
// elsewhere: the suggestion takes them as done with their expected runtimes (the
// kriging believer of Ginsbourger, Le Riche and Carraro 2010), so that runs side
// by side do not repeat or crowd each other. All else in the evaluation rests on
// what was observed. Pending configurations that are not candidates have no effect.
func EvaluatePending(m Method, p *Problem, observed []Observation, pending []model.Configuration) (*Evaluation, error) {
	e, err := m.Evaluate(p, observed)
	if err != nil {
		return nil, err
	}
	believed, told := e, slices.Clone(observed)
	for _, c := range pending {
		i := slices.IndexFunc(p.Candidates, func(x Candidate) bool { return x.Configuration == c })
		if i < 0 || slices.ContainsFunc(told, func(o Observation) bool { return o.Configuration == c }) {
			continue
		}
		told = append(told, Observation{
			Configuration: c, Resources: p.Candidates[i].Resources,
			Outcome: model.OK, RuntimeSeconds: believed.Predictions[i].RuntimeSeconds,
		})
		if believed, err = m.Evaluate(p, told); err != nil {
			return nil, err
		}
	}
	if believed == e {
		return e, nil
	}
	out := *e
	out.Next = believed.Next
	if out.Next >= 0 {
		out.Predictions = slices.Clone(e.Predictions)
		out.Predictions[out.Next].Acquisition = believed.Predictions[out.Next].Acquisition
	}
	return &out, nil
}
