package spark

import (
	"maps"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// plannedStage is what the start of a job tells of a stage that may come.
type plannedStage struct {
	id, tasks int
	name      string
	operators []string
	parents   []int64
}

// plan takes note of a stage of a job that has not run, where that is asked for.
func (p *Parser) plan(j *job, id int, info *stageInfo) {
	if !p.planned {
		return
	}
	if p.stages.edges += len(info.Parents); p.stages.edges > maxEdges {
		p.note("more parents than are kept")
		return
	}
	j.planned = append(j.planned, plannedStage{
		id: id, tasks: int(min(max(info.Tasks, 0), model.MaxTasks)), name: p.stages.words.intern(cleanName(info.Name)),
		operators: p.stages.operators(info.RDDs), parents: slices.Clone(info.Parents),
	})
}

// expected are the stages of running jobs that have not been submitted, at a time in
// seconds. One that will be skipped is among them if nothing tells whose shuffle it is.
func (p *Parser) expected(at float64) []model.Stage {
	var out []model.Stage
	known := make(map[int]bool)
	for _, id := range slices.Sorted(maps.Keys(p.jobs.running)) {
		j := p.jobs.running[id]
		for _, s := range j.planned {
			if !p.stages.executed(s.id) && !known[s.id] && len(p.stages.list)+len(out) < maxStages {
				known[s.id] = true
				out = append(out, model.Stage{
					ID: s.id, Name: s.name, Operators: s.operators, Query: j.query, Tasks: s.tasks,
					StartSeconds: at, EndSeconds: at, EndEstimated: true, Parents: p.plannedParents(s),
				})
			}
		}
	}
	for i := range out { // the log may be cut, or lie
		out[i].Parents = slices.DeleteFunc(out[i].Parents, func(parent int) bool { return !known[parent] && !p.stages.executed(parent) })
	}
	return out
}

// plannedParents are the numbers of a stage's parents: of those that ran, of those that
// wrote what a skipped one would have, and of others that are to come.
func (p *Parser) plannedParents(s plannedStage) []int {
	var out []int
	for _, n := range s.parents {
		parent, ok := stageNumber(n)
		if !ok || parent == s.id {
			continue
		}
		if wrote, ok := p.jobs.resolved[parent]; ok && !p.stages.executed(parent) {
			parent = wrote
		}
		if parent != s.id {
			out = append(out, parent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
