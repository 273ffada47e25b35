package search

import (
	"slices"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

// TestTreesInALargeSpace: with the most candidates allowed fewer runs are asked, and the
// answer is as sound as any.
func TestTreesInALargeSpace(t *testing.T) {
	p := &Problem{Topic: spark, Candidates: space(MaxCandidates), Objective: Cost, Target: 10 * time.Minute}
	var observed []Observation
	for i := range 12 {
		c := p.Candidates[i*i*30]
		observed = append(observed, ran(c, runtime(c, 500), model.OK))
	}
	e, err := NewArrow().Evaluate(p, observed)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEvaluation(p, observed, e); err != nil {
		t.Error(err)
	}
	all := []source{{logRuntime: 1}, {logRuntime: 2}, {logRuntime: 3}, {logRuntime: 4}, {logRuntime: 5}}
	for n, want := range map[int][]source{2: {all[1], all[4]}, 3: {all[0], all[2], all[4]}, 5: all, 9: all} {
		if got := evenly(all, n); !slices.Equal(got, want) {
			t.Errorf("%d of 5: %v, want %v", n, got, want)
		}
	}
}

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
