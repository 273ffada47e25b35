package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type searchStartCmd struct {
	jobFlag
	workloadFlags
	settingsFlags
	jsonFlag
}

// Help implements kong's interface for examples.
func (searchStartCmd) Help() string {
	return `Stored runs of the same job count as its first steps.

Examples:

  karasu search start --job nightly-pagerank --infrastructure aws-ec2 \
      --framework spark --algorithm pagerank --input 20GB --target 15m
  karasu search start --job etl --infrastructure aws-emr --framework spark \
      --algorithm join --machine-types m5.xlarge,r5.xlarge --scale-outs 4,8,16
  karasu search start --job etl --infrastructure lab --framework flink \
      --algorithm wordcount --configs candidates.txt --objective runtime
  karasu search start --job etl --infrastructure aws-emr --framework spark \
      --algorithm join --target 15m --confidence 95% --budget 2.50
  karasu search start --job etl --infrastructure aws-emr --framework spark \
      --algorithm join --objective cost,carbon --region eu-west-1`
}

// Run starts a search and prints its first suggestion.
func (c searchStartCmd) Run(a *app) error {
	if c.Infrastructure == "" {
		return usagef("--infrastructure is missing, such as aws-ec2, aws-emr, gcp or a name of your catalog file")
	}
	settings, err := c.settingsFlags.message(a, c.workloadFlags.message(c.Job))
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.StartSearch(a.ctx, connect.NewRequest(&karasuv1.StartSearchRequest{Settings: settings}))
	if err != nil {
		return err
	}
	s := res.Msg.GetState()
	a.notePrices(s.GetSettings(), s.GetNext().GetPrediction())
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "Search %s: %s over %s%s.\n", clean(c.Job), describeGoal(s.GetSettings()),
			counted(s.GetCandidates(), "configuration"), describeMethod(s.GetSettings()))
		if n := len(s.GetSteps()); n > 0 {
			fmt.Fprintf(w, "%s of this job known before count as its first steps.\n", counted(n, "run"))
		}
		fmt.Fprintln(w)
		printSuggestion(w, c.Job, s.GetNext(), standingOf(s))
	})
}

// describeGoal is "lowest cost within 15m0s and $2.50, 95% sure".
func describeGoal(s *karasuv1.SearchSettings) string {
	goal := "lowest " + cmp.Or(s.GetObjective(), "cost")
	if several(s.GetObjective()) {
		goal = "Pareto front of " + listed(strings.Split(s.GetObjective(), ","))
	}
	var limits []string
	if s.GetTargetSeconds() > 0 {
		limits = append(limits, seconds(s.GetTargetSeconds()))
	}
	if s.GetBudgetUsd() > 0 {
		limits = append(limits, dollars(s.GetBudgetUsd()))
	}
	if len(limits) > 0 {
		goal += " within " + strings.Join(limits, " and ")
	}
	if s.GetConfidence() > 0 {
		goal += fmt.Sprintf(", %.10g%% sure", 100*s.GetConfidence())
	}
	return goal
}

func describeMethod(s *karasuv1.SearchSettings) string {
	text := ", method " + s.GetMethod()
	if s.GetSolo() {
		text += ", alone"
	}
	return text
}
