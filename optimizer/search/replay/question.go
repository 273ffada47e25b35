package replay

import (
	"fmt"
	"strings"

	"github.com/karasu-project/karasu/optimizer/search"
)

// minCut is the least length of the traces of different lengths of RQ2, in
// runtimes: that of the baseline's initial design. The greatest is [MaxRuns].
const minCut = 3

// QuestionScenarios lists those of the research questions of the Karasu evaluation
// (arXiv 2308.11792, section IV) that [Scenarios] lacks.
//
//   - RQ1-k: k traces of the same workload at other runtime targets.
//
//   - RQ2-Pk: k traces under policy P: A, B or C.
//
//   - RQ2-Pk-cut: of these each has only its first 3 to 10 runtimes, at equal odds.
//
//   - RQ3-S-O: a Pareto search for cost and energy with the supports of S, solo or A3,
//     and its best run in O, cost or energy. [RunPareto] measures the fronts.
//
// Draws are nested: those of k = 3 are the first of k = 5, and RQ2-A3 is A3.
func QuestionScenarios() []Scenario {
	var out []Scenario
	for _, k := range []int{1, 5, 9} {
		out = append(out, Scenario{
			Name: fmt.Sprintf("RQ1-%d", k), pool: func(_, _ *workload) bool { return false }, own: true, traces: k, draw: "RQ1",
		})
	}
	for _, suffix := range []string{"", "-cut"} {
		for _, policy := range []struct {
			name string
			pool func(target, other *workload) bool
		}{{"A", policyA}, {"B", policyB}, {"C", policyC}} {
			for _, k := range []int{1, 3, 5} {
				out = append(out, Scenario{
					Name: fmt.Sprintf("RQ2-%s%d%s", policy.name, k, suffix), pool: policy.pool,
					traces: k, cut: suffix != "", draw: policy.name + "3",
				})
			}
		}
	}
	front := []search.Objective{search.Cost, search.Energy}
	for _, o := range front {
		alone := "RQ3-solo-" + string(o)
		out = append(out,
			Scenario{Name: alone, front: front, measured: o, alone: alone},
			Scenario{Name: "RQ3-A3-" + string(o), pool: policyA, traces: 3, draw: "A3", front: front, measured: o, alone: alone})
	}
	return out
}

// ScenariosByName returns the scenario of the name, or all of a research question:
// RQ1, RQ2 or RQ3.
func ScenariosByName(name string) ([]Scenario, error) {
	if question := strings.ToUpper(name); question == "RQ1" || question == "RQ2" || question == "RQ3" {
		var out []Scenario
		for _, s := range QuestionScenarios() {
			if strings.HasPrefix(s.Name, question+"-") {
				out = append(out, s)
			}
		}
		return out, nil
	}
	s, err := ScenarioByName(name)
	if err != nil {
		return nil, err
	}
	return []Scenario{s}, nil
}

// otherTargets are the traces of a workload's searches, target by target, without
// those at one target.
func otherTargets(traces []trace, target uint64) []trace {
	var out []trace
	for i, t := range traces {
		if uint64(i/Repeats) != target {
			out = append(out, t)
		}
	}
	return out
}

// first keeps the first n runtimes of a trace, or all where it has fewer.
func (t trace) first(n int) trace {
	n = min(n, len(t.logRuntime))
	t.candidates, t.logRuntime = t.candidates[:n], t.logRuntime[:n]
	return t
}
