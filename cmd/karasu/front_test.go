package main

import (
	"os"
	"strings"
	"testing"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// someSteps are runs by cost and runtime; every third one is not valid.
func someSteps(cost, runtime []float64) *karasuv1.SearchState {
	s := &karasuv1.SearchState{Settings: &karasuv1.SearchSettings{Objective: "cost,runtime"}}
	for i := range cost {
		step := &karasuv1.SearchStep{Run: &karasuv1.Run{RuntimeSeconds: runtime[i]}, CostUsd: &cost[i], Objective: &cost[i], Valid: i%3 != 2}
		if step.Valid {
			step.Best = &cost[0]
		}
		s.Steps = append(s.Steps, step)
	}
	s.Front = s.Steps[:1]
	return s
}

func TestScatter(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cost, runtime []float64
		marks         string // in the order of the chart
	}{
		{"factors", []float64{.1, 1, 10}, []float64{100, 1000, 10}, "×○●"},
		{"all alike", []float64{2, 2}, []float64{50, 50}, "●"},
		{"one axis", []float64{1, 2}, []float64{50, 50}, "○●"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chart := scatter(placed(someSteps(tt.cost, tt.runtime)), "runtime", "cost")
			lines := strings.Split(chart, "\n")
			var marks strings.Builder
			for _, line := range lines[:scatterHeight] {
				_, area, _ := strings.Cut(line, "┤")
				marks.WriteString(strings.TrimSpace(area))
				if n := len([]rune(area)); n > scatterWidth {
					t.Errorf("a line of %d characters", n)
				}
			}
			if marks.String() != tt.marks {
				t.Errorf("marks %q, want %q\n%s", marks.String(), tt.marks, chart)
			}
		})
	}
}

func TestRunsWithoutPriceAreNotDrawn(t *testing.T) {
	s := someSteps([]float64{1, 2, 3}, []float64{10, 20, 0})
	s.Steps[1].CostUsd = nil
	if got := placed(s); len(got) != 1 || !got[0].front {
		t.Errorf("%+v", got)
	}
}

func TestWriteSVG(t *testing.T) {
	path := t.TempDir() + "/search.svg"
	for _, s := range []*karasuv1.SearchState{
		{Settings: &karasuv1.SearchSettings{Objective: "energy"}}, // no run yet
		someSteps([]float64{1}, []float64{10}),
		someSteps([]float64{.1, 1, 10}, []float64{100, 1000, 10}),
	} {
		if err := writeSVG(path, s); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "</svg>") || !strings.Contains(string(raw), "so far") {
			t.Errorf("not an SVG file of %d bytes", len(raw))
		}
	}
	if err := writeSVG(t.TempDir(), someSteps([]float64{1}, []float64{10})); err == nil {
		t.Error("a folder was written as a file")
	}
}
