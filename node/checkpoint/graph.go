package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
)

// jobGraph is a job as the optimizer sees it, and what its stages are.
type jobGraph struct {
	graph *optimizer.Graph
	// stages by ID, each once, in order of ID.
	stages map[int]model.Stage
	ids    []int
	// forecast by stage ID; nil where all was measured.
	forecast    map[int]stage.Prediction
	framework   string
	assumptions []string
}

// marks are the stages that a goal treats apart.
func (g *goal) marks(e *model.Execution, stages []model.Stage) (optimizer.Marks, []string, error) {
	pinned, err := g.pinned(stages)
	if err != nil {
		return optimizer.Marks{}, nil, err
	}
	m := optimizer.Marks{Pinned: pinned}
	if len(g.message.GetHotspots()) == 0 {
		return m, nil, nil
	}
	hot, note, err := hotspots(e, stages, g.message.GetHotspots())
	if err != nil {
		return optimizer.Marks{}, nil, err
	}
	m.Hotspot = func(id int) bool { return hot[id] }
	return m, []string{note}, nil
}

// measured is the graph of an execution as it ran. The error wraps [ErrNoStages],
// [model.ErrInvalid] or those of the optimizer.
func (g *goal) measured(e *model.Execution) (*jobGraph, error) {
	stages, err := stagesOf(e)
	if err != nil {
		return nil, err
	}
	marks, notes, err := g.marks(e, stages)
	if err != nil {
		return nil, err
	}
	graph, assumed, err := optimizer.FromStages(*e.Graph, marks)
	if err != nil {
		return nil, fmt.Errorf("stages of %s: %w", e.Origin, err)
	}
	out := newJobGraph(graph, stages, e.Framework)
	out.assumptions = slices.Concat(notes, recordNotes(e))
	for _, a := range assumed {
		out.assumptions = append(out.assumptions, a.String())
	}
	if e.Outcome == 0 {
		out.assumptions = append(out.assumptions, "its record does not tell how it ended: it is taken to end with its last stage")
	}
	return out, nil
}

// recordNotes are what a record says of its own making, such as edges of a cycle that were
// left out.
func recordNotes(e *model.Execution) []string {
	out := make([]string, 0, len(e.Quality.Notes))
	for _, n := range e.Quality.Notes {
		out = append(out, "when it was imported: "+n)
	}
	return out
}

// stagesOf are an execution's stages, each once.
func stagesOf(e *model.Execution) ([]model.Stage, error) {
	if e.Graph == nil || len(e.Graph.Stages) == 0 {
		return nil, fmt.Errorf("%w: the record of %s holds none", ErrNoStages, e.Origin)
	}
	return e.Graph.Collapse().Stages, nil
}

func newJobGraph(graph *optimizer.Graph, stages []model.Stage, framework string) *jobGraph {
	out := &jobGraph{graph: graph, framework: framework, stages: make(map[int]model.Stage, len(stages))}
	for _, s := range stages {
		out.stages[s.ID] = s
		out.ids = append(out.ids, s.ID)
	}
	slices.Sort(out.ids)
	return out
}

// predicted is the graph of an execution with predicted sizes and times; finished stages
// are in the forecast as measured.
func (g *goal) predicted(e *model.Execution, f *stage.Forecast) (*jobGraph, error) {
	stages, err := stagesOf(e)
	if err != nil {
		return nil, err
	}
	marks, notes, err := g.marks(e, stages)
	if err != nil {
		return nil, err
	}
	by := make(map[int]stage.Prediction, len(f.Stages))
	for _, p := range f.Stages {
		by[p.ID] = p
	}
	list := optimizerStages(stages, by, marks)
	graph, err := optimizer.NewGraph(list)
	if err != nil {
		return nil, fmt.Errorf("predicted stages of %s: %w", e.Origin, err)
	}
	out := newJobGraph(graph, stages, e.Framework)
	out.forecast, out.assumptions = by, slices.Concat(notes, recordNotes(e))
	return out, nil
}

// optimizerStages joins the shape of a job with what is predicted of its stages.
func optimizerStages(stages []model.Stage, by map[int]stage.Prediction, marks optimizer.Marks) []optimizer.Stage {
	list := make([]optimizer.Stage, 0, len(stages))
	for _, s := range stages {
		p := by[s.ID]
		bytes := p.OutputBytes.Quantile(optimizer.SizeQuantile)
		if p.Finished {
			bytes = s.ShuffleWriteBytes
		}
		list = append(list, optimizer.Stage{
			ID: s.ID, Parents: s.Parents, Bytes: bytes, Start: p.StartSeconds, End: p.EndSeconds,
			Pinned: marks.Pinned(s.ID), Hotspot: marks.Hotspot != nil && marks.Hotspot(s.ID),
		})
	}
	return list
}

// maxHostsNamed bounds the hosts that an error names.
const maxHostsNamed = 5

// hotspots says which stages ran on the named hosts. A record tells which executors were
// there while a stage ran, not which of them ran how many of its tasks: a stage counts
// where at least half of the core time of executors during it was on these hosts.
func hotspots(e *model.Execution, stages []model.Stage, names []string) (map[int]bool, string, error) {
	known := make(map[string]bool)
	for _, x := range e.Executors {
		if x.Host != "" {
			known[x.Host] = true
		}
	}
	if len(known) == 0 {
		return nil, "", badInput("hotspots", "cannot be told apart: the record of %s does not tell on which hosts it ran", e.Origin)
	}
	named := make(map[string]bool, len(names))
	for _, n := range names {
		if !known[n] {
			return nil, "", badInput("hotspots", "name a host on which %s had no executor: %q; it had on %s", e.Origin, model.Clip(n), someHosts(known))
		}
		named[n] = true
	}
	hot := make(map[int]bool)
	for _, s := range stages {
		var on, all float64
		for _, x := range e.Executors {
			shared := min(x.RemovedSeconds, s.EndSeconds) - max(x.AddedSeconds, s.StartSeconds)
			if shared < 0 || x.Host == "" {
				continue
			}
			time := max(shared, 1e-3) * float64(max(1, x.Cores)) // an instantaneous stage ran somewhere, too
			if all += time; named[x.Host] {
				on += time
			}
		}
		if all > 0 && on >= all/2 {
			hot[s.ID] = true
		}
	}
	note := fmt.Sprintf("%d of %d stages count as on the hotspots: those during which at least half of the cores were there; the record does not tell which executor ran which task",
		len(hot), len(stages))
	return hot, note, nil
}

func someHosts(known map[string]bool) string {
	var list []string
	for h := range known {
		list = append(list, h)
	}
	slices.Sort(list)
	if len(list) > maxHostsNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxHostsNamed], ", "), len(list)-maxHostsNamed)
	}
	return strings.Join(list, ", ")
}
