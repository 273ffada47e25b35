package advisor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// ownPrior names the weight that rests on no other workload.
const ownPrior = "own prior"

// foresight names the weight of a prediction of the job's runtimes.
const foresight = "prediction"

// othersLevel names the weight that takes from other workloads how long the job takes,
// and nothing else.
const othersLevel = "level"

// ownHistory names the weight that rests on other workloads of the organisation.
const ownHistory = "own history"

// state evaluates a search and describes it whole.
func (a *Advisor) state(ctx context.Context, t *task) (*karasuv1.SearchState, error) {
	start := time.Now()
	p, e, err := a.evaluate(ctx, t)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	steps, hint := a.steps(t, p, e)
	state := &karasuv1.SearchState{
		Settings: t.settings, Steps: steps, Hint: hint, Front: front(t, steps), Candidates: uint32(len(p.Candidates)),
		Weights: a.weights(p, e.Weights), Next: a.suggestion(t, p, e),
	}
	for _, c := range t.claims {
		state.Claims = append(state.Claims, wire.FromConfiguration(c))
	}
	state.Next.Milliseconds = float64(took.Microseconds()) / 1e3
	if e.Incumbent >= 0 {
		state.Incumbent = prediction(p, e, e.Incumbent)
	} else if len(steps) > 0 && state.Hint == "" {
		state.Hint = noAnswer(p, steps)
	}
	return state, a.compare(t, p, e, state.Next)
}

// compare adds to a suggestion what the others would have been: the runner-up, and
// the suggestion without other workloads' knowledge.
func (a *Advisor) compare(t *task, p *search.Problem, e *search.Evaluation, s *karasuv1.Suggestion) error {
	if e.Next < 0 {
		return nil
	}
	if i := runnerUp(t, p, e); i >= 0 {
		s.RunnerUp = predicted(t, p, e, i)
	}
	solo, err := a.alone(t, p, e)
	if err != nil {
		return fmt.Errorf("search alone: %w", err)
	}
	if solo != nil && solo.Next >= 0 {
		s.WithoutOthers = predicted(t, p, e, solo.Next)
	}
	return nil
}

// alone evaluates a problem as a solo search would: without other workloads' shapes,
// without their level and without a prediction from them. It is nil where none of them
// carries any weight in e.
func (a *Advisor) alone(t *task, p *search.Problem, e *search.Evaluation) (*search.Evaluation, error) {
	if len(e.Weights) == 0 || len(e.Weights) == 1 && e.Weights[0].Support == search.OwnPrior {
		return nil, nil
	}
	observed, err := a.observations(t)
	if err != nil {
		return nil, err
	}
	alone := *p
	alone.Supports, alone.LevelMean, alone.LevelSD, alone.LevelDoubt = nil, 0, 0, 0
	return a.ask(t, &alone, observed)
}

// runnerUp is the untried candidate of second largest acquisition; -1 where none is.
func runnerUp(t *task, p *search.Problem, e *search.Evaluation) int {
	best := -1
	for i := range p.Candidates {
		c := p.Candidates[i].Configuration
		if i == e.Next || t.has(c) || slices.Contains(t.claims, c) {
			continue
		}
		if best < 0 || e.Predictions[i].Acquisition > e.Predictions[best].Acquisition {
			best = i
		}
	}
	return best
}

// evaluate assembles the problem of a task and asks its method.
func (a *Advisor) evaluate(ctx context.Context, t *task) (*search.Problem, *search.Evaluation, error) {
	observed, err := a.observations(t)
	if err != nil {
		return nil, nil, err
	}
	p, err := a.problem(ctx, t, observed)
	if err != nil {
		return nil, nil, err
	}
	e, err := a.ask(t, p, observed)
	return p, e, err
}

// ask lets the task's method evaluate a problem.
func (a *Advisor) ask(t *task, p *search.Problem, observed []search.Observation) (*search.Evaluation, error) {
	method, err := a.method(t.settings.GetMethod())
	if err != nil {
		return nil, err
	}
	e, err := search.EvaluatePending(method, p, observed, t.claims)
	if err != nil {
		return nil, explained(err)
	}
	return e, nil
}

