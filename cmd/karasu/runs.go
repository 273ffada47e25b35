package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type runsCmd struct {
	List   runsListCmd   `cmd:"" help:"List stored runs, oldest first."`
	Show   runsShowCmd   `cmd:"" help:"All that is stored of one run."`
	Delete runsDeleteCmd `cmd:"" aliases:"rm" help:"Delete stored runs, also from the searches that hold them."`
}

type runsListCmd struct {
	Job   string `help:"Only those of this job." placeholder:"NAME"`
	Limit uint32 `help:"At most so many, the latest." placeholder:"N"`
	jsonFlag
}

// Run lists runs.
func (c runsListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Job: c.Job, Limit: c.Limit}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		t := newTable("ID", "START", "JOB", "DATASET", "TOPIC", ">INPUT", "CONFIGURATION", ">RUNTIME", "OUTCOME")
		for _, r := range res.Msg.GetRuns() {
			t.add(short(r.GetId()), startOf(r), dash(tableName(r.GetWorkload().GetJob())), dash(tableName(r.GetWorkload().GetDataset())), topicOf(r.GetWorkload()),
				size(r.GetWorkload().GetInputBytes()), configuration(r.GetConfiguration()), seconds(r.GetRuntimeSeconds()), outcome(r.GetOutcome()))
		}
		t.print(w, c.none(res.Msg.GetKnownJobs()))
		if shown, total := len(res.Msg.GetRuns()), int(res.Msg.GetTotal()); shown < total {
			fmt.Fprintf(w, "The latest %d of %s.\n", shown, counted(total, "run"))
		}
	})
}

// none says that nothing is there, and what is.
func (c runsListCmd) none(jobs []string) string {
	switch {
	case c.Job == "" || len(jobs) == 0:
		return "No runs are stored. Import some with: karasu import csv FILE, or: karasu import spark FOLDER"
	default:
		return fmt.Sprintf("No runs of the job %s. There are runs of: %s", clean(c.Job), clean(strings.Join(jobs, ", ")))
	}
}

// startOf prints when a run began, to the minute and with its zone.
func startOf(r *karasuv1.Run) string {
	ms := r.GetStartUnixMillis()
	if ms == 0 {
		return unknown
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04 MST")
}
