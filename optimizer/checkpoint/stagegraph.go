package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Assumption is something that a stage graph does not tell and the optimizer took for
// granted.
type Assumption struct {
	// Text says what was assumed, Stages of how many stages.
	Text   string
	Stages int
}

// String returns "text (n stages)".
func (a Assumption) String() string {
	unit := "stages"
	if a.Stages == 1 {
		unit = "stage"
	}
	return fmt.Sprintf("%s (%d %s)", a.Text, a.Stages, unit)
}

// Marks names stages that are special, by ID. Nil functions mark none.
type Marks struct {
	Pinned, Hotspot func(id int) bool
}

// FromStages makes the graph of a measured execution: attempts of a stage collapse
// into one; the output is what the stage wrote for its children. What the execution
// does not tell is assumed and listed. Errors: those of [NewGraph] and of
// [model.StageGraph.Validate].
func FromStages(m model.StageGraph, marks Marks) (*Graph, []Assumption, error) {
	if len(m.Stages) == 0 {
		return nil, nil, ErrEmpty
	}
	if err := m.Validate(); err != nil {
		return nil, nil, err
	}
	stages := m.Collapse().Stages
	read := make(map[int]bool, len(stages))
	for _, s := range stages {
		for _, p := range s.Parents {
			read[p] = true
		}
	}
	var ends, sizes, instants count
	out := make([]Stage, 0, len(stages))
	for _, s := range stages {
		t := Stage{ID: s.ID, Parents: s.Parents, Bytes: s.ShuffleWriteBytes, Start: s.StartSeconds, End: s.EndSeconds}
		t.Pinned = marks.Pinned != nil && marks.Pinned(s.ID)
		t.Hotspot = marks.Hotspot != nil && marks.Hotspot(s.ID)
		ends.add(s.EndEstimated)
		instants.add(s.EndSeconds <= s.StartSeconds)
		sizes.add(read[s.ID] && s.ShuffleWriteBytes == 0)
		out = append(out, t)
	}
	g, err := NewGraph(out)
	if err != nil {
		return nil, nil, err
	}
	raised := count(g.raised)
	return g, assumptions(map[string]count{
		"the source does not tell the end: the end of the last task is taken":                                              ends,
		"no time passed from start to end: the stage is taken as instantaneous":                                            instants,
		"others read the stage, but it wrote nothing, as for a broadcast: its output is taken as empty and computed again": sizes,
		"the stage ended before a stage that it reads from: its end is taken as that of the parent":                        raised,
	}), nil
}

type count int

func (c *count) add(yes bool) {
	if yes {
		*c++
	}
}

// assumptions lists those that were made, in order of their texts.
func assumptions(counts map[string]count) []Assumption {
	var out []Assumption
	for text, n := range counts {
		if n > 0 {
			out = append(out, Assumption{Text: text, Stages: int(n)})
		}
	}
	slices.SortFunc(out, func(a, b Assumption) int { return strings.Compare(a.Text, b.Text) })
	return out
}
