package main

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type statusCmd struct{ jsonFlag }

// Run prints what the daemon is and holds.
func (c statusCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.Status(a.ctx, connect.NewRequest(&karasuv1.StatusRequest{}))
	if err != nil {
		return err
	}
	s := res.Msg
	return c.show(a, s, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "organisation  %s\n", clean(s.GetOrganisation()))
		fmt.Fprintf(w, "peer id       %s\n", clean(s.GetPeerId()))
		for i, addr := range s.GetAddresses() {
			name := "addresses"
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "%-12s  %s\n", name, clean(addr))
		}
		fmt.Fprintf(w, "runs          %s of %s\n", number(s.GetRuns()), counted(s.GetWorkloads(), "workload"))
		if n := s.GetExecutions(); n > 0 {
			fmt.Fprintf(w, "applications  %s", number(n))
			if u := s.GetUnmatchedExecutions(); u > 0 {
				fmt.Fprintf(w, ", %s are no runs; karasu workloads --unmatched says why", number(u))
			}
			fmt.Fprintln(w)
		}
		for _, f := range s.GetWatched() {
			state := fmt.Sprintf("%s imported", number(f.GetImported()))
			if n := f.GetUpdated(); n > 0 {
				state += fmt.Sprintf(", %s updated", number(n))
			}
			if n := f.GetUnchanged(); n > 0 {
				state += fmt.Sprintf(", %s unchanged", number(n))
			}
			if n := f.GetUnreadable(); n > 0 {
				state += fmt.Sprintf(", %s unreadable", number(n))
			}
			if f.GetProblem() != "" {
				state = oneLine(f.GetProblem())
			}
			fmt.Fprintf(w, "watching      %s (%s): %s\n", clean(f.GetPath()), clean(f.GetKind()), state)
		}
		fmt.Fprintf(w, "searches      %s\n", number(s.GetSearches()))
		fmt.Fprintf(w, "records       %s own, %s received\n", number(s.GetOwnRecords()), number(s.GetReceivedRecords()))
		fmt.Fprintf(w, "peers         %s connected\n", number(s.GetPeers()))
		if n := s.GetUnreachableBootstrapPeers(); n > 0 {
			fmt.Fprintf(w, "%-12s  %s of %s bootstrap peers unreachable; karasu peers says why\n", "", number(n), number(s.GetBootstrapPeers()))
		}
		fmt.Fprintf(w, "up            %s\n", seconds(s.GetUptimeSeconds()))
		fmt.Fprintf(w, "version       %s\n", clean(s.GetVersion()))
	})
}
