package replay

import (
	"context"
	"testing"

	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// benchmarkTable is the largest: PageRank, 47 contexts, 1,410 runs.
func benchmarkTable(b *testing.B) Table {
	c3o, _ := tables(b)
	for _, t := range c3o {
		if t.Job == "pagerank" {
			return t
		}
	}
	b.Fatal("no pagerank")
	return Table{}
}

func benchmarkFit(b *testing.B, l predict.Learner) {
	t := benchmarkTable(b)
	for b.Loop() {
		if _, err := l.Fit(context.Background(), t.without(0)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFitDefault(b *testing.B) {
	benchmarkFit(b, structured.New("default", structured.Options{}))
}
func BenchmarkFitBellamy(b *testing.B) { benchmarkFit(b, bellamy.Learner{}) }

func benchmarkCondition(b *testing.B, l predict.Learner) {
	t := benchmarkTable(b)
	g, err := l.Fit(context.Background(), t.without(0))
	if err != nil {
		b.Fatal(err)
	}
	h := t.Histories[0]
	var runs []predict.Observation
	for i := 0; i < len(h.Runs); i += 5 {
		runs = append(runs, h.Runs[i])
	}
	for b.Loop() {
		p, err := g.Condition(h.Context, runs)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Predict(7); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConditionDefault(b *testing.B) {
	benchmarkCondition(b, structured.New("default", structured.Options{FixedParams: true}))
}
func BenchmarkConditionBellamy(b *testing.B) { benchmarkCondition(b, bellamy.Learner{}) }

func benchmarkPredict(b *testing.B, l predict.Learner) {
	t := benchmarkTable(b)
	g, err := l.Fit(context.Background(), t.without(0))
	if err != nil {
		b.Fatal(err)
	}
	p, err := g.Condition(t.Histories[0].Context, t.Histories[0].Runs[:3])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for x := 1; x <= 64; x++ {
			if _, err := p.Predict(x); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/prediction")
}

func BenchmarkPredictDefault(b *testing.B) {
	benchmarkPredict(b, structured.New("default", structured.Options{FixedParams: true}))
}
func BenchmarkPredictBellamy(b *testing.B) { benchmarkPredict(b, bellamy.Learner{}) }
