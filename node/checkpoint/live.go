package checkpoint

import (
	"cmp"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
)

// live is a job that runs: its stages, those that have finished as they were, and what it
// was decided to persist.
type live struct {
	goal   *goal
	stages []model.Stage
	marks  optimizer.Marks
	done   func(id int) bool
	// committed are the cuts so far, the earliest first.
	committed []optimizer.Cut
}

// step is what is best as of now.
type step struct {
	graph *optimizer.Graph
	// cut is the next one to persist; nil where none is worth it.
	cut *optimizer.Cut
	// missing are the stages before it that have not finished; without any, it is time to
	// commit.
	missing []int
}

// commit says that the best cut holds only finished stages.
func (s *step) commit() bool { return s.cut != nil && len(s.missing) == 0 }

// decide solves again with what is known now, which is up to the last end of a finished
// stage: their true sizes, the forecast of the others, and what of the budget and the cuts
// is left.
func (l *live) decide(f *stage.Forecast) (*step, error) {
	graph, err := l.now(f)
	if err != nil {
		return nil, err
	}
	out := &step{graph: graph}
	left := int(l.goal.message.GetCuts()) - len(l.committed)
	if left <= 0 {
		return out, nil
	}
	p := l.goal.problem(graph)
	if len(l.committed) > 0 {
		p.Unlimited, p.Budget = false, l.goal.budget(graph)
		for _, c := range l.committed {
			p.Budget = max(0, p.Budget-c.DurableBytes)
		}
		p.HotspotsOnly = true // what is freed already is marked as none, see now
	}
	s, err := l.goal.cuts(graph, p, left, left)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.SortedStableFunc(slices.Values(s.cuts), func(a, b optimizer.Cut) int { return cmp.Compare(a.Seconds, b.Seconds) }) {
		if !l.adds(c) {
			continue
		}
		out.cut = &c
		for _, id := range c.Before {
			if !l.done(id) {
				out.missing = append(out.missing, id)
			}
		}
		slices.Sort(out.missing)
		return out, nil
	}
	return out, nil
}

// adds says whether a cut is worth something beside those that were committed to: against
// failures where it goes on later, for storage where it holds more.
func (l *live) adds(c optimizer.Cut) bool {
	for _, k := range l.committed {
		if l.goal.message.GetObjective() == Restart && c.RestartSeconds <= k.RestartSeconds {
			return false
		}
		if len(c.Before) <= len(k.Before) {
			return false
		}
	}
	return true
}

// now is the graph as of now.
func (l *live) now(f *stage.Forecast) (*optimizer.Graph, error) {
	by := make(map[int]stage.Prediction, len(f.Stages))
	for _, p := range f.Stages {
		by[p.ID] = p
	}
	freed := make(map[int]bool)
	for _, c := range l.committed {
		for _, id := range c.Before {
			freed[id] = true
		}
	}
	list := optimizerStages(l.stages, by, l.marks)
	if len(l.committed) > 0 {
		for i := range list {
			s := &list[i]
			s.Hotspot = (s.Hotspot || l.marks.Hotspot == nil) && !freed[s.ID]
		}
	}
	planner, err := optimizer.NewPlanner(list, optimizer.Problem{Unlimited: true}, optimizer.Options{})
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if l.done(s.ID) {
			if err := planner.Finish(s.ID, s.Bytes, s.Start, s.End); err != nil {
				return nil, err
			}
		}
	}
	return planner.Graph()
}
