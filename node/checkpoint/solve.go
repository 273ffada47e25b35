package checkpoint

import (
	"fmt"

	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
)

const (
	// exactStages is up to how many stages the exact search is asked. Above it takes
	// seconds in bad cases, and the heuristic is certified, too.
	exactStages = 400
	// exactWork bounds the exact search to some hundred milliseconds: linear programs
	// times stages.
	exactWork = 150_000
	// furtherCuts are looked at beyond those that were asked for, to say what one more
	// would add, in graphs of up to exactStages.
	furtherCuts = 3
)

// Methods of solutions.
const (
	methodExact     = "exact"
	methodHeuristic = "heuristic"
)

// solution are the cuts for a goal.
type solution struct {
	cuts []optimizer.Cut
	// marginal[i] is what at most i+1 cuts reach of the objective.
	marginal []float64
	method   string
	exact    bool
	// gap is the certified distance to the optimum as a share; nil is not known.
	gap *float64
}

// solve finds the cuts for a goal in one graph, and what further ones would add.
func (g *goal) solve(graph *optimizer.Graph) (*solution, error) {
	k := int(g.message.GetCuts())
	wide := k
	if graph.Len() <= exactStages {
		wide = min(max(k, furtherCuts), optimizer.MaxCuts)
	}
	return g.cuts(graph, g.problem(graph), k, wide)
}

// cuts finds at most k cuts, and what up to wide ones reach.
func (g *goal) cuts(graph *optimizer.Graph, p optimizer.Problem, k, wide int) (s *solution, err error) {
	switch g.message.GetObjective() {
	case Restart:
		s, err = g.solveRestart(graph, p, k, wide)
	case Mix:
		s, err = g.solveMix(graph, p)
	default:
		s, err = g.solveStorage(graph, p, k, wide)
	}
	if err != nil {
		return nil, fmt.Errorf("find a cut: %w", err)
	}
	if s.exact {
		s.method, s.gap = methodExact, new(float64(0))
	}
	return s, nil
}

func (g *goal) solveStorage(graph *optimizer.Graph, p optimizer.Problem, k, wide int) (*solution, error) {
	best, err := single(graph, p)
	if err != nil {
		return nil, err
	}
	s := &solution{method: methodHeuristic, marginal: []float64{best.ByteSeconds}}
	if len(best.Before) > 0 {
		s.cuts = []optimizer.Cut{best.Cut}
	}
	s.exact = best.Exact
	s.gap = new(best.Gap())
	if wide == 1 {
		return s, nil
	}
	release, err := optimizer.PlanRelease(graph, p, wide)
	if err != nil {
		return nil, err
	}
	s.marginal = rising(release.Marginal, best.ByteSeconds)
	if k == 1 {
		return s, nil
	}
	if k < wide {
		if release, err = optimizer.PlanRelease(graph, p, k); err != nil {
			return nil, err
		}
	}
	if release.ByteSeconds >= best.ByteSeconds {
		s.cuts, s.exact, s.gap = release.Cuts, release.Exact, nil
	}
	return s, nil
}

// single is the best cut that can be found in some hundred milliseconds.
func single(graph *optimizer.Graph, p optimizer.Problem) (optimizer.Result, error) {
	if graph.Len() > exactStages {
		return optimizer.Heuristic(graph, p)
	}
	return optimizer.Solve(graph, p, optimizer.Options{Relaxations: min(exactWork/graph.Len()+1, optimizer.DefaultRelaxations)})
}

// rising makes each value at least those before it, and the first at least a value that
// was found in another way.
func rising(values []float64, least float64) []float64 {
	for i := range values {
		values[i] = max(values[i], least)
		least = values[i]
	}
	return values
}

func (g *goal) solveRestart(graph *optimizer.Graph, p optimizer.Problem, k, wide int) (*solution, error) {
	law, happens := g.failure.law(graph.Seconds())
	plans, err := optimizer.RestartPlans(graph, p, law, wide)
	if err != nil {
		return nil, err
	}
	plan := plans[k-1]
	s := &solution{cuts: plan.Cuts, method: methodHeuristic, exact: plan.Exact, marginal: plans[wide-1].Marginal}
	for i := range s.marginal {
		s.marginal[i] /= happens
	}
	return s, nil
}

func (g *goal) solveMix(graph *optimizer.Graph, p optimizer.Problem) (*solution, error) {
	law, _ := g.failure.law(graph.Seconds())
	mixed, err := optimizer.Mix(graph, p, law, g.message.GetWeight())
	if err != nil {
		return nil, err
	}
	s := &solution{method: methodHeuristic, exact: mixed.Exact, marginal: []float64{mixed.Score}}
	if mixed.Bound > 0 {
		s.gap = new(max(0, 1-mixed.Score/mixed.Bound))
	}
	if len(mixed.Before) > 0 {
		s.cuts = []optimizer.Cut{mixed.Cut}
	}
	return s, nil
}

// rareFailures is the expected number of failures of a job below which they are as good
// as uniform, given that one happens; an exponential law would lose digits.
const rareFailures = 1e-4

// law is that of a job's first failure, and the probability under it that it happens: the
// divisor that makes an expectation one of jobs that fail.
func (f failure) law(seconds float64) (optimizer.Failures, float64) {
	if f.rate.PerHour*seconds/3600 < rareFailures {
		return optimizer.Failures{Law: optimizer.Uniform}, 1
	}
	return f.rate.Law(), f.probability(seconds)
}
