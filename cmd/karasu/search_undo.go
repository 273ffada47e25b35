package main

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// undo takes the last reported run of a search back.
func (c searchReportCmd) undo(a *app) error {
	if c.Config.MachineType != "" || c.Runtime != nil || c.Failed || c.Timeout || c.Repeat {
		return usagef("--undo takes the last reported run back, whatever it was; give it alone with --job")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.UndoReport(a.ctx, connect.NewRequest(&karasuv1.UndoReportRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	s := res.Msg.GetState()
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		r := res.Msg.GetRun()
		fmt.Fprintf(w, "Taken back: run %d, %s, %s", len(s.GetSteps())+1, configuration(r.GetConfiguration()), outcome(r.GetOutcome()))
		if t := r.GetRuntimeSeconds(); t > 0 {
			fmt.Fprintf(w, " after %s", seconds(t))
		}
		fmt.Fprint(w, ". It is deleted from your runs, too.\n\n")
		printSuggestion(w, c.Job, s.GetNext(), standingOf(s))
	})
}

// surprising is how many times a runtime must be outside the predicted interval to be
// taken for a slip of the pen.
const surprising = 10

// noteSurprise says that a reported runtime is far from what was expected. The run
// is recorded all the same.
func (a *app) noteSurprise(job string, expected *karasuv1.Prediction, took float64) {
	low, high := expected.GetRuntimeLowSeconds(), expected.GetRuntimeHighSeconds()
	if took <= 0 || low <= 0 || took <= surprising*high && took >= low/surprising {
		return
	}
	a.note("%s is far outside the %s to %s that were expected (80%%); it is recorded, and if it is a slip: karasu search report --job %s --undo",
		seconds(took), seconds(low), seconds(high), shellWord(job))
}
