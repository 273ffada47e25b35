package replay

import (
	"fmt"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// MaxSlowdown is how much longer a run without failure may take for a plan's writes.
const MaxSlowdown = .05

// RestartRow is how much work a policy saves when a job fails, over a set of graphs.
type RestartRow struct {
	Data string `json:"data"`
	// Failures are uniform, weibull or late (uniform in the last quarter).
	Failures string `json:"failures"`
	// Policy is none, one to five cuts (cuts-1 ..), everything or largest.
	Policy string `json:"policy"`
	// RestartSeconds is the mean work lost by a failure, Speedup how many times less that
	// is than without a cut.
	RestartSeconds float64 `json:"restart_seconds"`
	Speedup        float64 `json:"speedup"`
	// Overhead is the mean share by which writes lengthen a run without failure,
	// Reduction the mean share of lost work that is saved.
	Overhead  float64 `json:"overhead"`
	Reduction float64 `json:"reduction"`
	Graphs    int     `json:"graphs"`
}

// FailureLaws are those that policies are compared under.
func FailureLaws() map[string]checkpoint.Failures {
	return map[string]checkpoint.Failures{
		"uniform": {Law: checkpoint.Uniform},
		"weibull": {Law: checkpoint.Weibull},
		"late":    {Law: checkpoint.Uniform, From: .75},
	}
}

// Restart compares policies on the graphs under all laws. Plans are made for the law
// that the failures have.
func Restart(data string, jobs []Job, packed bool) ([]RestartRow, error) {
	problem := checkpoint.Problem{Unlimited: true, MaxSlowdown: MaxSlowdown, Packed: packed}
	var rows []RestartRow
	for _, law := range []string{"uniform", "weibull", "late"} {
		f := FailureLaws()[law]
		for _, name := range []string{"none", "cuts-1", "cuts-2", "cuts-3", "cuts-4", "cuts-5", "everything", "largest"} {
			row := RestartRow{Data: data, Failures: law, Policy: name, Graphs: len(jobs)}
			without := 0.0
			for _, j := range jobs {
				steps, err := policy(name, j.Graph, problem, f)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", j.Name, err)
				}
				lost, all, err := checkpoint.Expected(j.Graph, steps, f)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", j.Name, err)
				}
				without += all
				row.RestartSeconds += lost
				if all > 0 {
					row.Reduction += 1 - lost/all
				}
				if t := j.Graph.Seconds(); t > 0 {
					row.Overhead += steps.WriteSeconds / t
				}
			}
			row.Speedup = 1
			if row.RestartSeconds > 0 {
				row.Speedup = without / row.RestartSeconds
			}
			n := float64(max(1, len(jobs)))
			row.RestartSeconds /= n
			row.Reduction /= n
			row.Overhead /= n
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func policy(name string, g *checkpoint.Graph, p checkpoint.Problem, f checkpoint.Failures) (checkpoint.Policy, error) {
	switch name {
	case "none":
		return checkpoint.Policy{}, nil
	case "everything":
		return checkpoint.Everything(g, p)
	case "largest":
		return checkpoint.Largest(g, p)
	}
	var k int
	if _, err := fmt.Sscanf(name, "cuts-%d", &k); err != nil {
		return checkpoint.Policy{}, fmt.Errorf("policy %q: %w", name, err)
	}
	plan, err := checkpoint.PlanRestart(g, p, f, k)
	return plan.Steps(), err
}
