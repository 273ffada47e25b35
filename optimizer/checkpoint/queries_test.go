package checkpoint_test

import (
	"math"
	"math/bits"
	"os"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/optimizer/checkpoint"
	"github.com/karasu-project/karasu/optimizer/checkpoint/replay"
)

// On the public queries with few stages the exact cut is the best of all sets.
func TestExactCutsOfQueriesAreTheBestOfAllSets(t *testing.T) {
	f, err := os.Open(modeltest.Data(t, "stages/tpc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	jobs, err := replay.Queries(true)(f)
	if err != nil {
		t.Fatal(err)
	}
	const most = 12
	looked := 0
	for _, j := range jobs {
		if j.Graph.Len() > most {
			continue
		}
		looked++
		for _, share := range []float64{.5, .25, .1, .05} {
			p := checkpoint.Share(j.Graph, share)
			r, err := checkpoint.Solve(j.Graph, p, checkpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := bestOfAllSets(j.Graph, p.Budget); !r.Exact || math.Abs(r.ByteSeconds-want) > 1e-9*want {
				t.Errorf("%s, budget %g: frees %g (exact: %v), the best set %g", j.Name, share, r.ByteSeconds, r.Exact, want)
			}
		}
	}
	if looked < 50 {
		t.Errorf("only %d queries have at most %d stages", looked, most)
	}
}

func bestOfAllSets(g *checkpoint.Graph, budget float64) float64 {
	stages := g.Stages()
	place := map[int]int{}
	parents, children := make([]int, len(stages)), make([]int, len(stages))
	for i, s := range stages {
		place[s.ID] = i
		for _, p := range s.Parents {
			parents[i] |= 1 << place[p]
			children[place[p]] |= 1 << i
		}
	}
	best := 0.0
	for set := 1; set < 1<<len(stages); set++ {
		worth, cost, closed := 0.0, 0.0, true
		for i, s := range stages {
			if set>>i&1 == 0 {
				continue
			}
			closed = closed && parents[i]&^set == 0
			worth += s.Bytes
			if children[i]&^set != 0 {
				cost += s.Bytes
			}
		}
		if last := bits.Len(uint(set)) - 1; closed && cost <= budget {
			best = max(best, worth*(g.Seconds()-stages[last].End))
		}
	}
	return best
}
