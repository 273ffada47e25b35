package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Executions are n made-up Spark applications, each of another query: two scans, a join and
// an aggregate on 2 hosts with 4 slots each. Task time is 0.5 s and the bytes read over
// 50 MB/s, durations are task time over the slots and 0.2 s, with some noise. The same
// seed makes the same applications; the private names in them start with the given word.
func Executions(n int, word string, seed uint64) []model.Execution {
	random := rand.New(rand.NewPCG(seed, 4))
	out := make([]model.Execution, n)
	for i := range out {
		out[i] = execution(i, word, seed, random)
	}
	return out
}

func execution(i int, word string, seed uint64, random *rand.Rand) model.Execution {
	const slots = 8
	noise := func() float64 { return math.Exp(.05 * random.NormFloat64()) }
	id := fmt.Sprintf("app-%d-%d", seed, i)
	e := model.Execution{
		Origin: "spark/" + id + "/1", Framework: "spark", ApplicationID: id, Name: fmt.Sprintf("%s query %d", word, i),
		MainClass: word + ".Main", QuerySignature: fmt.Sprintf("%016x", i), Outcome: model.OK,
		Start:   time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC),
		Cluster: model.Cluster{Hosts: 2, MaxExecutors: 2, ExecutorCores: slots / 2},
		Graph:   &model.StageGraph{},
	}
	var now float64
	add := func(operators []string, parents []int, in, out float64) {
		s := model.Stage{
			ID: len(e.Graph.Stages), Name: "count at " + word + ".scala:7", Details: word, Operators: operators, Parents: parents,
			Query: -1, Tasks: slots, Finished: slots, Outcome: model.OK,
			TaskSeconds: (.5 + in/50e6) * noise(), ShuffleWriteBytes: out, StartSeconds: now,
		}
		if len(parents) == 0 {
			s.InputBytes = in
			e.InputBytes += in
		} else {
			s.ShuffleReadBytes = in
		}
		now += .2 + s.TaskSeconds/slots
		s.EndSeconds = now
		e.Graph.Stages = append(e.Graph.Stages, s)
	}
	a, b := math.Exp(18+4*random.Float64()), math.Exp(16+4*random.Float64())
	add([]string{"FilterExec", "FileSourceScanExec", word + "Exec"}, nil, a, a/4*noise())
	add([]string{"FileSourceScanExec"}, nil, b, b/2*noise())
	add([]string{"SortMergeJoinExec"}, []int{0, 1}, a/4+b/2, (a/4+b/2)/10*noise())
	add([]string{"HashAggregateExec"}, []int{2}, (a/4+b/2)/10, 0)
	e.End = e.Start.Add(time.Duration(now * float64(time.Second)))
	return e
}
