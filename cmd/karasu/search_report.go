package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type searchReportCmd struct {
	jobFlag
	Config  configFlag `help:"What ran, such as 8xm4.xlarge." placeholder:"NODESxMACHINE"`
	Runtime *duration  `help:"How long it took: 13m20s, 800s or 800." placeholder:"TIME"`
	Failed  bool       `help:"It ended without a result." xor:"outcome"`
	Timeout bool       `help:"It was stopped for its runtime, by default at what target and budget allow." xor:"outcome"`
	Abandon bool       `help:"It did not run: give up the claim of search next --claim." xor:"outcome"`
	Repeat  bool       `help:"Accept a configuration that was reported before."`
	Undo    bool       `help:"Take back the run that was reported last, also from your runs."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (searchReportCmd) Help() string {
	return `Examples:

  karasu search report --job nightly-pagerank --config 8xm4.xlarge --runtime 13m20s
  karasu search report --job nightly-pagerank --config 2xc4.large --failed
  karasu search report --job nightly-pagerank --config 4xc4.large --timeout --runtime 30m
  karasu search report --job nightly-pagerank --undo`
}

// Run reports a run and prints what follows from it.
func (c searchReportCmd) Run(a *app) error {
	switch {
	case c.Undo:
		return c.undo(a)
	case c.Config.MachineType == "":
		return usagef("--config is missing: what ran, such as 8xm4.xlarge")
	}
	req := &karasuv1.ReportRunRequest{
		Job: c.Job, Configuration: c.Config.message(), RuntimeSeconds: c.Runtime.seconds(),
		Outcome: karasuv1.Outcome_OUTCOME_OK, Repeat: c.Repeat, Abandon: c.Abandon,
	}
	switch {
	case c.Failed:
		req.Outcome = karasuv1.Outcome_OUTCOME_FAILED
	case c.Timeout:
		req.Outcome = karasuv1.Outcome_OUTCOME_TIMEOUT
	case c.Abandon:
	case c.Runtime == nil:
		return usagef("how did it end? Give --runtime TIME, --failed or --timeout")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ReportRun(a.ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	s := res.Msg.GetState()
	if req.GetOutcome() == karasuv1.Outcome_OUTCOME_OK && !c.Abandon {
		a.noteSurprise(c.Job, res.Msg.GetExpected(), req.GetRuntimeSeconds())
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		if c.Abandon {
			fmt.Fprintf(w, "Given up: %s.\n", configuration(c.Config.message()))
		} else {
			printLastStep(w, s)
		}
		if s.GetHint() != "" {
			fmt.Fprintf(w, "So far %s.\n", clean(s.GetHint()))
		}
		fmt.Fprintln(w)
		printSuggestion(w, c.Job, s.GetNext(), standingOf(s))
	})
}

func printLastStep(w *bytes.Buffer, s *karasuv1.SearchState) {
	if len(s.GetSteps()) == 0 {
		return
	}
	step := s.GetSteps()[len(s.GetSteps())-1]
	fmt.Fprintf(w, "Run %d: %s, %s", len(s.GetSteps()), configuration(step.GetRun().GetConfiguration()), stepOutcome(s.GetSettings(), step))
	if t := step.GetRun().GetRuntimeSeconds(); t > 0 {
		fmt.Fprintf(w, " after %s", seconds(t))
	}
	for _, name := range strings.Split(s.GetSettings().GetObjective(), ",") {
		if v, known := valueOf(name, step); known && name != "runtime" {
			fmt.Fprintf(w, ", %s", objective(name, v))
		}
	}
	if several(s.GetSettings().GetObjective()) {
		if onFront(s, step) {
			fmt.Fprint(w, ": on the Pareto front")
		}
	} else if step.GetValid() && step.Objective != nil && step.Best != nil && !step.GetOutside() && step.GetObjective() == step.GetBest() {
		if equalsBest(s.GetSteps()) {
			fmt.Fprint(w, ": equals the best so far")
		} else {
			fmt.Fprint(w, ": the best so far")
		}
	}
	fmt.Fprintln(w)
}

// equalsBest says whether an earlier run was as good as the last, which is the best.
func equalsBest(steps []*karasuv1.SearchStep) bool {
	last := steps[len(steps)-1]
	for _, s := range steps[:len(steps)-1] {
		if s.Best != nil && s.GetBest() == last.GetBest() {
			return true
		}
	}
	return false
}

// stepOutcome says what a run is worth to its search.
func stepOutcome(settings *karasuv1.SearchSettings, step *karasuv1.SearchStep) string {
	o := step.GetRun().GetOutcome()
	switch {
	case step.GetOutside() && step.GetValid():
		return outcome(o) + ", no candidate"
	case o != karasuv1.Outcome_OUTCOME_OK || step.GetValid():
		return outcome(o)
	case settings.GetTargetSeconds() > 0 && step.GetRun().GetRuntimeSeconds() > settings.GetTargetSeconds():
		return "too slow"
	case settings.GetBudgetUsd() > 0 && step.CostUsd == nil:
		return "cost unknown"
	case settings.GetBudgetUsd() > 0 && step.GetCostUsd() > settings.GetBudgetUsd():
		return "too dear"
	}
	return "not sure"
}
