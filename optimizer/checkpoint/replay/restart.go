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

// cuts are the most that a plan has.
const cuts = 5

// Restart compares policies on the graphs under all laws. Plans are made for the law
// that the failures have.
func Restart(data string, jobs []Job, packed bool) ([]RestartRow, error) {
	problem := checkpoint.Problem{Unlimited: true, MaxSlowdown: MaxSlowdown, Packed: packed}
	var rows []RestartRow
	for _, law := range []string{"uniform", "weibull", "late"} {
		f := FailureLaws()[law]
		of := make([]RestartRow, len(policyNames()))
		without := 0.0
		for _, j := range jobs {
			policies, err := policies(j.Graph, problem, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", j.Name, err)
			}
			for i, p := range policies {
				lost, all, err := checkpoint.Expected(j.Graph, p, f)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", j.Name, err)
				}
				if i == 0 {
					without += all
				}
				of[i].add(lost, all, p.WriteSeconds, j.Graph.Seconds())
			}
		}
		for i, name := range policyNames() {
			row := of[i]
			row.Data, row.Failures, row.Policy = data, law, name
			row.finish(without, len(jobs))
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func policyNames() []string {
	names := []string{"none"}
	for k := range cuts {
		names = append(names, fmt.Sprintf("cuts-%d", k+1))
	}
	return append(names, "everything", "largest")
}

// policies are those of [policyNames].
func policies(g *checkpoint.Graph, p checkpoint.Problem, f checkpoint.Failures) ([]checkpoint.Policy, error) {
	plans, err := checkpoint.RestartPlans(g, p, f, cuts)
	if err != nil {
		return nil, err
	}
	out := make([]checkpoint.Policy, 1, cuts+3)
	for _, plan := range plans {
		out = append(out, plan.Steps())
	}
	everything, err := checkpoint.Everything(g, p)
	if err != nil {
		return nil, err
	}
	largest, err := checkpoint.Largest(g, p)
	return append(out, everything, largest), err
}

func (r *RestartRow) add(lost, without, write, length float64) {
	r.RestartSeconds += lost
	if without > 0 {
		r.Reduction += 1 - lost/without
	}
	if length > 0 {
		r.Overhead += write / length
	}
}

func (r *RestartRow) finish(without float64, jobs int) {
	r.Graphs, r.Speedup = jobs, 1
	if r.RestartSeconds > 0 {
		r.Speedup = without / r.RestartSeconds
	}
	n := float64(max(1, jobs))
	r.RestartSeconds /= n
	r.Reduction /= n
	r.Overhead /= n
}
