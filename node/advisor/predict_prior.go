package advisor

import (
	"context"
	"errors"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/optimizer/search"
)

// foreseeLimit is how long a search waits for a runtime model to be fitted, which goes
// on in the background: the next question finds it.
const foreseeLimit = 10 * time.Second

// errUndescribed means that nothing tells the job from others of its algorithm.
var errUndescribed = errors.New("neither the job's input size nor an argument of it is known")

// foresee tells a problem what is predicted of the runtimes of its candidates, so that
// there is something to recommend before the first run. Runs of the searched job itself
// are left out of the prediction: the search has them. Nothing that is wrong with a
// prediction stops a search.
func (a *Advisor) foresee(ctx context.Context, t *task, p *search.Problem, observed []search.Observation) error {
	if t.settings.GetMethod() != DefaultMethod {
		return nil // the published methods know no such prior
	}
	t.foreseen, t.unforeseen = "", ""
	wait, cancel := context.WithTimeout(ctx, foreseeLimit)
	defer cancel()
	summary, predicted, err := a.predictCandidates(wait, t, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNoModel):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		t.unforeseen = "the model is still being fitted; ask again"
		return nil
	case err != nil:
		t.unforeseen = err.Error()
		return nil
	}
	used, err := search.Foresee(p, predicted, observed)
	switch {
	case err != nil:
		t.unforeseen = err.Error()
	case !used:
		t.unforeseen = "what is known says that larger clusters take longer"
	default:
		t.foreseen = summary
	}
	return nil
}

// predictCandidates returns one distribution a candidate and what they rest on.
func (a *Advisor) predictCandidates(ctx context.Context, t *task, p *search.Problem) (string, []predict.Distribution, error) {
	w, without := t.workload, ""
	if w.Job != "" {
		without = w.Identity()
		// What the description of the search leaves open may be known of its runs.
		if full, err := a.completed(ctx, w); err == nil {
			w = full
		}
	}
	o, err := a.outlook(ctx, w, false, without)
	switch {
	case err != nil && !errors.Is(err, model.ErrInvalid):
		return "", nil, err
	case w.InputBytes == 0 && len(w.Arguments) == 0:
		// Jobs that differ in their data only would be taken for one and the same.
		return "", nil, errUndescribed
	case err != nil:
		return "", nil, err
	}
	predictors := map[string]predict.Predictor{}
	out := make([]predict.Distribution, 0, len(p.Candidates))
	for i := range p.Candidates {
		c := &p.Candidates[i]
		name := c.Configuration.MachineType
		if predictors[name] == nil {
			if err := ctx.Err(); err != nil {
				return "", nil, err
			}
			if predictors[name], err = o.predictor(name, c.Resources); err != nil {
				return "", nil, err
			}
		}
		d, err := predictors[name].Predict(c.Configuration.ScaleOut)
		if err != nil {
			return "", nil, err
		}
		out = append(out, d)
	}
	return o.basis(a.Organisation).GetSummary(), out, nil
}
