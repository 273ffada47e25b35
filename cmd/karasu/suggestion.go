package main

import (
	"bytes"
	"fmt"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// smallShare of the weight is not listed on a line of its own.
const smallShare = 0.005

// printSuggestion says what to try next, why, and whether to go on at all.
func printSuggestion(w *bytes.Buffer, job string, s *karasuv1.Suggestion) {
	if s.GetExhausted() || s.GetPrediction() == nil {
		fmt.Fprintf(w, "Next: nothing, %s.\n", clean(s.GetReason()))
		return
	}
	if s.GetStop() {
		fmt.Fprintf(w, "%s To go on anyway:\n", verdict(s))
	}
	p := s.GetPrediction()
	fmt.Fprintf(w, "Next: %s\n", configuration(p.GetConfiguration()))
	fmt.Fprintf(w, "  runtime  %s (80%%: %s to %s)\n", seconds(p.GetRuntimeSeconds()), seconds(p.GetRuntimeLowSeconds()), seconds(p.GetRuntimeHighSeconds()))
	if p.CostUsd != nil {
		fmt.Fprintf(w, "  cost     %s (80%%: %s to %s)\n", dollars(p.GetCostUsd()), optional(p.CostLowUsd, dollars), optional(p.CostHighUsd, dollars))
	} else {
		fmt.Fprintln(w, "  cost     unknown, the catalog has no price")
	}
	if p.EnergyWh != nil {
		fmt.Fprintf(w, "  energy   %s\n", energy(p.GetEnergyWh()))
	}
	if p.CarbonG != nil {
		fmt.Fprintf(w, "  carbon   %s CO2e\n", carbon(p.GetCarbonG()))
	}
	if p.ProbabilityOfMeetingTarget != nil {
		fmt.Fprintf(w, "  target   %s likely to be met\n", percent(p.GetProbabilityOfMeetingTarget()))
	}
	if t := s.GetStopAfterSeconds(); t > 0 {
		fmt.Fprintf(w, "  stop     at %s and report --timeout; its gain times its chance is still the largest of all candidates\n", seconds(t))
	}
	if s.GetReason() != "" {
		fmt.Fprintf(w, "  why      %s\n", clean(s.GetReason()))
	}
	if !s.GetLevelKnown() {
		fmt.Fprintln(w, "  note     nothing says yet how long this job takes: the figures are guesses around the target")
	}
	printAlternative(w, "or      ", s.GetRunnerUp(), p)
	if alone := s.GetWithoutOthers(); alone != nil && configuration(alone.GetConfiguration()) != configuration(p.GetConfiguration()) {
		printAlternative(w, "alone   ", alone, p)
	}
	fmt.Fprintf(w, "Then: karasu search report --job %s --config %s --runtime TIME (or --failed, --timeout)\n",
		shellWord(job), configuration(p.GetConfiguration()))
}

// printAlternative shows another configuration beside the suggestion, in one line.
func printAlternative(w *bytes.Buffer, label string, other, than *karasuv1.Prediction) {
	if other == nil {
		return
	}
	fmt.Fprintf(w, "  %s %s: runtime x %.2f", label, configuration(other.GetConfiguration()), other.GetRuntimeSeconds()/than.GetRuntimeSeconds())
	if other.CostUsd != nil && than.CostUsd != nil {
		fmt.Fprintf(w, ", cost x %.2f", other.GetCostUsd()/than.GetCostUsd())
	}
	fmt.Fprintln(w)
}

// verdict says whether one more run is worth it.
func verdict(s *karasuv1.Suggestion) string {
	switch {
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

// shellWord quotes a name where a shell would take it apart.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(clean(s), "'", `'\''`) + "'"
}
