package search

import (
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

// BenchmarkTrees suggests with 69 candidates, ten supports of ten runs and eight runs of
// the target.
func BenchmarkTrees(b *testing.B) {
	c := space(69)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, Seed: 4}
	for i := range 10 {
		p.Supports = append(p.Supports, supportOf(c, spark, i, 7, 1))
	}
	var observed []Observation
	for i := range 8 {
		observed = append(observed, ran(c[8*i], runtime(c[8*i], 500), model.OK))
	}
	for _, m := range []Method{NewArrow(), NewKarasuTrees()} {
		b.Run(m.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Evaluate(p, observed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
