package main

import (
	"bytes"
	"fmt"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// printReasons compares the first recommendation with the others and says what one more
// run would be worth.
func printReasons(w *bytes.Buffer, settings *karasuv1.SearchSettings, r *karasuv1.RecommendResponse) {
	if len(r.GetPredictions()) == 0 {
		return
	}
	first := r.GetPredictions()[0]
	var b bytes.Buffer
	if r.GetLevelKnown() {
		fmt.Fprintf(&b, "  %-14s %s: %s", "first", configuration(first.GetConfiguration()), objective("runtime", first.GetRuntimeSeconds()))
		for _, v := range []struct {
			value *float64
			print func(float64) string
		}{{first.CostUsd, dollars}, {first.EnergyWh, energy}, {first.CarbonG, carbonEquivalent}} {
			if v.value != nil {
				fmt.Fprintf(&b, ", %s", interval(first, v.value, v.print))
			}
		}
		fmt.Fprintln(&b)
	}
	if len(r.GetPredictions()) > 1 {
		fmt.Fprintf(&b, "  %-14s %s\n", "runner-up", beside(r.GetPredictions()[1], first))
	}
	if now := r.GetCurrent(); now != nil {
		fmt.Fprintf(&b, "  %-14s %s%s\n", "now", beside(now, first), savingOver(now, first, primary(settings.GetObjective()), r.GetLevelKnown()))
	}
	if alone := r.GetWithoutOthers(); alone != nil {
		if configuration(alone.GetConfiguration()) == configuration(first.GetConfiguration()) {
			fmt.Fprintf(&b, "  %-14s the same, without what is known of other workloads\n", "alone")
		} else {
			fmt.Fprintf(&b, "  %-14s %s\n", "alone", beside(alone, first))
		}
	}
	if next := r.GetNext(); next.GetPrediction() != nil {
		at := standing{settings: settings, best: r.Best, incumbent: first}
		text := configuration(next.GetPrediction().GetConfiguration())
		if saving := expectedSaving(next, at); saving != "" {
			text += " is expected to save " + saving
		}
		fmt.Fprintf(&b, "  %-14s %s. %s\n", "one more run", text, verdict(next))
	}
	if b.Len() > 0 {
		fmt.Fprintf(w, "\n%s", b.String())
	}
}

// savingOver is what the first recommendation saves over what is used today, in the
// objective's unit.
func savingOver(now, first *karasuv1.Prediction, name string, levelKnown bool) string {
	a, b := predictedValue(now, name), predictedValue(first, name)
	if a == nil || b == nil || !levelKnown || !(*a > 0) {
		return ""
	}
	if *b > *a {
		return fmt.Sprintf("; that is %s less a run than the first", objective(name, *b-*a))
	}
	return fmt.Sprintf("; the first saves about %s a run (%s)", objective(name, *a-*b), percent(1 - *b / *a))
}

// predictedValue is one objective of a prediction; nil where it is unknown.
func predictedValue(p *karasuv1.Prediction, name string) *float64 {
	switch name {
	case "runtime":
		return &p.RuntimeSeconds
	case "energy":
		return p.EnergyWh
	case "carbon":
		return p.CarbonG
	}
	return p.CostUsd
}
