package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// duration is a time in seconds: 15m, 13m20s, 900s or 900.
type duration float64

// UnmarshalText implements [encoding.TextUnmarshaler]. Zero, negative and infinite
// times are errors: leaving the flag out is how to say "none".
func (d *duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t, e := time.ParseDuration(s)
		if e != nil {
			return fmt.Errorf("must be a time such as 15m, 13m20s or 900 (seconds): %q", s)
		}
		v = t.Seconds()
	}
	if err := model.ValidateSeconds("time", v); err != nil {
		var field *model.FieldError
		if errors.As(err, &field) {
			return errors.New(field.Problem)
		}
		return err
	}
	*d = duration(v)
	return nil
}

func (d *duration) seconds() float64 {
	if d == nil {
		return 0
	}
	return float64(*d)
}

// byteSize is a size in bytes: 20GB (10^9), 20GiB (2^30) or 20000000000.
type byteSize float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *byteSize) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	v, err := humanize.ParseBytes(s)
	if err != nil {
		return fmt.Errorf("must be a size such as 20GB, 20GiB or a number of bytes: %q", s)
	}
	if v == 0 || v > model.MaxInputBytes {
		return fmt.Errorf("must be between 1 byte and 1 EiB, or left out where unknown: %q", s)
	}
	*b = byteSize(v)
	return nil
}

// workloadFlags describe a workload to the daemon.
type workloadFlags struct {
	Infrastructure string   `help:"Where it runs, such as aws-ec2. Public, part of the topic." placeholder:"SLUG"`
	Framework      string   `help:"Such as spark. Public, part of the topic." placeholder:"SLUG" required:""`
	Algorithm      string   `help:"Such as pagerank. Public, part of the topic." placeholder:"SLUG" required:""`
	Dataset        string   `help:"Your own name of the input. It never leaves."`
	Input          byteSize `help:"Size of the input: 20GB, 20GiB or bytes." placeholder:"SIZE"`
	argumentFlags
}

func (f workloadFlags) message(job string) *karasuv1.Workload {
	return &karasuv1.Workload{
		Infrastructure: f.Infrastructure, Framework: f.Framework, Algorithm: f.Algorithm,
		Job: job, Dataset: f.Dataset, InputBytes: float64(f.Input), Arguments: f.arguments(),
	}
}

// settingsFlags are what a search and a recommendation have in common.
type settingsFlags struct {
	Target       *duration `help:"Longest runtime that is acceptable: 15m, 900s or 900. Without it there is none." placeholder:"TIME"`
	Budget       usd       `help:"Most that one run may cost, in USD." placeholder:"USD"`
	Confidence   share     `help:"How sure an answer must be to keep to target and budget: 0.95 or 95%. Without it a run that kept to them will do." placeholder:"SHARE"`
	Objective    goals     `help:"What to minimise: cost (USD a run, from the catalog's prices), runtime, energy (Wh) or carbon (g CO2e); two or three of them, such as cost,runtime, for their Pareto front. Default: cost." words:"cost,runtime,energy,carbon" default:"cost"`
	Region       string    `help:"Whose grid carbon is counted for, such as eu-west-1. Default: by infrastructure, us-east-1 for AWS." placeholder:"NAME"`
	Method       string    `help:"evidence: own and others' runs, weighted by how well they explain the job's (the default). karasu: the published ensemble, weighted by ranking; karasu-trees: the same with trees that use what runs were busy with. cherrypick, arrow: both with the job's own runs only. random: a baseline." words:"evidence,karasu,karasu-trees,cherrypick,arrow,random" placeholder:"NAME"`
	Solo         bool      `help:"Use no peer's knowledge."`
	Seed         uint64    `help:"Seed of whatever is random." placeholder:"N"`
	MachineTypes []string  `help:"Candidates, such as m4.large,m4.xlarge. Default: the infrastructure's." placeholder:"NAMES"`
	ScaleOuts    []uint32  `help:"Numbers of nodes, such as 4,8,16. Default: 2 to 32." placeholder:"NODES"`
	Configs      string    `help:"Exactly these candidates: a list such as 4xm4.large,8xm4.large, or a file with one a line (- is standard input)." placeholder:"LIST|FILE"`
}

func (f settingsFlags) message(a *app, w *karasuv1.Workload) (*karasuv1.SearchSettings, error) {
	s := &karasuv1.SearchSettings{
		Workload: w, TargetSeconds: f.Target.seconds(), Objective: string(f.Objective), Method: f.Method,
		BudgetUsd: float64(f.Budget), Confidence: float64(f.Confidence), Region: f.Region,
		Solo: f.Solo, Seed: f.Seed, MachineTypes: f.MachineTypes, ScaleOuts: f.ScaleOuts,
	}
	for _, n := range f.ScaleOuts {
		if n < 1 || n > model.MaxScaleOut {
			return nil, usagef("--scale-outs: must be between 1 and %d nodes: %d", model.MaxScaleOut, n)
		}
	}
	if f.Configs == "" {
		return s, nil
	}
	if len(f.MachineTypes)+len(f.ScaleOuts) > 0 {
		return nil, usagef("--configs excludes --machine-types and --scale-outs")
	}
	configurations, err := readConfigurations(a, f.Configs)
	s.Configurations = configurations
	return s, err
}

// configFlag is one configuration, such as 8xm4.xlarge.
type configFlag struct{ model.Configuration }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *configFlag) UnmarshalText(text []byte) (err error) {
	c.Configuration, err = model.ParseConfiguration(string(text))
	return err
}

func (c configFlag) message() *karasuv1.Configuration {
	return &karasuv1.Configuration{MachineType: c.MachineType, ScaleOut: uint32(min(c.ScaleOut, math.MaxInt32))}
}
