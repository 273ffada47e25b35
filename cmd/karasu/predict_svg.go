package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// writeSweepSVG draws runtime and cost over the number of nodes, a line a machine type
// with 80% intervals, side by side.
func writeSweepSVG(path string, s *karasuv1.SweepResponse) error {
	canvas := vgsvg.New(2*svgWidth, svgHeight)
	tiles := draw.Tiles{Rows: 1, Cols: len(quantities), PadX: vg.Centimeter / 2, PadTop: vg.Centimeter / 4, PadRight: vg.Centimeter / 2}
	whole := draw.New(canvas)
	for i, q := range quantities {
		p, err := sweepPlot(s, q)
		if err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
		p.Draw(tiles.At(whole, i, 0))
	}
	return saveSVG(path, canvas)
}

// bars are points with the ends of their intervals.
type bars struct {
	plotter.XYs
	plotter.YErrors
}

func sweepPlot(s *karasuv1.SweepResponse, q quantity) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = q.name+" with 80% intervals", "nodes", q.unit
	p.Legend.Top, p.Legend.Left = true, q.name == "cost" // where runtimes and costs are not
	types := machineTypesOf(s)
	drawn := false
	low, high := math.Inf(1), 0.
	for k, name := range types {
		var b bars
		for _, r := range s.GetPredictions() {
			median, from, to, known := q.values(r)
			if r.GetMachineType() != name || !known {
				continue
			}
			// Beside each other, since intervals overlap.
			x := float64(r.GetNodes()) * (1 + .02*(float64(k)-float64(len(types)-1)/2))
			b.XYs = append(b.XYs, plotter.XY{X: x, Y: median})
			b.YErrors = append(b.YErrors, struct{ Low, High float64 }{median - from, to - median})
			low, high = min(low, from), max(high, to)
		}
		if len(b.XYs) == 0 {
			continue
		}
		if err := addSeries(p, name, plotutil.Color(k), b); err != nil {
			return nil, err
		}
		drawn = true
	}
	if !drawn {
		p.Title.Text += ": unknown"
		return p, nil
	}
	if d := s.GetAnswer().GetDeadlineSeconds(); d > 0 && q.name == "runtime" {
		line, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: d}, {X: p.X.Max, Y: d}})
		if err != nil {
			return nil, err
		}
		line.Dashes, line.Color = []vg.Length{vg.Points(4), vg.Points(3)}, color.Gray{90}
		p.Add(line)
		p.Legend.Add("deadline", line)
		low, high = min(low, d), max(high, d)
	}
	if err := circleChoice(p, s.GetAnswer().GetChoice(), types, q); err != nil {
		return nil, err
	}
	p.Y.Min, p.Y.Max = low, high
	logarithmic(&p.X)
	logarithmic(&p.Y)
	p.X.Tick.Marker = nodeTicks(s)
	return p, nil
}

// nodeTicks are the numbers of nodes, labelled as far as there is room.
func nodeTicks(s *karasuv1.SweepResponse) plot.ConstantTicks {
	var nodes []uint32
	for _, r := range s.GetPredictions() {
		nodes = append(nodes, r.GetNodes())
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	const labels = 12 // that fit beside each other
	apart := math.Log(float64(nodes[len(nodes)-1])/float64(nodes[0])) / labels
	out, last := plot.ConstantTicks{}, math.Inf(-1)
	for _, n := range nodes {
		t := plot.Tick{Value: float64(n)}
		if at := math.Log(t.Value); at >= last+apart {
			t.Label, last = fmt.Sprint(n), at
		}
		out = append(out, t)
	}
	return out
}

// addSeries draws one machine type.
func addSeries(p *plot.Plot, name string, c color.Color, b bars) error {
	line, points, err := plotter.NewLinePoints(b.XYs)
	if err != nil {
		return err
	}
	line.Color, points.Color = c, c
	points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(2.5)
	intervals, err := plotter.NewYErrorBars(b)
	if err != nil {
		return err
	}
	intervals.Color, intervals.CapWidth = c, vg.Points(3)
	p.Add(line, points, intervals)
	p.Legend.Add(clean(name), line, points)
	return nil
}

// circleChoice marks the answer to a deadline, if there is one.
func circleChoice(p *plot.Plot, c *karasuv1.RuntimePrediction, types []string, q quantity) error {
	if c == nil {
		return nil
	}
	median, _, _, known := q.values(c)
	if !known {
		return nil
	}
	k := 0
	for i, name := range types {
		if name == c.GetMachineType() {
			k = i
		}
	}
	x := float64(c.GetNodes()) * (1 + .02*(float64(k)-float64(len(types)-1)/2))
	circle, err := plotter.NewScatter(plotter.XYs{{X: x, Y: median}})
	if err != nil {
		return err
	}
	circle.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(6), Shape: draw.RingGlyph{}}
	p.Add(circle)
	p.Legend.Add("answer", circle)
	return nil
}
