package checkpoint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
	"github.com/karasu-project/karasu/optimizer/checkpoint/replay"
)

func synthetic(tb testing.TB, n int) *checkpoint.Graph {
	tb.Helper()
	g, err := replay.Synthetic(n)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkCut(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		g := synthetic(b, n)
		p := checkpoint.Share(g, .1)
		b.Run(fmt.Sprintf("prefix/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := checkpoint.Prefix(g, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("heuristic/%d", n), func(b *testing.B) {
			for b.Loop() {
				r, err := checkpoint.Heuristic(g, p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.Gap(), "gap")
				b.ReportMetric(float64(r.Flows), "flows")
			}
		})
	}
	g := synthetic(b, 2_000)
	p := checkpoint.Share(g, .1)
	b.Run("exact/2000", func(b *testing.B) {
		for b.Loop() {
			end := time.Now().Add(150 * time.Millisecond)
			r, err := checkpoint.Solve(g, p, checkpoint.Options{Stop: func() bool { return time.Now().After(end) }})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(r.Gap(), "gap")
			b.ReportMetric(float64(r.Relaxations), "relaxations")
		}
	})
}

func BenchmarkNewGraph(b *testing.B) {
	stages := synthetic(b, 2_000).Stages()
	for b.Loop() {
		if _, err := checkpoint.NewGraph(stages); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlanRestart(b *testing.B) {
	for _, n := range []int{60, 600, 2_000} {
		g := synthetic(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := checkpoint.PlanRestart(g, checkpoint.Problem{Unlimited: true, MaxSlowdown: .05, Bandwidth: 1e12}, checkpoint.Failures{}, 3); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
