package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

type runsDeleteCmd struct {
	ID  []string `name:"id" help:"IDs, or their first digits as runs list shows them." placeholder:"ID" xor:"which" required:""`
	Job string   `help:"All runs of this job." placeholder:"NAME" xor:"which" required:""`
	Yes bool     `help:"Do not ask before all runs of a job are deleted."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (runsDeleteCmd) Help() string {
	return `What was shared of the runs changes with them, or is withdrawn. The run that a
search was told of last is taken back with: karasu search report --undo

Examples:

  karasu runs delete --id 3f9a1c20
  karasu runs delete --job nightly-pagerank --yes`
}

// Run deletes runs.
func (c runsDeleteCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	if c.Job != "" && !c.Yes {
		if err := c.confirm(a, client); err != nil {
			return err
		}
	}
	res, err := client.DeleteRuns(a.ctx, connect.NewRequest(&karasuv1.DeleteRunsRequest{Ids: c.ID, Job: c.Job}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "Deleted %s", counted(res.Msg.GetDeleted(), "run"))
		if n := res.Msg.GetSearches(); n > 0 {
			fmt.Fprintf(w, ", also from %s", plural(n, "search", "searches"))
		}
		fmt.Fprintln(w, ".")
	})
}

// isInputTerminal says whether answers are typed.
func isInputTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && isTerminal(f)
}

// confirm asks whether all runs of the job should go.
func (c runsDeleteCmd) confirm(a *app, client karasuv1connect.KarasuServiceClient) error {
	res, err := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Job: c.Job, Limit: 1}))
	if err != nil || res.Msg.GetTotal() == 0 {
		return err
	}
	if _, err := fmt.Fprintf(a.stderr, "Delete %s of the job %s for good? [y/N] ", counted(res.Msg.GetTotal(), "run"), clean(c.Job)); err != nil {
		return err
	}
	answer, err := bufio.NewReader(a.stdin).ReadString('\n') // an end of input is a no
	if err != nil || !isInputTerminal(a.stdin) {
		// Only a terminal shows the line end that was typed.
		_, _ = fmt.Fprintln(a.stderr)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was deleted; answer y, or say --yes")
	}
	return nil
}
