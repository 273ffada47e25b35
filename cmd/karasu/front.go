package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// plotted is a run with its place in a chart of two objectives.
type plotted struct {
	x, y         float64
	valid, front bool
}

// axes names the two objectives that a search's runs are drawn by: the first two of
// several, or runtime and cost.
func axes(s *karasuv1.SearchSettings) (x, y string) {
	if names := strings.Split(s.GetObjective(), ","); len(names) > 1 {
		return names[1], names[0]
	}
	return "runtime", "cost"
}

// valueOf is one objective of a run; false where it is unknown.
func valueOf(name string, step *karasuv1.SearchStep) (float64, bool) {
	var v *float64
	switch name {
	case "cost":
		v = step.CostUsd
	case "energy":
		v = step.EnergyWh
	case "carbon":
		v = step.CarbonG
	case "runtime":
		if t := step.GetRun().GetRuntimeSeconds(); t > 0 {
			v = &t
		}
	}
	if v == nil || !(*v > 0) {
		return 0, false
	}
	return *v, true
}

// onFront says whether a run is on the Pareto front: it is valid, and its values are
// those of a run that is listed there.
func onFront(s *karasuv1.SearchState, step *karasuv1.SearchStep) bool {
	same := func(name string, f *karasuv1.SearchStep) bool {
		a, knownA := valueOf(name, step)
		b, knownB := valueOf(name, f)
		return knownA == knownB && a == b
	}
	return step.GetValid() && !step.GetOutside() && slices.ContainsFunc(s.GetFront(), func(f *karasuv1.SearchStep) bool {
		return same("runtime", f) && same("cost", f) && same("energy", f) && same("carbon", f)
	})
}

// placed lists the runs that have both objectives of the axes.
func placed(s *karasuv1.SearchState) []plotted {
	x, y := axes(s.GetSettings())
	var out []plotted
	for _, step := range s.GetSteps() {
		vx, knownX := valueOf(x, step)
		vy, knownY := valueOf(y, step)
		if !knownX || !knownY {
			continue
		}
		onFront := slices.ContainsFunc(s.GetFront(), func(f *karasuv1.SearchStep) bool {
			fx, _ := valueOf(x, f)
			fy, _ := valueOf(y, f)
			return fx == vx && fy == vy
		})
		out = append(out, plotted{vx, vy, step.GetValid(), step.GetValid() && onFront})
	}
	return out
}

// printFront lists the Pareto front, where there is a choice on it or it was asked
// for, and draws the runs.
func printFront(w *bytes.Buffer, s *karasuv1.SearchState) {
	if several(s.GetSettings().GetObjective()) && len(s.GetFront()) > 0 || len(s.GetFront()) > 1 {
		x, y := axes(s.GetSettings())
		fmt.Fprintln(w)
		if !several(s.GetSettings().GetObjective()) {
			fmt.Fprintf(w, "Runs that no other beats in %s and %s:\n", y, x)
		}
		t := newTable("PARETO FRONT", ">RUNTIME", ">COST", ">ENERGY", ">CARBON")
		for _, f := range s.GetFront() {
			t.add(configuration(f.GetRun().GetConfiguration()), seconds(f.GetRun().GetRuntimeSeconds()),
				optional(f.CostUsd, dollars), optional(f.EnergyWh, energy), optional(f.CarbonG, carbon))
		}
		t.hideUnknown("COST", "ENERGY", "CARBON").print(w, "")
	}
	if runs := placed(s); len(runs) > 1 {
		x, y := axes(s.GetSettings())
		fmt.Fprintf(w, "\n%s", scatter(runs, x, y))
	}
}
