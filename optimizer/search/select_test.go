package search

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

func TestSelectSupports(t *testing.T) {
	candidates := space(36)
	other := model.Topic{Infrastructure: "aws", Framework: "flink", Algorithm: "join"}
	related := model.Topic{Infrastructure: "aws", Framework: "spark", Algorithm: "join"}
	named := func(author string, s Support) Support {
		s.Author = author
		return s
	}
	inverted := named("liar", supportOf(candidates, spark, 1, 3, -1))
	alike := named("friend", supportOf(candidates, spark, 2, 3, 1))
	second := named("friend", supportOf(candidates, spark, 3, 3, 1))
	far := named("far", supportOf(candidates, other, 4, 3, 1))
	near := named("near", supportOf(candidates, related, 5, 3, 1))
	p := &Problem{Topic: spark, Candidates: candidates, Objective: Cost, Target: time.Hour}
	var observed []Observation
	for _, i := range []int{0, 8, 17, 30} {
		observed = append(observed, ran(candidates[i], runtime(candidates[i], 700), model.OK))
	}
	got := SelectSupports(p, []Support{far, inverted, near, second, alike}, observed, 4)
	var order []string
	for _, s := range got {
		order = append(order, s.Author+" "+s.Summary.Topic.Algorithm)
	}
	// The friend's second support waits until the liar, however unlikely, had its turn.
	if diff := cmp.Diff([]string{"friend sort", "liar sort", "friend sort", "near join"}, order); diff != "" {
		t.Errorf("selection (-want +got):\n%s", diff)
	}
}

func TestOneAuthorCannotCrowdOutOthers(t *testing.T) {
	candidates := space(18)
	var all []Support
	for i := range 500 {
		s := supportOf(candidates, spark, i, 2, 1)
		s.Author = "flood"
		all = append(all, s)
	}
	honest := supportOf(candidates, spark, 1000, 6, 1)
	honest.Author = "honest"
	got := SelectSupports(&Problem{Topic: spark, Candidates: candidates}, append(all, honest), nil, 8)
	for _, s := range got {
		if s.Author == "honest" {
			return
		}
	}
	t.Error("500 supports of one author left no place for another's")
}

// BenchmarkSelectFrom10000 is the search for useful supports among all that a large
// network knows, and the suggestion that follows it.
func BenchmarkSelectFrom10000(b *testing.B) {
	candidates := space(69)
	topics := []model.Topic{spark, {Infrastructure: "aws", Framework: "spark", Algorithm: "join"}, {Infrastructure: "aws", Framework: "flink", Algorithm: "sort"}}
	rng := rand.New(rand.NewPCG(1, 1))
	var all []Support
	for i := range 10_000 {
		s := supportOf(candidates, topics[rng.IntN(len(topics))], i, 7, 1)
		s.Author = fmt.Sprint("author ", i%400)
		all = append(all, s)
	}
	p := &Problem{Topic: spark, Candidates: candidates, Objective: Cost, Target: time.Hour}
	observed := []Observation{ran(candidates[3], 900, model.OK), ran(candidates[40], 500, model.OK), ran(candidates[60], 400, model.OK)}
	m := NewEvidence()
	for b.Loop() {
		q := *p
		q.Supports = SelectSupports(p, all, observed, 2*MaxEvidenceSupports)
		if _, err := m.Evaluate(&q, observed); err != nil {
			b.Fatal(err)
		}
	}
}
