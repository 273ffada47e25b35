package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type searchStatusCmd struct {
	jobFlag
	SVG   string `name:"svg" help:"Also draw the best value by run and the runs against each other to a file." placeholder:"FILE" type:"path"`
	Chart bool   `help:"Draw the best value by run and the runs against each other, whatever the search is for."`
	jsonFlag
}

// enoughForChart is how many runs a search needs for a chart that was not asked for.
const enoughForChart = 3

// Help implements kong's interface for examples.
func (searchStatusCmd) Help() string {
	return "Examples:\n\n  karasu search status --job nightly-pagerank\n  karasu search status --job nightly-pagerank --chart\n  karasu search status --job nightly-pagerank --svg search.svg"
}

// Run prints how a search stands.
func (c searchStatusCmd) Run(a *app) error {
	if c.SVG != "" {
		if err := canWrite("--svg", c.SVG); err != nil {
			return err
		}
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.GetSearch(a.ctx, connect.NewRequest(&karasuv1.GetSearchRequest{Job: c.Job}))
	if err != nil {
		return err
	}
	s := res.Msg.GetState()
	a.notePrices(s.GetSettings(), s.GetIncumbent(), s.GetNext().GetPrediction())
	if c.SVG != "" {
		if err := writeSVG(c.SVG, s); err != nil {
			return err
		}
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printSearch(w, s, c.Chart) })
}

func printSearch(w *bytes.Buffer, s *karasuv1.SearchState, charts bool) {
	settings := s.GetSettings()
	fmt.Fprintf(w, "Search %s (%s): %s over %s%s\n\n", clean(settings.GetWorkload().GetJob()), topicOf(settings.GetWorkload()),
		describeGoal(settings), counted(s.GetCandidates(), "configuration"), describeMethod(settings))
	printStanding(w, s)
	printSuggestion(w, settings.GetWorkload().GetJob(), s.GetNext(), standingOf(s))
	fmt.Fprintln(w)
	printSteps(w, s)
	height := smallChart
	if charts {
		height = largeChart
	}
	wanted := len(s.GetSteps()) >= enoughForChart && !several(settings.GetObjective())
	if chart := bestChart(s, height); chart != "" && (charts || wanted) {
		fmt.Fprintf(w, "\n%s\n", chart)
	}
	if charts || several(settings.GetObjective()) {
		printFront(w, s)
	}
	printWeights(w, s.GetWeights())
}

// printStanding says what is best so far, what is under way and whether to go on.
func printStanding(w *bytes.Buffer, s *karasuv1.SearchState) {
	switch {
	case several(s.GetSettings().GetObjective()):
		if n := len(s.GetFront()); n > 0 {
			fmt.Fprintf(w, "Front: %d of %s, none of which another beats in all of %s\n", n, counted(len(s.GetSteps()), "run"),
				strings.ReplaceAll(s.GetSettings().GetObjective(), ",", ", "))
		}
	case s.GetIncumbent() != nil:
		config, value := bestStep(s)
		if config == unknown {
			config = configuration(s.GetIncumbent().GetConfiguration())
		}
		fmt.Fprintf(w, "Incumbent: %s at %s\n", config, value)
	}
	if s.GetHint() != "" {
		fmt.Fprintf(w, "So far %s.\n", clean(s.GetHint()))
	}
	if claims := s.GetClaims(); len(claims) > 0 {
		names := make([]string, len(claims))
		for i, c := range claims {
			names[i] = configuration(c)
		}
		fmt.Fprintf(w, "Under way: %s\n", strings.Join(names, ", "))
	}
	if !s.GetNext().GetStop() {
		fmt.Fprintln(w, verdict(s.GetNext()))
	}
}

func printSteps(w *bytes.Buffer, s *karasuv1.SearchState) {
	settings := s.GetSettings()
	if several(settings.GetObjective()) {
		printFrontSteps(w, s)
		return
	}
	name := primary(settings.GetObjective())
	columns := []string{">RUN", "CONFIGURATION", ">RUNTIME", "OUTCOME", ">" + strings.ToUpper(name), ">BEST"}
	t := newTable(columns...)
	print := func(v float64) string { return objective(name, v) }
	for i, step := range s.GetSteps() {
		t.add(fmt.Sprint(i+1), configuration(step.GetRun().GetConfiguration()), seconds(step.GetRun().GetRuntimeSeconds()),
			stepOutcome(settings, step), optional(step.Objective, print), optional(step.Best, print))
	}
	t.print(w, "No run has been reported yet.")
}

// printFrontSteps lists the runs of a Pareto search with all of its objectives.
func printFrontSteps(w *bytes.Buffer, s *karasuv1.SearchState) {
	names := strings.Split(s.GetSettings().GetObjective(), ",")
	columns := []string{">RUN", "CONFIGURATION", ">RUNTIME", "OUTCOME"}
	for _, name := range names {
		if name != "runtime" {
			columns = append(columns, ">"+strings.ToUpper(name))
		}
	}
	t := newTable(append(columns, "FRONT")...)
	for i, step := range s.GetSteps() {
		cells := []string{fmt.Sprint(i + 1), configuration(step.GetRun().GetConfiguration()), seconds(step.GetRun().GetRuntimeSeconds()), stepOutcome(s.GetSettings(), step)}
		for _, name := range names {
			if name != "runtime" {
				v, known := valueOf(name, step)
				cell := unknown
				if known {
					cell = objective(name, v)
				}
				cells = append(cells, cell)
			}
		}
		mark := ""
		if onFront(s, step) {
			mark = string(markFront)
		}
		t.add(append(cells, mark)...)
	}
	t.print(w, "No run has been reported yet.")
}
