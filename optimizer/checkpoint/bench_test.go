package checkpoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// synthetic is a job as large workflows are: pipelines side by side, each a number of
// layers that grow and shrink, with outputs that differ by orders of magnitude, joined
// now and then across pipelines.
func synthetic(tb testing.TB, n int) *Graph {
	tb.Helper()
	random := rand.New(rand.NewPCG(7, uint64(n)))
	const pipelines, layers = 20, 10
	var stages []Stage
	before := make([][]int, pipelines) // the last layer of each
	for range layers {
		next := make([][]int, pipelines)
		for p := range pipelines {
			size := math.Exp(2 * random.NormFloat64())
			for range n / pipelines / layers {
				s := Stage{ID: len(stages), Bytes: math.Round(1e7 * size * math.Exp(random.NormFloat64()/2))}
				for range 1 + random.IntN(3) {
					from := before[p]
					if random.IntN(200) == 0 {
						from = before[random.IntN(pipelines)]
					}
					if len(from) > 0 {
						s.Parents = append(s.Parents, from[random.IntN(len(from))])
					}
				}
				for _, p := range s.Parents {
					s.Start = max(s.Start, stages[p].End)
				}
				s.End = s.Start + 5 + 50*random.Float64()*float64(1+p%3)
				next[p] = append(next[p], s.ID)
				stages = append(stages, s)
			}
		}
		before = next
	}
	g, err := NewGraph(stages)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkCut(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		g := synthetic(b, n)
		p := Share(g, .1)
		b.Run(fmt.Sprintf("prefix/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Prefix(g, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("heuristic/%d", n), func(b *testing.B) {
			for b.Loop() {
				r, err := Heuristic(g, p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.Gap(), "gap")
				b.ReportMetric(float64(r.Flows), "flows")
			}
		})
	}
	g := synthetic(b, 2_000)
	p := Share(g, .1)
	b.Run("exact/2000", func(b *testing.B) {
		for b.Loop() {
			end := time.Now().Add(150 * time.Millisecond)
			r, err := Solve(g, p, Options{Stop: func() bool { return time.Now().After(end) }})
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
		if _, err := NewGraph(stages); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlanRestart(b *testing.B) {
	for _, n := range []int{60, 600, 2_000} {
		g := synthetic(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := PlanRestart(g, Problem{Unlimited: true, MaxSlowdown: .05, Bandwidth: 1e12}, Failures{}, 3); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
