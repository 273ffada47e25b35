package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type elasticStatusCmd struct {
	Job      string `arg:"" optional:"" help:"Only this job, and more of it." placeholder:"JOB"`
	Finished bool   `help:"Also jobs that have finished."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticStatusCmd) Help() string {
	return `WORKERS are those that run, as last reported, and those of the plan.

Examples:

  karasu elastic status
  karasu elastic status cnn-7
  karasu elastic status --finished --json`
}

// Run lists jobs or shows one.
func (c elasticStatusCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	if c.Job != "" {
		res, err := client.GetElasticJob(a.ctx, connect.NewRequest(&karasuv1.GetElasticJobRequest{Job: c.Job}))
		if err != nil {
			return err
		}
		return c.show(a, res.Msg, func(w *bytes.Buffer) { printElasticJob(w, res.Msg.GetStatus()) })
	}
	res, err := client.ListElasticJobs(a.ctx, connect.NewRequest(&karasuv1.ListElasticJobsRequest{Finished: c.Finished}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		t := newTable("JOB", "MODEL", ">WORKERS", ">SERVERS", ">STEP", ">STEPS/S", ">REPORTS", ">CHANGES", "FINISHED", "LAST DECISION", "WHY")
		for _, j := range res.Msg.GetJobs() {
			r := j.GetLastReport()
			running, step := unknown, unknown
			if r != nil {
				running, step = number(r.GetWorkers()), fmt.Sprintf("%.0f", r.GetStep())
			}
			d := j.GetLastDecision()
			t.add(shorten(clean(j.GetJob().GetId()), maxNameColumns), j.GetJob().GetFramework()+"/"+j.GetJob().GetAlgorithm(),
				running+"/"+number(j.GetPlan().GetWorkers().GetReplicas()), servers(j.GetPlan()), step, perSecond(r.GetStepsPerSecond()),
				number(j.GetReports()), number(j.GetChanges()), timeOf(j.GetFinishedUnixMillis()),
				fmt.Sprintf("%d %s", d.GetNumber(), d.GetKind()), shorten(clean(d.GetReason()), 60))
		}
		t.hideUnknown("FINISHED", "SERVERS").print(w, "No training job is kept. Begin one with: karasu elastic plan --start --job NAME")
	})
}

func servers(p *karasuv1.ElasticPlan) string {
	if p.GetServers().GetReplicas() == 0 {
		return unknown
	}
	return number(p.GetServers().GetReplicas())
}

// printElasticJob shows all of a job but its decisions.
func printElasticJob(w *bytes.Buffer, s *karasuv1.ElasticStatus) {
	j, d := s.GetJob(), s.GetLastDecision()
	fmt.Fprintf(w, "job       %s: %s/%s/%s, %s", clean(j.GetId()), j.GetInfrastructure(), j.GetFramework(), j.GetAlgorithm(), j.GetMode())
	if j.GetMachineType() != "" {
		fmt.Fprintf(w, ", on %s", clean(j.GetMachineType()))
	}
	fmt.Fprintf(w, "\nstarted   %s, by %s\n", timeOf(s.GetStartedUnixMillis()), clean(s.GetHistory()))
	if s.GetFinishedUnixMillis() > 0 {
		fmt.Fprintf(w, "finished  %s\n", timeOf(s.GetFinishedUnixMillis()))
	}
	fmt.Fprintf(w, "plan      %s\n", planText(s.GetPlan()))
	if r := s.GetLastReport(); r != nil {
		fmt.Fprintf(w, "reported  %s at %s: step %.0f, %s steps/s with %s\n", plural(s.GetReports(), "report, the last", "reports, the last"),
			timeOf(r.GetUnixMillis()), r.GetStep(), perSecond(r.GetStepsPerSecond()), plural(r.GetWorkers(), "worker", "workers"))
	} else {
		fmt.Fprintf(w, "reported  nothing yet\n")
	}
	fmt.Fprintf(w, "decided   %s at %s: %s\n", d.GetKind(), timeOf(d.GetUnixMillis()), clean(d.GetReason()))
	if len(s.GetSpeeds()) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := newTable(">WORKERS", ">MINUTES", ">PUSHES/S", ">FITTED")
	for _, v := range s.GetSpeeds() {
		t.add(number(v.GetWorkers()), fmt.Sprintf("%.1f", v.GetMinutes()), perSecond(v.GetPushesPerSecond()), optional(v.Fitted, perSecond))
	}
	t.hideUnknown("FITTED").print(w, "")
}

type elasticExplainCmd struct {
	Job string `arg:"" help:"Name of the job." placeholder:"JOB"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticExplainCmd) Help() string {
	return `The decisions that changed something, the first one first (the last 100 are kept), and the last
look at the job that changed nothing.

Examples:

  karasu elastic explain cnn-7
  karasu elastic explain cnn-7 --json`
}

// Run shows every decision.
func (c elasticExplainCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.GetElasticJob(a.ctx, connect.NewRequest(&karasuv1.GetElasticJobRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		s := res.Msg.GetStatus()
		for i, d := range s.GetDecisions() {
			if i > 0 {
				fmt.Fprintln(w)
			}
			explainDecision(w, d)
		}
		if d := s.GetLastDecision(); d.GetKind() == "none" {
			fmt.Fprintf(w, "\nLast look, %s: no change, %s\n", timeOf(d.GetUnixMillis()), clean(d.GetReason()))
		}
	})
}

func explainDecision(w *bytes.Buffer, d *karasuv1.ElasticDecision) {
	fmt.Fprintf(w, "%d. %s, %s: %s\n", d.GetNumber(), d.GetKind(), timeOf(d.GetUnixMillis()), clean(d.GetReason()))
	if before := planText(d.GetBefore()); d.GetKind() != "start" {
		fmt.Fprintf(w, "   from %s\n", before)
	}
	fmt.Fprintf(w, "   to   %s\n", planText(d.GetPlan()))
	var evidence bytes.Buffer
	printEvidence(&evidence, d)
	for line := range strings.Lines(evidence.String()) {
		w.WriteString(" " + line)
	}
}
