package replay

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

// timeline completes the times of a query's stages. Known ends are kept; another stage
// ends checkpoint.LaunchSeconds and its duration after its last parent, but not after the known
// start of a child. Stages come back as they are if they depend on each other in a
// cycle or on stages that are not there; [checkpoint.NewGraph] says so.
func timeline(raw []rawStage, matched bool) []checkpoint.Stage {
	parents := make([][]int, len(raw))
	for i, s := range raw {
		parents[i] = s.Parents
	}
	if matched {
		parents = broadcasts(raw)
	}
	at, order := topological(raw, parents)
	stages := make([]checkpoint.Stage, len(raw))
	known := make([]float64, len(raw)) // the earliest known start of a child
	for i := range raw {
		known[i] = maxMS
	}
	for i, s := range raw {
		if s.EndMS == nil {
			continue
		}
		for _, p := range parents[i] {
			if k, ok := at[p]; ok {
				known[k] = min(known[k], max(0, (*s.EndMS-s.DurationMS)/1e3))
			}
		}
	}
	for i, s := range raw {
		stages[i] = checkpoint.Stage{ID: s.ID, Parents: parents[i], Bytes: s.ShuffleWriteBytes}
	}
	for _, i := range order {
		s, t := raw[i], &stages[i]
		if s.EndMS != nil {
			t.End = *s.EndMS / 1e3
		} else {
			for _, p := range parents[i] {
				t.End = max(t.End, stages[at[p]].End)
			}
			t.End = min(t.End+checkpoint.LaunchSeconds+s.DurationMS/1e3, known[i])
		}
		t.Start = max(0, t.End-s.DurationMS/1e3)
	}
	return stages
}

// broadcasts returns the stages' parents with those edges that the data leaves out: a
// stage that reads a broadcast reads the latest stage before it that nobody else reads
// and that wrote no shuffle data.
func broadcasts(raw []rawStage) [][]int {
	read := make(map[int]bool)
	for _, s := range raw {
		for _, p := range s.Parents {
			read[p] = true
		}
	}
	parents := make([][]int, len(raw))
	byID := make([]int, len(raw))
	for i, s := range raw {
		parents[i], byID[i] = slices.Clone(s.Parents), i
	}
	slices.SortStableFunc(byID, func(a, b int) int { return cmp.Compare(raw[a].ID, raw[b].ID) })
	var sinks []int // IDs, ascending
	for _, i := range byID {
		for _, o := range raw[i].Operators {
			if n := len(sinks); n > 0 && strings.HasPrefix(o, "BroadcastQueryStage") {
				parents[i] = append(parents[i], sinks[n-1])
				sinks = sinks[:n-1]
			}
		}
		if !read[raw[i].ID] && raw[i].ShuffleWriteBytes == 0 {
			sinks = append(sinks, raw[i].ID)
		}
	}
	return parents
}

// topological returns the places of IDs and those places parents first; places in and
// behind a cycle, and behind stages that are not there, are left out.
func topological(raw []rawStage, parents [][]int) (at map[int]int, order []int) {
	at = make(map[int]int, len(raw))
	for i, s := range raw {
		at[s.ID] = i
	}
	children, missing := make([][]int, len(raw)), make([]int, len(raw))
	for i := range raw {
		missing[i] = len(parents[i])
		for _, p := range parents[i] {
			if k, ok := at[p]; ok {
				children[k] = append(children[k], i)
			}
		}
	}
	for i, n := range missing {
		if n == 0 {
			order = append(order, i)
		}
	}
	for k := 0; k < len(order); k++ {
		for _, c := range children[order[k]] {
			if missing[c]--; missing[c] == 0 {
				order = append(order, c)
			}
		}
	}
	return at, order
}

// schedule runs tasks on slots in the order in which they become ready, those of
// smaller ID first.
func schedule(raw []rawStage) ([]checkpoint.Stage, error) {
	parents := make([][]int, len(raw))
	stages := make([]checkpoint.Stage, len(raw))
	for i, s := range raw {
		parents[i] = s.Parents
		stages[i] = checkpoint.Stage{ID: s.ID, Parents: s.Parents, Bytes: s.OutputBytes}
	}
	if _, err := checkpoint.NewGraph(stages); err != nil { // cycles and strangers, before times
		return nil, err
	}
	at, _ := topological(raw, parents)
	children, missing := make([][]int, len(raw)), make([]int, len(raw))
	var ready, running events
	for i := range raw {
		missing[i] = len(parents[i])
		for _, p := range parents[i] {
			children[at[p]] = append(children[at[p]], i)
		}
		if missing[i] == 0 {
			heap.Push(&ready, event{0, raw[i].ID, i})
		}
	}
	now := 0.0
	for len(ready) > 0 || len(running) > 0 {
		for len(ready) > 0 && len(running) < slots {
			i := heap.Pop(&ready).(event).place
			stages[i].Start, stages[i].End = now, now+raw[i].DurationMS/1e3
			heap.Push(&running, event{stages[i].End, raw[i].ID, i})
		}
		done := heap.Pop(&running).(event)
		now = done.seconds
		for _, c := range children[done.place] {
			if missing[c]--; missing[c] == 0 {
				heap.Push(&ready, event{now, raw[c].ID, c})
			}
		}
	}
	return stages, nil
}

// event is something that happens to the task at a place.
type event struct {
	seconds   float64
	id, place int
}

// events is a heap by time, then ID.
type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].seconds, h[j].seconds), cmp.Compare(h[i].id, h[j].id)) < 0
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *events) Push(x any) { *h = append(*h, x.(event)) }

// Pop implements heap.Interface.
func (h *events) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
