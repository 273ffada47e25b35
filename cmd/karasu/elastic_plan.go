package main

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type elasticPlanCmd struct {
	Job            string   `help:"Your own name of the job. It never leaves." placeholder:"NAME"`
	Start          bool     `help:"Keep the job, which will report; needs --job. Without it the plan is only shown."`
	Infrastructure string   `help:"Where it runs, such as aws-ec2. Public, part of the topic." placeholder:"SLUG" required:""`
	Framework      string   `help:"Such as tensorflow. Public, part of the topic." placeholder:"SLUG" required:""`
	Algorithm      string   `help:"The training model, such as cnn. Public, part of the topic." placeholder:"SLUG" required:""`
	Mode           string   `help:"sync or async: parameter servers; allreduce: none." words:"sync,async,allreduce" placeholder:"NAME" required:""`
	MachineType    string   `help:"Of the workers, such as t2.2xlarge." placeholder:"NAME"`
	Batch          replicas `help:"Samples of a worker's step." placeholder:"N"`
	GlobalBatch    count    `help:"Samples of all workers' step together, kept however many they are." placeholder:"N"`
	Steps          count    `help:"Length of the job in global steps." placeholder:"N"`
	Samples        count    `help:"Length of the job in samples: 5e6." placeholder:"N"`
	Workers        replicas `help:"Workers that run already. Without it the daemon chooses." placeholder:"N"`
	WorkerCPU      cores    `name:"worker-cpu" help:"Cores of a worker." placeholder:"CORES"`
	WorkerMemory   byteSize `help:"Memory of a worker: 8GiB." placeholder:"SIZE"`
	Servers        replicas `help:"Parameter servers that run already." placeholder:"N"`
	ServerCPU      cores    `name:"server-cpu" help:"Cores of a parameter server." placeholder:"CORES"`
	ServerMemory   byteSize `help:"Memory of a parameter server." placeholder:"SIZE"`
	MinWorkers     replicas `help:"Fewest workers." placeholder:"N"`
	MaxWorkers     replicas `help:"Most workers." placeholder:"N"`
	WorkerMultiple replicas `help:"Workers come in gangs of so many." placeholder:"N"`
	MaxServers     replicas `help:"Most parameter servers. Default: 16." placeholder:"N"`
	MaxPodCPU      cores    `name:"max-pod-cpu" help:"Most cores of one pod." placeholder:"CORES"`
	MaxPodMemory   byteSize `help:"Most memory of one pod." placeholder:"SIZE"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticPlanCmd) Help() string {
	return `From own jobs of the training model that have finished, else from peers' jobs, else safe
defaults: the answer says which. With --start the daemon keeps the job and decides again as
it reports.

Examples:

  karasu elastic plan --infrastructure aws-ec2 --framework tensorflow --algorithm cnn --mode async
  karasu elastic plan --job bert-3 --start --infrastructure on-prem --framework pytorch --algorithm bert \
      --mode allreduce --global-batch 512 --steps 20000 --worker-cpu 8 --max-workers 32
  karasu elastic plan --infrastructure aws-ec2 --framework tensorflow --algorithm cnn --mode sync --json`
}

func (c elasticPlanCmd) message() *karasuv1.ElasticJob {
	return &karasuv1.ElasticJob{
		Id: c.Job, Infrastructure: c.Infrastructure, Framework: c.Framework, Algorithm: c.Algorithm, MachineType: c.MachineType, Mode: c.Mode,
		Batch: uint32(c.Batch), GlobalBatch: uint32(c.GlobalBatch), TotalSteps: float64(c.Steps), TotalSamples: float64(c.Samples),
		Bounds: &karasuv1.ElasticBounds{
			MinWorkers: uint32(c.MinWorkers), MaxWorkers: uint32(c.MaxWorkers), WorkerMultiple: uint32(c.WorkerMultiple),
			MaxServers: uint32(c.MaxServers), MaxPodCpu: float64(c.MaxPodCPU), MaxPodMemoryBytes: float64(c.MaxPodMemory),
		},
		Current: &karasuv1.ElasticPlan{
			Workers: &karasuv1.ElasticGroup{Replicas: uint32(c.Workers), Pod: &karasuv1.ElasticResources{Cpu: float64(c.WorkerCPU), MemoryBytes: float64(c.WorkerMemory)}},
			Servers: &karasuv1.ElasticGroup{Replicas: uint32(c.Servers), Pod: &karasuv1.ElasticResources{Cpu: float64(c.ServerCPU), MemoryBytes: float64(c.ServerMemory)}},
		},
	}
}

// Run asks for a plan.
func (c elasticPlanCmd) Run(a *app) error {
	if c.Start && c.Job == "" {
		return usagef("--start needs a name for the job: --job NAME")
	}
	if c.GlobalBatch > 1<<31-1 {
		return usagef("--global-batch must be below 2^31: %.0f", float64(c.GlobalBatch))
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.PlanElasticJob(a.ctx, connect.NewRequest(&karasuv1.PlanElasticJobRequest{Job: c.message(), Start: c.Start}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		printDecision(w, res.Msg.GetDecision())
		printEvidence(w, res.Msg.GetDecision())
		printCaveats(w, res.Msg.GetNotes(), nil)
		if c.Start {
			fmt.Fprintf(w, "\nThe job is kept; next: karasu elastic report --job %s --step N --speed STEPS_PER_SECOND --workers N\n", shellWord(c.Job))
		}
	})
}

type elasticFinishCmd struct {
	Job string `arg:"" help:"Name of the job."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticFinishCmd) Help() string {
	return `Example:

  karasu elastic finish cnn-7`
}

// Run ends a job.
func (c elasticFinishCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.FinishElasticJob(a.ctx, connect.NewRequest(&karasuv1.FinishElasticJobRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		learned := "it reported nothing to learn from"
		if n := res.Msg.GetReports(); n > 0 {
			learned = "later jobs learn from " + plural(n, "report", "reports")
		}
		fmt.Fprintf(w, "finished %s; %s\n", clean(c.Job), learned)
	})
}
