package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Size of a terminal chart of a sweep, in characters.
const (
	sweepWidth  = 72
	sweepHeight = 12
	// sweepSeries is how many machine types a terminal chart tells apart.
	sweepSeries = 5
)

// quantity is what a panel shows of a prediction.
type quantity struct {
	name, unit string
	// title is over a chart whose labels carry the unit.
	title string
	print func(float64) string
	// values are the median and the ends of the 80% interval; false where unknown.
	values func(p *karasuv1.RuntimePrediction) (median, low, high float64, known bool)
}

// quantities of a sweep, a panel each.
var quantities = []quantity{
	{"runtime", "seconds", "runtime", seconds, func(p *karasuv1.RuntimePrediction) (float64, float64, float64, bool) {
		return p.GetRuntimeSeconds(), p.GetRuntimeLowSeconds(), p.GetRuntimeHighSeconds(), true
	}},
	{"cost", "USD a run", "cost of a run", dollars, func(p *karasuv1.RuntimePrediction) (float64, float64, float64, bool) {
		return p.GetCostUsd(), p.GetCostLowUsd(), p.GetCostHighUsd(), p.CostUsd != nil
	}},
}

// machineTypesOf lists the machine types of a sweep in its order.
func machineTypesOf(s *karasuv1.SweepResponse) []string {
	var out []string
	for _, p := range s.GetPredictions() {
		if !slices.Contains(out, p.GetMachineType()) {
			out = append(out, p.GetMachineType())
		}
	}
	return out
}

// sweepCharts draws runtime and cost over the number of nodes, a letter a machine
// type.
func sweepCharts(s *karasuv1.SweepResponse) string {
	var b strings.Builder
	types := machineTypesOf(s)
	shown := types[:min(len(types), sweepSeries)]
	for _, q := range quantities {
		b.WriteString(sweepPanel(s, q, shown))
	}
	for i, name := range shown {
		fmt.Fprintf(&b, "  %c %s", 'a'+i, clean(name))
	}
	if more := len(types) - len(shown); more > 0 {
		fmt.Fprintf(&b, "  (%s not drawn; --svg draws all)", counted(more, "more machine type"))
	}
	b.WriteString("\n")
	return b.String()
}

// sweepPanel is one chart on a logarithmic axis; "" where nothing is known.
func sweepPanel(s *karasuv1.SweepResponse, q quantity, types []string) string {
	var nodes []uint32
	var extent []float64
	for _, p := range s.GetPredictions() {
		if _, low, high, known := q.values(p); known && slices.Contains(types, p.GetMachineType()) {
			extent = append(extent, low, high)
		}
		if !slices.Contains(nodes, p.GetNodes()) {
			nodes = append(nodes, p.GetNodes())
		}
	}
	if len(extent) == 0 {
		return ""
	}
	step := len(types) + 1
	for len(nodes)*step > sweepWidth && len(nodes) > 1 {
		nodes = everyOther(nodes)
	}
	v, grid := newAxis(extent, sweepHeight), make([][]rune, sweepHeight)
	for row := range grid {
		grid[row] = []rune(strings.Repeat(" ", len(nodes)*step))
	}
	row := func(value float64) int { return sweepHeight - 1 - v.place(value) }
	if d := s.GetAnswer().GetDeadlineSeconds(); q.name == "runtime" && d >= v.low && d <= v.high {
		for i := range grid[row(d)] {
			grid[row(d)][i] = '╌'
		}
	}
	for _, p := range s.GetPredictions() {
		x, k := slices.Index(nodes, p.GetNodes()), slices.Index(types, p.GetMachineType())
		median, low, high, known := q.values(p)
		if x < 0 || k < 0 || !known {
			continue
		}
		at := x*step + k
		for r := row(high); r <= row(low); r++ {
			grid[r][at] = '│'
		}
		grid[row(median)][at] = rune('a' + k)
	}
	return frame(q, v, grid, nodes, step)
}

// frame puts axes around a chart.
func frame(q quantity, v axis, grid [][]rune, nodes []uint32, step int) string {
	middle := math.Sqrt(v.low * v.high)
	labels := map[int]string{0: q.print(v.high), len(grid) - 1 - v.place(middle): q.print(middle), len(grid) - 1: q.print(v.low)}
	width := 0
	for _, l := range labels {
		width = max(width, utf8.RuneCountInString(l))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, with 80%% intervals\n", q.title)
	for r, line := range grid {
		fmt.Fprintf(&b, " %s%s ┤%s\n", strings.Repeat(" ", width-utf8.RuneCountInString(labels[r])), labels[r], strings.TrimRight(string(line), " "))
	}
	ticks := strings.Builder{}
	for i, n := range nodes {
		text := fmt.Sprint(n)
		// A label has room up to the next one, or is left out.
		if at := i * step; ticks.Len() <= at {
			ticks.WriteString(strings.Repeat(" ", at-ticks.Len()) + text + " ")
		}
	}
	fmt.Fprintf(&b, " %*s └%s\n", width, "", strings.Repeat("─", len(grid[0])))
	fmt.Fprintf(&b, " %*s  %s nodes\n\n", width, "", strings.TrimRight(ticks.String(), " "))
	return b.String()
}

// everyOther keeps the first of each two.
func everyOther(in []uint32) []uint32 {
	var out []uint32
	for i := 0; i < len(in); i += 2 {
		out = append(out, in[i])
	}
	return out
}
