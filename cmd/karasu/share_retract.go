package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type shareRetractCmd struct {
	Job   string `help:"All that leaves of this job's workloads." placeholder:"NAME"`
	Topic string `help:"All that leaves under this topic or pattern, such as aws-ec2/spark/*." placeholder:"PATTERN"`
	Undo  bool   `help:"Let it leave again."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (shareRetractCmd) Help() string {
	return `Withdraws what was shared and keeps it from leaving until --undo. Every node stops using
what is withdrawn as soon as it hears of it; what others have read they have read. Your
runs stay. Without a job or topic it lists what is retracted.

Examples:

  karasu share retract --job nightly-pagerank
  karasu share retract --topic 'aws-ec2/spark/*'
  karasu share retract --job nightly-pagerank --undo`
}

// Run retracts.
func (c shareRetractCmd) Run(a *app) error {
	if c.Job != "" && c.Topic != "" {
		return usagef("--job and --topic exclude each other")
	}
	if c.Undo && c.Job == "" && c.Topic == "" {
		return usagef("--undo needs the --job or --topic that was retracted")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.RetractShare(a.ctx, connect.NewRequest(&karasuv1.RetractShareRequest{Job: c.Job, Topic: c.Topic, Undo: c.Undo}))
	if err != nil {
		return err
	}
	m := res.Msg
	return c.show(a, m, func(w *bytes.Buffer) {
		switch {
		case c.Undo:
			fmt.Fprintf(w, "It may leave again: %s shared.\n", counted(m.GetShared(), "record"))
		case c.Job != "" || c.Topic != "":
			fmt.Fprintf(w, "%s withdrawn. Nothing of it leaves until you undo that.\n", counted(m.GetWithdrawn(), "record"))
		}
		t := newTable("RETRACTED", "NAME")
		for _, j := range m.GetJobs() {
			t.add("job", j)
		}
		for _, p := range m.GetTopics() {
			t.add("topic", strings.TrimPrefix(p, "/karasu/1/"))
		}
		t.print(w, "Nothing is retracted.")
	})
}
