package main

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type checkpointCompareCmd struct {
	targetFlags
	Last uint32 `help:"At most so many runs, the latest. Default: 20." placeholder:"N"`
	goalFlags
	rateFlag
	jsonFlag
}

// Help implements kong's interface for examples.
func (checkpointCompareCmd) Help() string {
	return `Judges past runs by what was measured in them: without checkpoints, with each output or only
the largest one persisted, with the advice that runs before them would have given, given
once or again whenever a stage ended, and with the optimum.

Examples:

  karasu checkpoint compare
  karasu checkpoint compare --job nightly-orders --durable-share 10%
  karasu checkpoint compare --job nightly-orders --objective restart --cuts 3 --json`
}

// Run asks for the comparison.
func (c checkpointCompareCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.CompareCheckpoints(a.ctx, connect.NewRequest(&karasuv1.CompareCheckpointsRequest{
		Target: &karasuv1.CheckpointTarget{App: c.App, Job: c.Job}, Goal: c.message("storage", c.FailureRate), Last: c.Last,
	}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printCompared(w, res.Msg) })
}

func printCompared(w *bytes.Buffer, m *karasuv1.CompareCheckpointsResponse) {
	t := newTable("RUN", "JOB", ">STAGES", ">RUNTIME", "POLICY", ">WRITES", ">FREED", ">LOST", ">OVERHEAD", "")
	for _, r := range m.GetRuns() {
		app, job, stages, runtime := r.GetApp(), shorten(clean(r.GetJob()), 32), number(r.GetStages()), instant(r.GetJobSeconds())
		for _, p := range r.GetPolicies() {
			addCompared(t, []string{app, job, stages, runtime}, p, r.GetJobSeconds())
			app, job, stages, runtime = "", "", "", ""
		}
	}
	t.print(w, "No runs.")
	fmt.Fprintf(w, "\nOn average:\n\n")
	mean := newTable("POLICY", ">WRITES", ">FREED", ">LOST", ">OVERHEAD", "")
	for _, p := range m.GetMean() {
		addCompared(mean, nil, p, p.GetWorth().GetRestartWithoutSeconds())
	}
	mean.print(w, "")
	fmt.Fprintf(w, "\nFREED is of temporary storage (bytes x time), LOST the work that a failure costs, OVERHEAD the\ntime of the writes as a share of the run's.\n\n")
	printFailureRate(w, m.GetFailures())
	if n := m.GetWithoutStages(); n > 0 {
		fmt.Fprintf(w, "Note: %s without stages left out.\n", counted(n, "run"))
	}
	printCaveats(w, nil, m.GetNotes())
}

func addCompared(t *table, run []string, p *karasuv1.ComparedCheckpoint, length float64) {
	if p.GetWorth() == nil {
		t.add(append(run, p.GetPolicy(), unknown, unknown, unknown, unknown, p.GetProblem())...)
		return
	}
	v, mark := p.GetWorth(), ""
	if p.GetOverBudget() {
		mark = "over the limit"
	}
	t.add(append(run, p.GetPolicy(), amount(v.GetDurableBytes()), percent(v.GetFreedShare()), instant(v.GetLostSeconds()),
		percent(fraction(v.GetWriteSeconds(), length)), mark)...)
}

type checkpointSimulateCmd struct {
	targetFlags
	Failures failureRate `help:"Failures an hour while the job runs, such as 0.5." placeholder:"PER_HOUR" required:""`
	Seed     uint64      `help:"Seed of the failures." placeholder:"N"`
	Times    uint32      `help:"How often each run is played. Default: 1000." placeholder:"N"`
	Last     uint32      `help:"At most so many runs, the latest. Default: 20." placeholder:"N"`
	goalFlags
	jsonFlag
}

// Help implements kong's interface for examples.
func (checkpointSimulateCmd) Help() string {
	return `Plays past runs again and again; failures strike as often as said, and a run that failed goes
on where its checkpoints allow. Plans are for restarts unless --objective says otherwise.

Examples:

  karasu checkpoint simulate --failures 0.5
  karasu checkpoint simulate --job nightly-orders --failures 2 --cuts 3 --seed 7 --json`
}

// Run asks for the simulation.
func (c checkpointSimulateCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.SimulateCheckpoints(a.ctx, connect.NewRequest(&karasuv1.SimulateCheckpointsRequest{
		Target: &karasuv1.CheckpointTarget{App: c.App, Job: c.Job}, Goal: c.message("restart", &c.Failures), Last: c.Last, Times: c.Times, Seed: c.Seed,
	}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printSimulated(w, res.Msg) })
}

func printSimulated(w *bytes.Buffer, m *karasuv1.SimulateCheckpointsResponse) {
	t := newTable("RUN", "JOB", ">RUNTIME", "POLICY", ">WITH FAILURES", ">LOST", ">WRITES", ">FAILURES", ">GIVEN UP")
	for _, r := range m.GetRuns() {
		app, job, runtime := r.GetApp(), shorten(clean(r.GetJob()), 32), instant(r.GetJobSeconds())
		for _, p := range r.GetPolicies() {
			addSimulated(t, []string{app, job, runtime}, p)
			app, job, runtime = "", "", ""
		}
	}
	t.print(w, "No runs.")
	fmt.Fprintf(w, "\nOn average, each played %s:\n\n", plural(m.GetTimes(), "time", "times"))
	mean := newTable("POLICY", ">WITH FAILURES", ">LOST", ">WRITES", ">FAILURES", ">GIVEN UP")
	for _, p := range m.GetMean() {
		addSimulated(mean, nil, p)
	}
	mean.print(w, "")
	fmt.Fprintln(w)
	printFailureRate(w, m.GetFailures())
	if n := m.GetWithoutStages(); n > 0 {
		fmt.Fprintf(w, "Note: %s without stages left out.\n", counted(n, "run"))
	}
	printCaveats(w, nil, m.GetNotes())
}

func addSimulated(t *table, run []string, p *karasuv1.SimulatedCheckpoint) {
	t.add(append(run, p.GetPolicy(), instant(p.GetSeconds()), instant(p.GetLostSeconds()), instant(p.GetWriteSeconds()),
		failureCount(p.GetFailures()), percent(p.GetUnfinished()))...)
}

// failureCount prints a mean number of failures, of which a simulation has at most a thousand.
func failureCount(n float64) string {
	if n >= 100 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.3g", n)
}
