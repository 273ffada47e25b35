package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// smallShare of the weight is not listed on a line of its own.
const smallShare = 0.005

// standing is what a suggestion is explained by: how the search stands. The zero value
// compares it with nothing.
type standing struct {
	settings *karasuv1.SearchSettings
	// best objective of a valid run, and the run's configuration as predicted.
	best      *float64
	incumbent *karasuv1.Prediction
}

func standingOf(s *karasuv1.SearchState) standing {
	out := standing{settings: s.GetSettings(), incumbent: s.GetIncumbent()}
	if n := len(s.GetSteps()); n > 0 {
		out.best = s.GetSteps()[n-1].Best
	}
	return out
}

// printSuggestion says what to try next, why, and whether to go on at all.
func printSuggestion(w *bytes.Buffer, job string, s *karasuv1.Suggestion, at standing) {
	if s.GetExhausted() || s.GetPrediction() == nil {
		fmt.Fprintf(w, "Next: nothing, %s.\n", clean(s.GetReason()))
		printNotes(w, s)
		return
	}
	if s.GetStop() {
		fmt.Fprintf(w, "%s To go on anyway:\n", verdict(s))
	}
	p := s.GetPrediction()
	fmt.Fprintf(w, "Next: %s\n", configuration(p.GetConfiguration()))
	fmt.Fprintf(w, "  runtime  %s (80%%: %s to %s)\n", seconds(p.GetRuntimeSeconds()), seconds(p.GetRuntimeLowSeconds()), seconds(p.GetRuntimeHighSeconds()))
	if p.CostUsd != nil {
		fmt.Fprintf(w, "  cost     %s\n", interval(p, p.CostUsd, dollars))
	} else {
		fmt.Fprintln(w, "  cost     unknown, the catalog has no price")
	}
	if p.EnergyWh != nil {
		fmt.Fprintf(w, "  energy   %s\n", interval(p, p.EnergyWh, energy))
	}
	if p.CarbonG != nil {
		fmt.Fprintf(w, "  carbon   %s\n", interval(p, p.CarbonG, carbonEquivalent))
	}
	if p.ProbabilityOfMeetingTarget != nil {
		fmt.Fprintf(w, "  %-8s %s likely to be met\n", limitsOf(at.settings), chance(p.GetProbabilityOfMeetingTarget()))
	}
	if t := s.GetStopAfterSeconds(); t > 0 {
		why := ""
		// Only then is it the largest acquisition that made it the suggestion.
		if at.incumbent != nil && s.GetAdvice() != search.InitialDesign {
			why = "; its gain times its chance is still the largest of all candidates"
		}
		fmt.Fprintf(w, "  stop     at %s and report --timeout%s\n", seconds(t), why)
	}
	if saving := expectedSaving(s, at); saving != "" {
		fmt.Fprintf(w, "  saves    %s, by expectation\n", saving)
	}
	if s.GetReason() != "" {
		fmt.Fprintf(w, "  why      %s\n", clean(s.GetReason()))
	}
	if !s.GetLevelKnown() {
		fmt.Fprintf(w, "  note     nothing says yet how long this job takes: the figures are guesses%s\n", aroundTarget(at.settings))
	}
	printNotes(w, s)
	if !several(at.settings.GetObjective()) {
		printAlternative(w, "best    ", at.incumbent, p)
	}
	printAlternative(w, "or      ", s.GetRunnerUp(), p)
	if alone := s.GetWithoutOthers(); alone != nil && configuration(alone.GetConfiguration()) == configuration(p.GetConfiguration()) {
		fmt.Fprintln(w, "  alone    the same, without what is known of other workloads")
	} else {
		printAlternative(w, "alone   ", alone, p)
	}
	fmt.Fprintf(w, "Then: karasu search report --job %s --config %s --runtime TIME (or --failed, --timeout)\n",
		shellWord(job), configuration(p.GetConfiguration()))
}

// printNotes says what else is to be known of a search.
func printNotes(w *bytes.Buffer, s *karasuv1.Suggestion) {
	for _, note := range s.GetNotes() {
		fmt.Fprintf(w, "  note     %s\n", clean(note))
	}
}

// interval prints a predicted value that is proportional to the runtime, and its 80%
// interval.
func interval(p *karasuv1.Prediction, v *float64, print func(float64) string) string {
	if v == nil {
		return unknown
	}
	text := print(*v)
	if t := p.GetRuntimeSeconds(); t > 0 {
		text += fmt.Sprintf(" (80%%: %s to %s)", print(*v*p.GetRuntimeLowSeconds()/t), print(*v*p.GetRuntimeHighSeconds()/t))
	}
	return text
}

