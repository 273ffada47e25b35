package main

import (
	"fmt"

	"github.com/guptarohit/asciigraph"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Heights of the chart of the best value, in lines: unasked and asked for.
const (
	smallChart = 4
	largeChart = 8
)

// bestChart draws the best objective by run; "" before two runs have one.
func bestChart(s *karasuv1.SearchState, height int) string {
	var best []float64
	for _, step := range s.GetSteps() {
		if step.Best != nil {
			best = append(best, step.GetBest())
		}
	}
	if len(best) < 2 {
		return ""
	}
	name := primary(s.GetSettings().GetObjective())
	unit := map[string]string{"cost": "USD", "runtime": "seconds", "energy": "Wh", "carbon": "g CO2e"}[name]
	first := len(s.GetSteps()) - len(best) + 1
	// Every value several columns wide: steps, not slopes, since nothing lies between runs.
	repeat := max(1, min(8, 60/len(best)))
	var steps []float64
	for _, v := range best {
		for range repeat {
			steps = append(steps, v)
		}
	}
	return asciigraph.Plot(steps, asciigraph.Height(height), asciigraph.Precision(3),
		asciigraph.Caption(fmt.Sprintf("best %s in %s after runs %d to %d", name, unit, first, len(s.GetSteps()))))
}
