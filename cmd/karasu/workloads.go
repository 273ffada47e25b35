package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type workloadsCmd struct {
	List  workloadsListCmd  `cmd:"" default:"withargs" help:"List workloads, or with --unmatched the applications that are no runs."`
	Apply workloadsApplyCmd `cmd:"" help:"Read the rules of config.toml anew and name all applications by them."`
}

type workloadsListCmd struct {
	Unmatched bool `help:"Applications that are no runs: why, and a rule for those that none matches."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (workloadsListCmd) Help() string {
	return `A rule says which workload an application is:

  [[workload]]
  name = '^nightly-(\w+)-\d{4}'     # also user, queue, main_class, query_signature
  infrastructure = "aws-emr"
  algorithm = "etl"                 # public, as is infrastructure
  job = "nightly-${1}"              # private
  machine_type = "m5.xlarge"        # where the records do not tell

Rules belong into config.toml; karasu workloads apply makes them count. The first that
matches does. What --unmatched suggests is a start: say what the job computes.

Examples:

  karasu workloads
  karasu workloads --unmatched`
}

// Run lists workloads.
func (c workloadsListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListWorkloads(a.ctx, connect.NewRequest(&karasuv1.ListWorkloadsRequest{Unmatched: c.Unmatched}))
	if err != nil {
		return err
	}
	none := false
	if c.Unmatched && res.Msg.GetUnmatchedExecutions() == 0 && !c.JSON {
		status, err := client.Status(a.ctx, connect.NewRequest(&karasuv1.StatusRequest{}))
		if err != nil {
			return err
		}
		none = status.Msg.GetExecutions() == 0
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		if none {
			fmt.Fprintln(w, "There are no applications; karasu import spark, hadoop and flink bring some.")
			return
		}
		if c.Unmatched {
			printUnmatched(w, res.Msg)
			return
		}
		t := newTable("JOB", "TOPIC", "DATASET", ">INPUT", ">OK", ">FAILED", ">TIMEOUT")
		for _, x := range res.Msg.GetWorkloads() {
			t.add(tableName(x.GetJob()), strings.TrimPrefix(x.GetTopic(), model.TopicPrefix), dash(tableName(x.GetDataset())), size(x.GetInputBytes()),
				number(x.GetOk()), number(x.GetFailed()), number(x.GetTimeout()))
		}
		t.print(w, "No workload has runs.")
	})
}

// printUnmatched prints groups by reason, then the rules that would match.
func printUnmatched(w *bytes.Buffer, m *karasuv1.ListWorkloadsResponse) {
	if m.GetUnmatchedExecutions() == 0 {
		fmt.Fprintln(w, "Every application is a run.")
		return
	}
	t := newTable(">APPLICATIONS", "SUCH AS", "ID", "WHY IT IS NO RUN")
	suggested := 0
	for _, g := range m.GetUnmatched() {
		t.add(number(g.GetExecutions()), dash(g.GetExample()), short(g.GetId()), g.GetDetail())
		if g.GetSuggestion() != "" {
			suggested++
		}
	}
	t.print(w, "")
	if suggested == 0 {
		return
	}
	fmt.Fprintf(w, "\nRules to paste into config.toml and to change, then: karasu workloads apply\n")
	for _, g := range m.GetUnmatched() {
		if s := g.GetSuggestion(); s != "" {
			fmt.Fprintln(w)
			for line := range strings.Lines(s) {
				fmt.Fprintln(w, clean(strings.TrimSuffix(line, "\n")))
			}
		}
	}
}

type workloadsApplyCmd struct{ jsonFlag }

// Help implements kong's interface for examples.
func (workloadsApplyCmd) Help() string {
	return `Runs move to the workload that the rules name now; applications that a rule matches for
the first time become runs, and what none matches any more is none. Nothing is read
again. The daemon does the same when it starts.

Example:

  karasu workloads apply`
}

// Run applies the rules.
func (c workloadsApplyCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ApplyRules(a.ctx, connect.NewRequest(&karasuv1.ApplyRulesRequest{}))
	if err != nil {
		return err
	}
	m := res.Msg
	return c.show(a, m, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "%s, %s: %s %s (%s added, %s changed, %s removed).\n", counted(m.GetRules(), "rule"), counted(m.GetExecutions(), "application"),
			counted(m.GetRuns(), "run"), verb(m.GetRuns()), number(m.GetAdded()), number(m.GetChanged()), number(m.GetRemoved()))
	})
}

// verb is "is named" or "are named".
func verb(n uint32) string {
	if n == 1 {
		return "is named"
	}
	return "are named"
}
