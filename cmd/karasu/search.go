package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type searchCmd struct {
	Start  searchStartCmd  `cmd:"" help:"Begin a search for a job's configuration."`
	Next   searchNextCmd   `cmd:"" help:"Which configuration to try next, and why."`
	Report searchReportCmd `cmd:"" help:"Report how a profiling run ended."`
	Status searchStatusCmd `cmd:"" help:"How a search stands."`
	List   searchListCmd   `cmd:"" help:"All searches."`
	Delete searchDeleteCmd `cmd:"" help:"Forget a search; its runs stay."`
}

// jobFlag names a search.
type jobFlag struct {
	Job string `help:"Your own name of the job. It never leaves." placeholder:"NAME" required:""`
}

type searchNextCmd struct {
	jobFlag
	Claim bool `help:"Take it: until it is reported or given up (search report --abandon), others are suggested. For runs side by side."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (searchNextCmd) Help() string {
	return "Examples:\n\n  karasu search next --job nightly-pagerank\n  karasu search next --job nightly-pagerank --claim"
}

// Run asks the daemon for the next configuration.
func (c searchNextCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.NextConfiguration(a.ctx, connect.NewRequest(&karasuv1.NextConfigurationRequest{Job: c.Job, Claim: c.Claim}))
	if err != nil {
		return err
	}
	if c.JSON {
		return c.show(a, res.Msg, nil)
	}
	// What it is compared with. The daemon keeps what it has computed.
	state, err := client.GetSearch(a.ctx, connect.NewRequest(&karasuv1.GetSearchRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		printSuggestion(w, c.Job, res.Msg.GetSuggestion(), standingOf(state.Msg.GetState()))
		if p := res.Msg.GetSuggestion().GetPrediction(); c.Claim && p != nil {
			config := configuration(p.GetConfiguration())
			fmt.Fprintf(w, "Claimed: %s is not suggested again. To give it up: karasu search report --job %s --config %s --abandon\n", config, shellWord(c.Job), config)
		}
	})
}

type searchListCmd struct{ jsonFlag }

// Run lists searches.
func (c searchListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListSearches(a.ctx, connect.NewRequest(&karasuv1.ListSearchesRequest{}))
	if err != nil {
		return err
	}
	// What is not predicted, and candidates by the thousand, whose number is there.
	left := []string{"incumbent", "weights", "next", "front", "hint", "settings.configurations"}
	return c.showWithout(a, res.Msg, "searches", left, func(w *bytes.Buffer) {
		t := newTable("JOB", "TOPIC", "OBJECTIVE", ">TARGET", ">BUDGET", ">RUNS", ">CANDIDATES", "BEST", ">VALUE")
		for _, s := range res.Msg.GetSearches() {
			best, value := bestStep(s)
			if several(s.GetSettings().GetObjective()) {
				best, value = bestOfSeveral(s)
			}
			budget := unknown
			if v := s.GetSettings().GetBudgetUsd(); v > 0 {
				budget = dollars(v)
			}
			t.add(tableName(s.GetSettings().GetWorkload().GetJob()), topicOf(s.GetSettings().GetWorkload()), s.GetSettings().GetObjective(),
				seconds(s.GetSettings().GetTargetSeconds()), budget, fmt.Sprint(len(s.GetSteps())), number(s.GetCandidates()), best, value)
		}
		t.hideUnknown("TARGET", "BUDGET").print(w, "No searches. Begin one with: karasu search start")
		for _, s := range res.Msg.GetSearches() {
			if s.GetProblem() != "" {
				fmt.Fprintf(w, "%s: %s\n", tableName(s.GetSettings().GetWorkload().GetJob()), clean(s.GetProblem()))
			}
		}
	})
}

func topicOf(w *karasuv1.Workload) string {
	return w.GetInfrastructure() + "/" + w.GetFramework() + "/" + w.GetAlgorithm()
}

// bestStep returns the configuration and the value of the best valid run.
func bestStep(s *karasuv1.SearchState) (config, value string) {
	config, value = unknown, unknown
	for _, step := range s.GetSteps() {
		if step.GetValid() && !step.GetOutside() && step.Objective != nil && step.Best != nil && step.GetObjective() == step.GetBest() {
			config = configuration(step.GetRun().GetConfiguration())
			value = objective(primary(s.GetSettings().GetObjective()), step.GetBest())
		}
	}
	return config, value
}

// bestOfSeveral says how many runs are on the front and what the best of each objective
// among the valid runs is: no one run need have them all.
func bestOfSeveral(s *karasuv1.SearchState) (config, value string) {
	names := strings.Split(s.GetSettings().GetObjective(), ",")
	var points [][]float64
	for _, step := range s.GetSteps() {
		var point []float64
		for _, name := range names {
			if v, known := valueOf(name, step); known {
				point = append(point, v)
			}
		}
		if step.GetValid() && !step.GetOutside() && len(point) == len(names) {
			points = append(points, point)
		}
	}
	if len(points) == 0 {
		return unknown, unknown
	}
	least := make([]string, len(names))
	for k, name := range names {
		v := points[0][k]
		for _, p := range points {
			v = min(v, p[k])
		}
		least[k] = objective(name, v)
	}
	return fmt.Sprintf("%d on the front", len(search.NonDominated(points))), strings.Join(least, ", ")
}

type searchDeleteCmd struct {
	jobFlag
	JSON bool `name:"json" help:"Print JSON."`
}

// Run deletes a search.
func (c searchDeleteCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	if _, err := client.DeleteSearch(a.ctx, connect.NewRequest(&karasuv1.DeleteSearchRequest{Job: c.Job})); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, map[string]string{"deleted": c.Job})
	}
	_, err = fmt.Fprintf(a.stdout, "Search %s is forgotten; its runs stay.\n", clean(c.Job))
	return err
}
