package replay

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// Synthetic is a job as large workflows are: pipelines side by side, each a number of
// layers that grow and shrink, with outputs that differ by orders of magnitude, joined
// now and then across pipelines.
//
// n is the number of stages, rounded to a multiple of 200 and at least that.
func Synthetic(n int) (*checkpoint.Graph, error) {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	const pipelines, layers = 20, 10
	if n > checkpoint.MaxStages {
		return nil, fmt.Errorf("%w: %d stages are more than %d", checkpoint.ErrAmount, n, checkpoint.MaxStages)
	}
	var stages []checkpoint.Stage
	before := make([][]int, pipelines) // the last layer of each
	for range layers {
		next := make([][]int, pipelines)
		for p := range pipelines {
			size := math.Exp(2 * random.NormFloat64())
			for range max(1, n/pipelines/layers) {
				s := checkpoint.Stage{ID: len(stages), Bytes: math.Round(1e7 * size * math.Exp(random.NormFloat64()/2))}
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
	return checkpoint.NewGraph(stages)
}

// LatencyRow is the time of one method on a graph of some size, in milliseconds: the
// least of several calls, as other programs only add to it.
type LatencyRow struct {
	Stages int     `json:"stages"`
	Method string  `json:"method"`
	MS     float64 `json:"latency_ms"`
	// Gap is the certified distance to the optimum.
	Gap float64 `json:"gap"`
}

// latencyCalls are how often a method is timed.
const latencyCalls = 5

// Latency times the methods on synthetic graphs with a budget of a tenth of the output.
func Latency(clock Clock, limits Limits) ([]LatencyRow, error) {
	var rows []LatencyRow
	for _, n := range []int{2_000, 20_000} {
		g, err := Synthetic(n)
		if err != nil {
			return nil, err
		}
		for _, m := range []string{Prefix, Heuristic, Exact} {
			row := LatencyRow{Stages: g.Len(), Method: m, MS: math.Inf(1)}
			for range latencyCalls {
				start := clock.now()
				r, err := call(m, g, checkpoint.Share(g, .1), clock, limits)
				if err != nil {
					return nil, err
				}
				row.MS, row.Gap = min(row.MS, 1e3*(clock.now()-start)), r.Gap()
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
