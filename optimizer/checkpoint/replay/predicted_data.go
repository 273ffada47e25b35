package replay

import (
	"slices"

	"github.com/karasu-project/karasu/model"
	stagereplay "github.com/karasu-project/karasu/model/stage/replay"
)

// Sized completes runs of the history by what it does not tell, as [History] does: a stage
// that others read writes as many bytes as the run's input has, and a parent that was
// skipped stands for the latest stage that had ended.
func Sized(runs []stagereplay.Run) []stagereplay.Run {
	out := slices.Clone(runs)
	for i := range out {
		r := &out[i]
		r.Graph.Stages = slices.Clone(r.Graph.Stages)
		read := make(map[int]bool)
		for k := range r.Graph.Stages {
			s := &r.Graph.Stages[k]
			if r.Skipped[s.ID] {
				if before := latest(r.Graph.Stages, *s); before >= 0 {
					s.Parents = append(slices.Clone(s.Parents), before)
					slices.Sort(s.Parents)
					s.Parents = slices.Compact(s.Parents)
				}
			}
			for _, p := range s.Parents {
				read[p] = true
			}
		}
		for k := range r.Graph.Stages {
			if s := &r.Graph.Stages[k]; read[s.ID] {
				s.ShuffleWriteBytes = 1e9 * r.DataSize
			}
		}
	}
	return out
}

// latest is the stage that had ended last when another, of a larger ID, started, or -1.
func latest(stages []model.Stage, s model.Stage) int {
	best, at := -1, -1.
	for _, t := range stages {
		if t.EndSeconds <= s.StartSeconds && t.ID < s.ID && t.EndSeconds > at {
			best, at = t.ID, t.EndSeconds
		}
	}
	return best
}