func carbonEquivalent(g float64) string { return carbon(g) + " CO2e" }

// limitsOf names what a run must keep to: target, budget, or both.
func limitsOf(s *karasuv1.SearchSettings) string {
	switch {
	case s.GetTargetSeconds() > 0 && s.GetBudgetUsd() == 0:
		return "target"
	case s.GetBudgetUsd() > 0 && s.GetTargetSeconds() == 0:
		return "budget"
	}
	return "limits"
}

// aroundTarget is where guesses of a runtime come from.
func aroundTarget(s *karasuv1.SearchSettings) string {
	if s.GetTargetSeconds() > 0 {
		return " around the target"
	}
	return ""
}

// expectedSaving is what one more run is expected to save on every run after it, in the
// objective's unit: "about $0.12 a run (6%)". "" before a valid run, and for several
// objectives, where no one number says it.
func expectedSaving(s *karasuv1.Suggestion, at standing) string {
	if at.best == nil || at.incumbent == nil || several(at.settings.GetObjective()) {
		return ""
	}
	share := -math.Expm1(-s.GetExpectedImprovement())
	if share < 0.0005 {
		return "next to nothing"
	}
	return fmt.Sprintf("about %s a run (%s)", objective(primary(at.settings.GetObjective()), *at.best*share), percent(share))
}

// printAlternative shows another configuration beside the suggestion, in one line.
func printAlternative(w *bytes.Buffer, label string, other, than *karasuv1.Prediction) {
	if other != nil {
		fmt.Fprintf(w, "  %s %s\n", label, beside(other, than))
	}
}

// beside compares a configuration with another one: "8xm4.large: runtime x 0.90, cost x
// 1.02, 80% likely".
func beside(other, than *karasuv1.Prediction) string {
	text := configuration(other.GetConfiguration()) + ": runtime " + times(other.GetRuntimeSeconds()/than.GetRuntimeSeconds())
	if other.CostUsd != nil && than.GetCostUsd() > 0 {
		text += ", cost " + times(other.GetCostUsd()/than.GetCostUsd())
	}
	if other.EnergyWh != nil && than.GetEnergyWh() > 0 {
		text += ", energy " + times(other.GetEnergyWh()/than.GetEnergyWh())
	}
	if other.ProbabilityOfMeetingTarget != nil {
		text += fmt.Sprintf(", %s likely within limits", chance(other.GetProbabilityOfMeetingTarget()))
	}
	return text
}

// verdict says whether one more run is worth it.
func verdict(s *karasuv1.Suggestion) string {
	switch {
	case s.GetExhausted() && !s.GetStop():
		return "Wait: " + clean(s.GetReason()) + "."
	case s.GetExhausted():
		return "Stop: every configuration has been tried."
	case s.GetStop() && s.GetAdvice() != "":
		return "Stop: " + clean(strings.TrimSuffix(s.GetAdvice(), ".")) + "."
	case s.GetStop():
		return "Stop: one more run is not expected to pay."
	}
	if s.GetAdvice() != "" {
		return "Go on: " + clean(strings.TrimSuffix(s.GetAdvice(), ".")) + "."
	}
	return "Go on: one more run is expected to pay."
}

// printWeights says whose knowledge a prediction rests on.
func printWeights(w *bytes.Buffer, weights []*karasuv1.Weight) {
	if len(weights) == 0 {
		return
	}
	t := newTable(">WEIGHT", "FROM", "ORGANISATION", "TOPIC", "WORKLOAD")
	rest, small := 0.0, 0
	for _, x := range weights {
		if x.GetShare() < smallShare {
			rest += x.GetShare()
			small++
			continue
		}
		t.add(percent(x.GetShare()), x.GetOrigin(), dash(x.GetOrganisation()), dash(strings.TrimPrefix(x.GetTopic(), "/karasu/1/")), dash(short(x.GetWorkload())))
	}
	if small > 0 {
		t.add(percent(rest), counted(small, "other"), unknown, unknown, unknown)
	}
	fmt.Fprintln(w)
	t.print(w, "")
}

func dash(s string) string {
	if s == "" {
		return unknown
	}
	return s
}

// short keeps the beginning of a pseudonym: enough to tell two apart.
func short(s string) string { return s[:min(len(s), 8)] }
