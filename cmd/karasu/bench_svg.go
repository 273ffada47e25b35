package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/karasu-project/karasu/optimizer/search/replay"
)

// writeBenchSVG draws the mean ratio by run, one line a method and scenario, with the
// legend beside the chart: a replay has up to dozens of lines.
func writeBenchSVG(path string, r *replay.Report) error {
	p, legend, err := ratioPlot(r)
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	// Measured on a canvas of any size: only text and the font matter.
	size := legend.Rectangle(draw.New(vgsvg.New(svgWidth, svgHeight))).Size()
	const gap = vg.Centimeter / 2
	width, height := svgWidth+size.X+3*gap, max(svgHeight, size.Y+2*gap)
	canvas := vgsvg.New(width, height)
	whole := draw.New(canvas)
	p.Draw(draw.Crop(whole, gap, -size.X-2*gap, gap/2, -gap/2))
	legend.Draw(draw.Crop(whole, width-size.X-gap, -gap, gap, -gap))
	return saveSVG(path, canvas)
}

// ratioPlot is the mean over the searches of best valid objective so far over the best
// there is, by run. Its legend is not part of the plot.
func ratioPlot(r *replay.Report) (*plot.Plot, *plot.Legend, error) {
	p, legend := plot.New(), plot.NewLegend()
	legend.Top, legend.Left = true, true
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "best so far", "run", "times the best there is (mean)"
	p.X.Tick.Marker = plot.TickerFunc(runTicks)
	p.Add(plotter.NewGrid())
	for i, row := range r.Rows {
		var points plotter.XYs
		for n, v := range row.Mean {
			points = append(points, plotter.XY{X: float64(n + 1), Y: v})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", row.Method, row.Scenario, err)
		}
		line.Color, line.Dashes = lineStyle(i)
		line.Width = vg.Points(1.5)
		p.Add(line)
		legend.Add(row.Method+" "+row.Scenario, line)
	}
	p.X.Min, p.X.Max = 1, replay.MaxRuns
	p.Y.Min = 1
	return p, &legend, nil
}

// lineStyle gives each of the first few dozen lines a look of its own: all colours
// with one kind of dashes, then all with the next.
func lineStyle(i int) (color.Color, []vg.Length) {
	colors := len(plotutil.DarkColors)
	return plotutil.DarkColors[i%colors], plotutil.Dashes(i / colors)
}

// runTicks labels every whole number.
func runTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for v := math.Ceil(low); v <= high; v++ {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', 0, 64)})
	}
	return ticks
}
