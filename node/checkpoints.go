package node

import (
	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/checkpoint"
	"github.com/karasu-project/karasu/store/ingest/naming"
)

// newCheckpoints returns the advisor on stage outputs to persist.
func (a *App) newCheckpoints() *checkpoint.Advisor {
	return checkpoint.New(checkpoint.Options{Executions: a.private, Predictors: a, JobOf: a.jobOf})
}

// jobOf names the job of an execution that runs. What makes it a run is not needed for that
// and perhaps not known yet: how it ends, and on what it runs.
func (a *App) jobOf(e model.Execution) string {
	const unknown = "unknown"
	e.Outcome = model.OK
	e.Cluster.Hosts = max(1, e.Cluster.Hosts)
	run, err := a.rules.Load().Run(e, naming.Hints{Infrastructure: unknown, MachineType: unknown}, func(_, m string) (string, error) { return m, nil })
	if err != nil {
		return ""
	}
	return run.Workload.Job
}