// steps lists the runs with what they are worth, and a hint while none is valid.
// Where a confidence is asked for, e says which configurations are valid.
func (a *Advisor) steps(t *task, p *search.Problem, e *search.Evaluation) (steps []*karasuv1.SearchStep, hint string) {
	var best *float64
	// surest kept to the limits and lacks only confidence; unpriced costs nobody knows what.
	var nearest, surest, unpriced *model.Run
	var least, most float64
	anyValid := false
	for i := range t.runs {
		r := &t.runs[i]
		step := a.step(t, p, e, r)
		anyValid = anyValid || step.Valid
		if v := step.Objective; v != nil && step.Valid && !step.Outside && (best == nil || *v < *best) {
			best = v
		}
		step.Best = best
		steps = append(steps, step)
		if r.Outcome == model.OK && t.settings.GetBudgetUsd() > 0 && step.CostUsd == nil {
			unpriced = r
			continue
		}
		if d := excess(t.settings, step); r.Outcome == model.OK && (nearest == nil || d < least) {
			nearest, least = r, d
		}
		if q := likely(p, e, r); p.Confidence > 0 && !step.Valid && keeps(t.settings, step) && q != nil && (surest == nil || *q > most) {
			surest, most = r, *q
		}
	}
	switch {
	case len(steps) == 0 || anyValid:
	case nearest == nil && unpriced != nil:
		did := missed(t.settings)
		hint = fmt.Sprintf("%s; what %s costs is not known", noneOf(len(steps), did, did), unpriced.Configuration)
	case nearest == nil:
		hint = noneOf(len(steps), "was completed", "been completed")
	case surest != nil:
		did := missed(t.settings)
		hint = fmt.Sprintf("%s; %s with %s kept to the %s, but another run would only with %.0f%% probability",
			noneOf(len(steps), did, did), surest.Configuration, seconds(surest.RuntimeSeconds), limits(p), 100*most)
	default:
		did := missed(t.settings)
		hint = fmt.Sprintf("%s; the closest was %s with %s", noneOf(len(steps), did, did), nearest.Configuration, seconds(nearest.RuntimeSeconds))
	}
	return steps, hint
}

func (a *Advisor) weights(p *search.Problem, ws []search.Weight) []*karasuv1.Weight {
	out := make([]*karasuv1.Weight, 0, len(ws))
	for _, w := range ws {
		switch w.Support {
		case search.OwnPrior:
			out = append(out, &karasuv1.Weight{Origin: ownPrior, Share: w.Share})
			continue
		case search.OthersLevel:
			organisation, _ := lenders(p)
			out = append(out, &karasuv1.Weight{Origin: othersLevel, Organisation: organisation, Topic: p.Topic.String(), Share: w.Share})
			continue
		}
		s := p.Supports[w.Support]
		if s.Author == search.PredictionAuthor {
			out = append(out, &karasuv1.Weight{Origin: foresight, Topic: s.Summary.Topic.String(), Share: w.Share})
			continue
		}
		origin := "peer"
		if s.Author == "" {
			origin = ownHistory
		}
		out = append(out, &karasuv1.Weight{
			Origin: origin, Organisation: s.Organisation, Author: s.Author,
			Workload: s.Summary.Pseudonym, Topic: s.Summary.Topic.String(), Share: w.Share,
		})
	}
	return out
}

func (a *Advisor) suggestion(t *task, p *search.Problem, e *search.Evaluation) *karasuv1.Suggestion {
	out := &karasuv1.Suggestion{LevelKnown: levelKnown(t, p), Stop: e.Stop, Advice: e.Reason, Weights: a.weights(p, e.Weights)}
	out.Notes = a.notes(t, e, p)
	if e.Next < 0 {
		out.Exhausted, out.Stop = true, true
		all, has, is := fmt.Sprintf("all %d candidates", len(p.Candidates)), "have", "are"
		if len(p.Candidates) == 1 {
			all, has, is = "the only candidate", "has", "is"
		}
		out.Reason = fmt.Sprintf("%s %s been tried", all, has)
		if n := len(t.claims); n > 0 {
			out.Stop = false
			out.Reason += fmt.Sprintf(" or %s under way; report the %s under way first", is, count(n, "run"))
		}
		out.Advice = out.Reason
		return out
	}
	out.Prediction = predicted(t, p, e, e.Next)
	out.StopAfterSeconds = stopAfter(t, &p.Candidates[e.Next], out.Prediction)
	out.ExpectedImprovement = e.Predictions[e.Next].Acquisition
	out.Reason = reason(p, e, out)
	return out
}

