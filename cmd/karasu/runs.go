package main

import (
	"bytes"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type runsCmd struct {
	List runsListCmd `cmd:"" help:"List stored runs, oldest first."`
}

type runsListCmd struct {
	Job string `help:"Only those of this job." placeholder:"NAME"`
	jsonFlag
}

// Run lists runs.
func (c runsListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		t := newTable("START", "JOB", "DATASET", "TOPIC", ">INPUT", "CONFIGURATION", ">RUNTIME", "OUTCOME")
		for _, r := range res.Msg.GetRuns() {
			start := unknown
			if ms := r.GetStartUnixMillis(); ms != 0 {
				start = time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04")
			}
			t.add(start, dash(r.GetWorkload().GetJob()), dash(r.GetWorkload().GetDataset()), topicOf(r.GetWorkload()),
				size(r.GetWorkload().GetInputBytes()), configuration(r.GetConfiguration()), seconds(r.GetRuntimeSeconds()), outcome(r.GetOutcome()))
		}
		t.print(w, "No runs are stored. Import some with: karasu import csv FILE")
	})
}
