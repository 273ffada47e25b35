package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// sweepOf makes a sweep over machine types that halve each other's runtimes; the last is
// of unknown price.
func sweepOf(nodes []uint32, types ...string) *karasuv1.SweepResponse {
	s := &karasuv1.SweepResponse{}
	for k, name := range types {
		for _, n := range nodes {
			p := &karasuv1.RuntimePrediction{MachineType: name, Nodes: n, RuntimeSeconds: 1000 / float64(n) / float64(k+1)}
			p.RuntimeLowSeconds, p.RuntimeHighSeconds = p.RuntimeSeconds/1.5, p.RuntimeSeconds*1.5
			if k < len(types)-1 || k == 0 {
				cost := func(s float64) *float64 { v := s * float64(n) * .2 / 3600; return &v }
				p.CostUsd, p.CostLowUsd, p.CostHighUsd = cost(p.RuntimeSeconds), cost(p.RuntimeLowSeconds), cost(p.RuntimeHighSeconds)
			}
			s.Predictions = append(s.Predictions, p)
		}
	}
	return s
}

func TestSweepCharts(t *testing.T) {
	s := sweepOf([]uint32{2, 4, 8, 16}, "slow", "quick", "priceless")
	s.Answer = &karasuv1.DeadlineAnswer{DeadlineSeconds: 130, Choice: s.Predictions[2]}
	out := sweepCharts(s)
	for _, want := range []string{"runtime, with", "cost of a run, with", "a slow  b quick  c priceless", "2   4   8   16 nodes", "╌", "12m30s"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	runtime, cost, _ := strings.Cut(out, "cost of")
	if n := strings.Count(runtime, "c"); n < 4 || strings.Count(cost, "c priceless") != 1 {
		t.Errorf("%d marks of c\n%s", n, out)
	}
	// Many of both fit into the width, and what is left out is said.
	var many []uint32
	for n := range uint32(100) {
		many = append(many, n+1)
	}
	out = sweepCharts(sweepOf(many, "m1", "m2", "m3", "m4", "m5", "m6", "m7"))
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	if !strings.Contains(out, "2 more machine types not drawn; --svg draws all") {
		t.Errorf("nothing is said of the types left out:\n%s", out)
	}
	// A single point, and none of known price.
	one := sweepOf([]uint32{4}, "m")
	one.Predictions[0].CostUsd, one.Predictions[0].CostLowUsd, one.Predictions[0].CostHighUsd = nil, nil, nil
	if out := sweepCharts(one); strings.Contains(out, "cost,") || !strings.Contains(out, "runtime,") {
		t.Errorf("charts of one point without a price:\n%s", out)
	}
}

func TestSweepSVG(t *testing.T) {
	s := sweepOf([]uint32{2, 3, 4, 8, 16}, "slow", "quick", "a<b&c")
	s.Answer = &karasuv1.DeadlineAnswer{DeadlineSeconds: 200, Choice: s.Predictions[3]}
	path := filepath.Join(t.TempDir(), "s.svg")
	if err := writeSweepSVG(path, s); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(raw)
	for _, want := range []string{">seconds<", ">USD a run<", ">nodes<", ">deadline<", ">answer<", ">quick<", ">16<", "a&lt;b&amp;c"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in the drawing", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the drawing holds numbers that are none")
	}
	// One configuration of unknown price is drawn, too.
	one := sweepOf([]uint32{4}, "m")
	one.Predictions[0].CostUsd, one.Predictions[0].CostLowUsd, one.Predictions[0].CostHighUsd = nil, nil, nil
	if err := writeSweepSVG(path, one); err != nil {
		t.Error(err)
	}
}

func TestExactPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", .0004: "<0.1%", .001: "0.1%", .5: "50%", .9449: "94.4%", .9999: "99.9%", 1: "100%", .95: "95%"} {
		if got := exactPercent(share); got != want {
			t.Errorf("exactPercent(%g) = %q, want %q", share, got, want)
		}
	}
}
