package replay

import (
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// submitSeconds is from the end of a stage's last parent to its start.
const submitSeconds = .13

// broadcasts finds the edges that the data lacks: each operator that reads a broadcast
// is matched to the latest stage with a smaller number that writes no shuffle and that
// no other read.
func broadcasts(stages []model.Stage) map[int][]int {
	out := make(map[int][]int)
	var open []int
	for _, s := range stages {
		for _, o := range s.Operators {
			if o == "BroadcastQueryStageExec" && len(open) > 0 {
				out[s.ID] = append(out[s.ID], open[len(open)-1])
				open = open[:len(open)-1]
			}
		}
		if s.ShuffleWriteBytes == 0 {
			open = append(open, s.ID)
		}
	}
	return out
}

// timeline sets starts and ends of stages: a measured end is kept; any other is the latest
// end of a parent, plus what submission takes, plus the duration, but not after a
// child's measured start. Durations stay as measured.
func timeline(q *tpcQuery, out *Query) {
	stages := out.Graph.Stages
	at := make(map[int]int, len(stages))
	latest := make([]float64, len(stages))
	for i, s := range stages {
		at[s.ID] = i
		latest[i] = q.Duration / 1000
	}
	parents := func(i int) []int { return slices.Concat(stages[i].Parents, out.Broadcasts[stages[i].ID]) }
	for i, s := range q.Stages {
		if s.End == nil {
			continue
		}
		for _, p := range parents(i) {
			latest[at[p]] = min(latest[at[p]], (*s.End-s.Duration)/1000)
		}
	}
	for _, id := range order(out) {
		i := at[id]
		s := &stages[i]
		duration := q.Stages[i].Duration / 1000
		var ready float64
		for _, p := range parents(i) {
			ready = max(ready, stages[at[p]].EndSeconds+submitSeconds)
		}
		if end := q.Stages[i].End; end != nil {
			s.EndSeconds = *end / 1000
		} else {
			s.EndSeconds = min(ready+duration, latest[i])
		}
		s.EndSeconds = max(s.EndSeconds, duration)
		s.StartSeconds = math.Max(0, s.EndSeconds-duration)
	}
}

// order has the parents first, also those of broadcasts, which have smaller numbers.
func order(q *Query) []int {
	g := model.StageGraph{}
	for _, s := range q.Graph.Stages {
		parents := slices.Concat(s.Parents, q.Broadcasts[s.ID])
		slices.Sort(parents)
		g.Stages = append(g.Stages, model.Stage{ID: s.ID, Parents: slices.Compact(parents)})
	}
	ids, err := g.Order()
	if err != nil { // a broadcast that closes a cycle with shuffles
		q.Broadcasts = nil
		ids, _ = q.Graph.Order()
	}
	return ids
}
