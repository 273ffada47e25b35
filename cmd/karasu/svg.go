package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Size of each of the charts of an SVG file.
const (
	svgWidth  = 12 * vg.Centimeter
	svgHeight = 9 * vg.Centimeter
)

// writeSVG draws the best value by run, and the runs by two objectives with the
// Pareto front, side by side.
func writeSVG(path string, s *karasuv1.SearchState) error {
	best, err := bestPlot(s)
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	scattered, err := scatterPlot(s)
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	canvas := vgsvg.New(2*svgWidth, svgHeight)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter / 2, PadTop: vg.Centimeter / 4, PadRight: vg.Centimeter / 2}
	whole := draw.New(canvas)
	best.Draw(tiles.At(whole, 0, 0))
	scattered.Draw(tiles.At(whole, 1, 0))
	return saveSVG(path, canvas)
}

// canWrite says what is wrong with a file that a flag names, before the work for it is
// done. It leaves no trace.
func canWrite(flag, path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return usagef("%s must name a file, which %s is not: it is a folder", flag, path)
	}
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return usagef("%s: %w", flag, err)
	}
	err = f.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// saveSVG writes a canvas to a file that only its owner reads.
func saveSVG(path string, canvas *vgsvg.Canvas) error {
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return nil
}

// bestPlot is the best valid value of the first objective after each run.
func bestPlot(s *karasuv1.SearchState) (*plot.Plot, error) {
	name := primary(s.GetSettings().GetObjective())
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "best "+name+" so far", "run", axisLabel(name)
	p.Y.Min = 0
	var line plotter.XYs
	for i, step := range s.GetSteps() {
		if step.Best != nil {
			line = append(line, plotter.XY{X: float64(i + 1), Y: step.GetBest()})
		}
	}
	if len(line) == 0 {
		return p, nil
	}
	steps, err := plotter.NewLine(line)
	if err != nil {
		return nil, err
	}
	steps.StepStyle, steps.Width = plotter.PostStep, vg.Points(1.5)
	steps.Color = frontColor()
	p.Add(plotter.NewGrid(), steps)
	p.X.Min, p.X.Max = 1, max(float64(len(s.GetSteps())), 2)
	p.Y.Min = 0
	return p, nil
}

// scatterPlot is every run by two objectives on logarithmic axes.
func scatterPlot(s *karasuv1.SearchState) (*plot.Plot, error) {
	x, y := axes(s.GetSettings())
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = y+" against "+x, axisLabel(x), axisLabel(y)
	runs := placed(s)
	if len(runs) == 0 {
		return p, nil
	}
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	for _, kind := range []struct {
		name  string
		mark  rune
		color color.Color
		shape draw.GlyphDrawer
	}{
		{"not valid", markInvalid, color.Gray{150}, draw.CrossGlyph{}},
		{"valid", markValid, color.Gray{60}, draw.RingGlyph{}},
		{"front", markFront, frontColor(), draw.CircleGlyph{}},
	} {
		var points plotter.XYs
		for _, r := range runs {
			if r.mark() == kind.mark {
				points = append(points, plotter.XY{X: r.x, Y: r.y})
			}
		}
		if len(points) == 0 {
			continue
		}
		drawn, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		drawn.GlyphStyle = draw.GlyphStyle{Color: kind.color, Radius: vg.Points(3.5), Shape: kind.shape}
		p.Add(drawn)
		p.Legend.Add(kind.name, drawn)
	}
	logarithmic(&p.X)
	logarithmic(&p.Y)
	return p, nil
}

// logarithmic makes an axis of values above zero logarithmic, with some room.
func logarithmic(a *plot.Axis) {
	a.Min, a.Max = a.Min/1.15, a.Max*1.15
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
}

// logTicks labels 1, 2 and 5 times the powers of ten, or where a range has few of
// them what a linear axis would.
func logTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * math.Pow(10, power); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
			}
		}
	}
	if len(ticks) < 3 {
		return plot.DefaultTicks{}.Ticks(low, high)
	}
	return ticks
}

func axisLabel(name string) string {
	return map[string]string{"cost": "USD a run", "runtime": "seconds", "energy": "Wh a run", "carbon": "g CO2e a run"}[name]
}

func frontColor() color.Color { return color.RGBA{R: 31, G: 119, B: 180, A: 255} }