// reason says in one sentence why a configuration is next.
func reason(p *search.Problem, e *search.Evaluation, s *karasuv1.Suggestion) string {
	next := s.GetPrediction()
	text := fmt.Sprintf("about %s is expected (80%%: %s to %s)", seconds(next.GetRuntimeSeconds()),
		seconds(next.GetRuntimeLowSeconds()), seconds(next.GetRuntimeHighSeconds()))
	if next.ProbabilityOfMeetingTarget != nil {
		text += fmt.Sprintf(", %s likely within the %s", chance(next.GetProbabilityOfMeetingTarget()), limits(p))
	}
	switch {
	case e.Reason == search.InitialDesign:
		text += "; a point of the initial design"
	case e.Incumbent < 0:
	case len(p.Objectives) > 0:
		text += "; expected to widen the Pareto front the most"
	default:
		text += fmt.Sprintf("; expected to lower the best %s so far by %.0f%%", p.Objective, 100*-math.Expm1(-s.GetExpectedImprovement()))
	}
	text += "; " + restsOn(s.GetWeights())
	if e.OthersLevel >= smallWeight {
		text += fmt.Sprintf("; %.0f%% of the weight takes how long the job takes from %s", 100*e.OthersLevel, levelOf(p))
	}
	return text
}

func prediction(p *search.Problem, e *search.Evaluation, i int) *karasuv1.Prediction {
	c, q := &p.Candidates[i], e.Predictions[i]
	out := &karasuv1.Prediction{
		Configuration:  wire.FromConfiguration(c.Configuration),
		RuntimeSeconds: q.RuntimeSeconds, RuntimeLowSeconds: q.LowSeconds, RuntimeHighSeconds: q.HighSeconds,
	}
	if offset, known := c.LogOffset(search.Cost); known {
		rate := math.Exp(offset)
		out.CostUsd, out.CostLowUsd, out.CostHighUsd = ptr(rate*q.RuntimeSeconds), ptr(rate*q.LowSeconds), ptr(rate*q.HighSeconds)
	}
	if offset, known := c.LogOffset(search.Energy); known {
		out.EnergyWh = ptr(math.Exp(offset) * q.RuntimeSeconds)
	}
	if offset, known := c.LogOffset(search.Carbon); known {
		out.CarbonG = ptr(math.Exp(offset) * q.RuntimeSeconds)
	}
	if p.Target > 0 || p.BudgetUSD > 0 {
		out.ProbabilityOfMeetingTarget = ptr(q.MeetsTarget)
	}
	return out
}

// predicted is the prediction without a probability while nothing says how long the job
// takes: it would be one of the target, which is all that the guess rests on.
func predicted(t *task, p *search.Problem, e *search.Evaluation, i int) *karasuv1.Prediction {
	out := prediction(p, e, i)
	if !levelKnown(t, p) {
		out.ProbabilityOfMeetingTarget = nil
	}
	return out
}

// levelKnown reports whether anything says how long the job takes: a run of its own, a
// prediction, or runs of the same framework and algorithm, with which the guess from the target
// was compared.
func levelKnown(t *task, p *search.Problem) bool {
	if _, sd := level(p); sd > 0 || t.foreseen != "" {
		return true
	}
	return slices.ContainsFunc(t.runs, func(r model.Run) bool { return r.RuntimeSeconds > 0 })
}

func ptr[T any](v T) *T { return &v }

// shellWord quotes a name so that a command it stands in can be pasted.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// seconds prints a runtime for people.
func seconds(s float64) string {
	d := time.Duration(min(s, 10*model.MaxRuntime.Seconds()) * float64(time.Second))
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= 100*time.Millisecond:
		return d.Round(10 * time.Millisecond).String()
	case d >= 100*time.Microsecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}
