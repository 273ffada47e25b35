package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"slices"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Measures of the drawing, in pixels.
const (
	cutWidth  = 1100.0
	cutMargin = 40.0
	cutTop    = 60.0
	// cutLine is the height of a line of labels, cutLetter the width of a letter in it.
	cutLine, cutLetter = 12.0, 6.2
	// cutRow is the height of a lane, less where there are many; below cutTextRow without text.
	cutRow, cutTextRow, cutHeight = 24.0, 14.0, 1400.0
	// cutEdges bounds the edges that are drawn: more only make it black.
	cutEdges = 3000
)

// writeCutSVG draws the stages over time, in lanes, with the cuts as lines, into a file
// that only its owner reads.
func writeCutSVG(path string, m *karasuv1.AdviseCheckpointResponse) error {
	if err := os.WriteFile(path, cutSVG(m), 0o600); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return nil
}

// lanes puts stages beside each other that overlap in time: the lane of each by ID, and
// how many there are.
func lanes(stages []*karasuv1.CheckpointStage) (lane map[uint32]int, count int) {
	order := slices.SortedFunc(slices.Values(stages), func(a, b *karasuv1.CheckpointStage) int {
		return cmp.Or(cmp.Compare(a.GetStartSeconds(), b.GetStartSeconds()), cmp.Compare(a.GetId(), b.GetId()))
	})
	lane = make(map[uint32]int, len(stages))
	var free []float64 // when each lane is free
	for _, s := range order {
		at := slices.IndexFunc(free, func(end float64) bool { return end <= s.GetStartSeconds() })
		if at < 0 {
			at = len(free)
			free = append(free, 0)
		}
		free[at] = math.Nextafter(s.GetEndSeconds(), math.Inf(1))
		lane[s.GetId()] = at
	}
	return lane, len(free)
}

// cutLabel is what stands above the line of a cut, in so-manyth line of labels from below.
type cutLabel struct {
	text   string
	middle float64 // pixels
	line   int
}

// cutLabels places the labels of cuts so that none is on another or beyond the drawing, and
// returns how many lines they need.
func cutLabels(cuts []*karasuv1.CheckpointCut, x func(float64) float64) (labels []cutLabel, lines int) {
	var ends []float64 // where the last label of each line ends
	for i, c := range cuts {
		l := cutLabel{text: fmt.Sprintf("cut %d at %s: %s", i+1, instant(c.GetSeconds()), amount(c.GetDurableBytes()))}
		half := cutLetter * float64(len(l.text)) / 2
		l.middle = min(max(x(c.GetSeconds()), half), cutWidth-half)
		l.line = slices.IndexFunc(ends, func(end float64) bool { return end <= l.middle-half })
		if l.line < 0 {
			l.line = len(ends)
			ends = append(ends, 0)
		}
		ends[l.line] = l.middle + half + cutLetter
		labels = append(labels, l)
	}
	return labels, len(ends)
}

func cutSVG(m *karasuv1.AdviseCheckpointResponse) []byte {
	lane, count := lanes(m.GetStages())
	row := min(cutRow, max(2, (cutHeight-2*cutTop)/float64(max(1, count))))
	length := max(m.GetJobSeconds(), 1e-9)
	x := func(s float64) float64 { return cutMargin + s/length*(cutWidth-2*cutMargin) }
	labels, lines := cutLabels(m.GetCuts(), x)
	top := cutTop + cutLine*float64(max(0, lines-2)) // the margin has room for two
	height := top + row*float64(count) + cutTop
	y := func(id uint32) float64 { return top + row*float64(lane[id]) }

	var b bytes.Buffer
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(clean(s)))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11">`+"\n", cutWidth, height, cutWidth, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	text(cutMargin, 20, "start", m.GetJob()+": stages before a cut in colour, persisted outputs with a bold line")
	for _, tick := range ticksOf(length) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#e5e5e5"/>`+"\n", x(tick), top-6, x(tick), height-cutTop+6)
		text(x(tick), height-cutTop+20, "middle", instant(tick))
	}
	drawEdges(&b, m.GetStages(), x, func(id uint32) float64 { return y(id) + row/2 })
	for _, s := range m.GetStages() {
		fill, stroke := "#f0f0f0", `stroke="#888" stroke-width="0.7"`
		if s.GetCut() > 0 {
			fill = cutColor(s.GetCut())
		}
		if s.GetPersist() {
			stroke = `stroke="#d62728" stroke-width="2.5"`
		}
		width := max(1.5, x(s.GetEndSeconds())-x(s.GetStartSeconds()))
		id := fmt.Sprint(s.GetId())
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" %s><title>%s</title></rect>`+"\n", x(s.GetStartSeconds()), y(s.GetId())+row*.1,
			width, row*.8, fill, stroke, html.EscapeString(clean(id+" "+s.GetName()+": "+amount(s.GetBytes())+", "+instant(s.GetEndSeconds()-s.GetStartSeconds()))))
		if letters := int(width / 6.5); row >= cutTextRow && letters >= len(id) {
			label := id // a number that is cut is another
			if left := letters - len(id) - 1; left >= 3 {
				label += " " + callSite(s.GetName(), left)
			}
			text(x(s.GetStartSeconds())+3, y(s.GetId())+row*.68, "start", label)
		}
	}
	for i, c := range m.GetCuts() {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#d62728" stroke-dasharray="6 4"/>`+"\n", x(c.GetSeconds()), top-12, x(c.GetSeconds()), height-cutTop+6)
		l := labels[i]
		text(l.middle, top-16-cutLine*float64(l.line), "middle", l.text)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawEdges draws who reads from whom; across a cut in red.
func drawEdges(b *bytes.Buffer, stages []*karasuv1.CheckpointStage, x func(float64) float64, y func(uint32) float64) {
	by := make(map[uint32]*karasuv1.CheckpointStage, len(stages))
	edges := 0
	for _, s := range stages {
		by[s.GetId()] = s
		edges += len(s.GetParents())
	}
	if edges > cutEdges {
		return
	}
	for _, s := range stages {
		for _, id := range s.GetParents() {
			p := by[id]
			color := "#bbb"
			if crosses(p, s) {
				color = "#d62728"
			}
			x1, x2 := x(p.GetEndSeconds()), x(s.GetStartSeconds())
			bend, up := max(12, math.Abs(x2-x1)/2), 0.
			if y(id) == y(s.GetId()) { // over the stages between
				up = min(cutTop/2, 12+math.Abs(x2-x1)/20)
			}
			fmt.Fprintf(b, `<path d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="%s"/>`+"\n",
				x1, y(id), x1+bend, y(id)-up, x2-bend, y(s.GetId())-up, x2, y(s.GetId()), color)
		}
	}
}

// ticksOf are about eight times of a job, at 1, 2 or 5 times a power of ten.
func ticksOf(length float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(length/8)))
	for _, f := range []float64{2, 2.5, 2} {
		if length/step > 10 {
			step *= f
		}
	}
	var out []float64
	for i := 0; float64(i)*step <= length; i++ {
		out = append(out, float64(i)*step)
	}
	return out
}
