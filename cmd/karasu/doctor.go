package main

import (
	"bytes"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/node"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type doctorCmd struct{ jsonFlag }

// Help implements kong's interface for examples.
func (doctorCmd) Help() string {
	return `Looks at the home, its files and databases, and at the network: whether the node listens and can
be reached, relays, the peers of config.toml, peers in each topic, the DHT and clocks. Without a
daemon it does what a daemon would do first, and dials the peers of config.toml for some seconds.

Exit code 1 means that something does not work; what to do stands below each finding. Warnings
and what could not be found out do not count.

Examples:

  karasu doctor
  karasu doctor --json`
}

// Run looks at everything.
func (c doctorCmd) Run(a *app) error {
	var checks []*karasuv1.Check
	if a.API == "" {
		h, err := a.home()
		if err != nil {
			return err
		}
		checks = node.CheckHome(a.ctx, h)
	}
	found, err := c.network(a, checks)
	if err != nil {
		return err
	}
	checks = append(checks, found...)
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if err := c.show(a, &karasuv1.DiagnoseResponse{Checks: checks}, func(w *bytes.Buffer) { printChecks(w, checks) }); err != nil {
		return err
	}
	failed := 0
	for _, k := range checks {
		if k.GetState() == karasuv1.CheckState_CHECK_STATE_FAILED {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s not work", plural(failed, "thing does", "things do"))
	}
	return nil
}

// network asks the daemon, or tries for itself where none runs in a sound home.
func (c doctorCmd) network(a *app, before []*karasuv1.Check) ([]*karasuv1.Check, error) {
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	res, err := client.Diagnose(a.ctx, connect.NewRequest(&karasuv1.DiagnoseRequest{}))
	var gone *unreachableError
	switch {
	case err == nil:
		running := &karasuv1.Check{Name: "daemon", State: karasuv1.CheckState_CHECK_STATE_OK, Finding: "runs"}
		return append([]*karasuv1.Check{running}, res.Msg.GetChecks()...), nil
	case !errors.As(err, &gone) || a.API != "":
		return nil, err
	}
	stopped := &karasuv1.Check{
		Name: "daemon", State: karasuv1.CheckState_CHECK_STATE_WARNING, Finding: fmt.Sprintf("is not reachable at %s (%v)", gone.where, gone.err),
		Advice: "start it with: karasu daemon",
	}
	for _, k := range before {
		switch {
		case k.GetState() == karasuv1.CheckState_CHECK_STATE_FAILED && (k.GetName() == "configuration" || k.GetName() == "identity"):
			return []*karasuv1.Check{stopped}, nil // nothing to try it with
		case k.GetFinding() == node.HeldByDaemon:
			stopped.State = karasuv1.CheckState_CHECK_STATE_FAILED
			stopped.Advice = "a process holds the databases and does not answer: it starts, stops, or hangs; see its log"
			return []*karasuv1.Check{stopped}, nil
		}
	}
	h, err := a.home()
	if err != nil {
		return nil, err
	}
	return append([]*karasuv1.Check{stopped}, node.ProbeNetwork(a.ctx, h)...), nil
}

func printChecks(w *bytes.Buffer, checks []*karasuv1.Check) {
	words := map[karasuv1.CheckState]string{
		karasuv1.CheckState_CHECK_STATE_OK: "ok", karasuv1.CheckState_CHECK_STATE_WARNING: "warning",
		karasuv1.CheckState_CHECK_STATE_FAILED: "FAILED", karasuv1.CheckState_CHECK_STATE_SKIPPED: "-",
	}
	for _, k := range checks {
		fmt.Fprintf(w, "%-7s  %-13s  %s\n", words[k.GetState()], clean(k.GetName()), clean(k.GetFinding()))
		if k.GetAdvice() != "" {
			fmt.Fprintf(w, "%24s> %s\n", "", clean(k.GetAdvice()))
		}
	}
}
