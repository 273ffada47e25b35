package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// drawn is advice on n stages side by side, read by one more, with names that are no
// markup.
func drawn(n int) *karasuv1.AdviseCheckpointResponse {
	m := &karasuv1.AdviseCheckpointResponse{Job: `a<b>&"c"`, JobSeconds: 10, Cuts: []*karasuv1.CheckpointCut{{Seconds: 5, DurableBytes: 1e9}, {Seconds: 9.9}}}
	last := &karasuv1.CheckpointStage{Id: uint32(n), StartSeconds: 5, EndSeconds: 10}
	for i := range n {
		m.Stages = append(m.Stages, &karasuv1.CheckpointStage{
			Id: uint32(i), Name: "map \"x\" at C:\\a<b>.scala\n\x1b[31m", EndSeconds: 5, Bytes: 1e6, Cut: 1, Persist: i == 0,
		})
		last.Parents = append(last.Parents, uint32(i))
	}
	m.Stages = append(m.Stages, last)
	return m
}

func TestDrawingsAreWellFormed(t *testing.T) {
	for _, n := range []int{0, 1, 3, 500, 4000} {
		m := drawn(n)
		svg := cutSVG(m)
		rects, paths := 0, 0
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%d stages: %v", n, err)
			}
			if e, ok := token.(xml.StartElement); ok {
				switch e.Name.Local {
				case "rect":
					rects++
				case "path":
					paths++
				}
			}
		}
		wantPaths := n
		if n > cutEdges {
			wantPaths = 0
		}
		if rects != n+2 || paths != wantPaths || strings.Contains(string(svg), "NaN") || strings.ContainsRune(string(svg), '\x1b') {
			t.Errorf("%d stages: %d boxes, %d edges", n, rects, paths)
		}
		dot := string(cutDot(m))
		if strings.Count(dot, " -> ") != n || strings.ContainsRune(dot, '\x1b') || n > 0 && !strings.Contains(dot, `map \"x\" at C:\\a<b>`) {
			t.Errorf("%d stages: %s", n, dot[:min(len(dot), 500)])
		}
		if n > 0 && !strings.Contains(dot, fmt.Sprintf(`s0 -> s%d [color="#d62728", penwidth=2];`, n)) {
			t.Errorf("%d stages: an edge across the cut is not marked", n)
		}
	}
}

func TestTicksAreFew(t *testing.T) {
	for _, length := range []float64{1e-9, .3, 1, 9, 10, 11, 59, 500, 1e7} {
		if n := len(ticksOf(length)); n < 4 || n > 12 {
			t.Errorf("%g s have %d ticks", length, n)
		}
	}
}

// TestCutLabelsAreApart: many cuts at about one time, and at both ends.
func TestCutLabelsAreApart(t *testing.T) {
	var cuts []*karasuv1.CheckpointCut
	for i := range maxCuts {
		cuts = append(cuts, &karasuv1.CheckpointCut{Seconds: float64(i * i), DurableBytes: 1e9})
	}
	labels, lines := cutLabels(cuts, func(s float64) float64 { return s * cutWidth / 1000 })
	if len(labels) != maxCuts || lines < 3 {
		t.Fatalf("%d labels in %d lines", len(labels), lines)
	}
	half := func(l cutLabel) float64 { return cutLetter * float64(len(l.text)) / 2 }
	for i, l := range labels {
		if l.line >= lines || l.middle < half(l) || l.middle > cutWidth-half(l) {
			t.Errorf("label %d is at %g in line %d of %d", i, l.middle, l.line, lines)
		}
		for k, o := range labels[:i] {
			if o.line == l.line && o.middle+half(o) > l.middle-half(l) {
				t.Errorf("labels %d and %d are on each other", k, i)
			}
		}
	}
}

// TestStageNumbersAreWhole: a box that has no room for a name has none for half a number.
func TestStageNumbersAreWhole(t *testing.T) {
	m := &karasuv1.AdviseCheckpointResponse{JobSeconds: 100}
	for i := range 100 {
		m.Stages = append(m.Stages, &karasuv1.CheckpointStage{
			Id: uint32(100 + i), Name: "collect at job.py:1", StartSeconds: float64(i), EndSeconds: float64(i) + float64(i)/20,
		})
	}
	found := 0
	for _, line := range strings.Split(string(cutSVG(m)), "\n") {
		if !strings.Contains(line, `text-anchor="start"`) || !strings.Contains(line, "…") {
			continue
		}
		found++
		var text struct {
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal([]byte(line), &text); err != nil {
			t.Fatal(err)
		}
		if id, _, ok := strings.Cut(text.Text, " "); !ok || len(id) != 3 {
			t.Errorf("a label is %q", text.Text)
		}
	}
	if found == 0 {
		t.Error("no label is shortened")
	}
}

func TestCallSite(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"", ""},
		{"map at Job.scala:12", "map at Job.scala:12"},
		{"collect at /srv/jobs/nightly/orders/job.py:71", "collect at …/job.py:71"},
		{`collect at C:\jobs\nightly\orders\job.py:71`, `collect at …\job.py:71`},
		{"collect at anonymous function of a class:71", "collect at anonymous fun…"},
		{"a\x1b[31m at /b", clean("a\x1b[31m at /b")},
	} {
		if got := callSite(tt.name, 25); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.name, got, tt.want)
		}
	}
}
