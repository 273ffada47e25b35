package spark

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Reasons for which a log makes no execution.
var (
	// ErrNoEvents says that there is no event: the file is something else, or empty.
	ErrNoEvents = errors.New("holds no Spark event: it is empty or not an event log")
	// ErrHeadless says that there is only a later part of a log.
	ErrHeadless = errors.New("starts in the middle of an application: import it together with the parts before it")
	// ErrNoStart says that it holds neither the start of an application nor anything
	// that it ran. A log that was just begun is such.
	ErrNoStart = errors.New("holds no start of an application and nothing that it ran: it was cut, or just begun")
)

// Execution returns what is known so far. It may be called between lines, and lines
// may follow.
func (p *Parser) Execution() (*model.Execution, error) {
	switch {
	case p.Empty():
		return nil, ErrNoEvents
	case p.headless():
		return nil, ErrHeadless
	case p.app.Time == 0 && p.lastWork == 0:
		return nil, ErrNoStart
	}
	notes := maps.Clone(p.notes)
	start := p.start(notes)
	end, estimated := p.end(start, notes)
	id := p.id()
	attempt := cmp.Or(p.app.Attempt, cleanName(p.env.property("spark.app.attempt.id")))
	e := &model.Execution{
		Origin:    Origin(id, attempt, time.UnixMilli(start)),
		Framework: "spark", Version: p.sparkVersion(),
		ApplicationID: id, Attempt: attempt,
		Name: cmp.Or(p.app.Name, cleanName(p.env.property("spark.app.name"))), User: p.app.User,
		Queue: p.env.queue(), MainClass: p.env.mainClass, QuerySignature: p.queries.hex(),
		Properties: maps.Clone(p.env.properties),
		Start:      time.UnixMilli(start).UTC(), End: time.UnixMilli(end).UTC(), EndEstimated: estimated,
		Outcome: p.outcome(), Jobs: p.jobs.total, FailedJobs: p.jobs.failed,
		Tasks: p.totals.summary(),
	}
	e.Executors = p.executorList(start, end)
	e.Cluster = p.cluster(e.Executors)
	e.Graph = p.graph(start, end, notes)
	e.InputBytes = p.inputBytes(e.Graph)
	e.Metrics = model.Metrics{CPU: p.cpuShares(start, end), Memory: p.totals.memory.shares()}
	e.Quality = p.quality
	e.Quality.Notes = noteList(notes)
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("does not make sense: %w", err)
	}
	return e, nil
}

// Origin identifies an attempt of an application. Ids of local and standalone runs
// repeat between machines, which the start tells apart.
func Origin(id, attempt string, start time.Time) string {
	short := func(s string, n int) string { return strings.ToValidUTF8(clip(s, n), "") }
	return fmt.Sprintf("spark/%s/%s/%d", short(id, 400), cmp.Or(short(attempt, 80), "1"), start.UnixMilli())
}

// start returns the application's start, and otherwise the time that the driver noted
// or the first of any event.
func (p *Parser) start(notes map[string]int) int64 {
	if p.app.Time != 0 {
		return p.app.Time
	}
	notes["no start of the application; it is that of the first event"]++
	if ms, err := strconv.ParseInt(p.env.property("spark.app.startTime"), 10, 64); err == nil && ms >= minTime && ms <= p.first {
		return ms
	}
	return p.first
}

// end returns the application's end, and whether it is estimated for want of a better:
// by the last time of a job, stage or task, or else of any event.
func (p *Parser) end(start int64, notes map[string]int) (int64, bool) {
	longest := start + model.MaxRuntime.Milliseconds()
	if p.ended && p.endTime >= start && p.endTime <= longest {
		return p.endTime, false
	}
	if p.ended {
		notes["the application ends before it starts; its end is estimated"]++
	} else {
		notes["no end of the application; it is estimated"]++
	}
	return min(max(cmp.Or(p.lastWork, p.last), start), longest), true
}

// outcome tells how it ended: by the exit code (from Spark 4.0), and otherwise by
// whether the last job, or the last query, failed. Spark does not write how the
// program itself ended.
func (p *Parser) outcome() model.Outcome {
	switch {
	case !p.ended:
		return 0
	case p.exitCode != 0, p.jobs.lastFailed, p.lastQuery != "":
		return model.Failed
	case p.jobs.running[p.jobs.lastStarted] != nil:
		return model.Failed // it was stopped while its last job ran
	}
	return model.OK
}

func (p *Parser) sparkVersion() string { return cmp.Or(p.version, p.classpathVersion) }

func (t *totals) summary() model.TaskTotals {
	s := t.TaskTotals
	s.DurationSeconds, s.GCShare = t.duration.distribution(), t.gc.distribution()
	s.InputBytesPerTask, s.OutputBytesPerTask = t.input.distribution(), t.output.distribution()
	s.ShuffleReadPerTask, s.ShuffleWritePerTask = t.read.distribution(), t.write.distribution()
	s.SpillDiskPerTask, s.PeakExecutionBytesPerTask = t.spill.distribution(), t.peak.distribution()
	return s
}

// cpuShares returns percentiles over time of the CPU time used over the core time that
// executors held.
func (p *Parser) cpuShares(start, end int64) *model.Percentiles {
	if !p.totals.measuresCPU {
		return nil
	}
	used := p.totals.cpu // a copy
	used.cover(start, end)
	held := timeline{base: used.base, width: used.width}
	cores := p.env.localCores()
	for _, e := range p.executors.list {
		from, to, n := max(e.added, start), end, e.cores
		if e.gone {
			to = min(e.removed, end)
		}
		if n == 0 && p.local() {
			n = cores
		}
		if n > 0 && to > max(from, held.base) {
			from = max(from, held.base)
			held.spread(from, to, float64(n)*float64(to-from)*millisecond)
		}
	}
	return used.shareOf(&held)
}

// inputBytes returns the size of what the application read: where several stages read
// one source, as iterations over cached data do, that of the stage that read most.
func (p *Parser) inputBytes(g *model.StageGraph) float64 {
	if g == nil {
		return p.totals.unkept
	}
	sources := make(map[int]string)
	for _, st := range p.stages.list {
		sources[st.ID] = cmp.Or(st.source, "stage "+strconv.Itoa(st.ID))
	}
	most := make(map[string]float64)
	for _, s := range g.Collapse().Stages {
		most[sources[s.ID]] = max(most[sources[s.ID]], s.InputBytes)
	}
	sum := p.totals.unkept
	for _, key := range slices.Sorted(maps.Keys(most)) {
		sum += most[key]
	}
	return sum
}

func noteList(notes map[string]int) []string {
	var out []string
	for text, n := range notes {
		if n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		out = append(out, text)
	}
	slices.SortFunc(out, strings.Compare)
	return out[:min(len(out), model.MaxNotes)]
}

// graph returns the stages in the times of the run; nil where there are none.
func (p *Parser) graph(start, end int64, notes map[string]int) *model.StageGraph {
	expected := p.expected(offset(end, start, end))
	if len(p.stages.list)+len(expected) == 0 {
		return nil
	}
	g := &model.StageGraph{Stages: make([]model.Stage, 0, len(p.stages.list))}
	for _, st := range p.stages.list {
		g.Stages = append(g.Stages, st.within(start, end))
	}
	g.Stages = append(g.Stages, expected...)
	slices.SortFunc(g.Stages, func(a, b model.Stage) int { return cmp.Or(a.ID-b.ID, a.Attempt-b.Attempt) })
	if _, err := g.Order(); err != nil {
		notes["stages that depend on each other in a cycle; those edges are left out"]++
		for i := range g.Stages {
			s := &g.Stages[i]
			s.Parents = slices.DeleteFunc(s.Parents, func(parent int) bool {
				return p.stages.first[parent] >= p.stages.first[s.ID]
			})
		}
	}
	return g
}

// within returns the stage with times relative to the run's. A stage whose end is not
// in the log ended with its last task, or with the run.
func (st *stage) within(start, end int64) model.Stage {
	s := st.Stage
	s.Parents = slices.Clone(st.Parents)
	s.StartSeconds = offset(cmp.Or(st.submitted, st.launch), start, end)
	switch {
	case st.complete != 0:
		s.EndSeconds = offset(st.complete, start, end)
	case st.finish != 0:
		s.EndSeconds, s.EndEstimated = offset(st.finish, start, end), true
	default:
		s.EndSeconds, s.EndEstimated = offset(end, start, end), true
	}
	s.EndSeconds = max(s.EndSeconds, s.StartSeconds)
	s.Tasks = max(s.Tasks, min(s.Finished, math.MaxInt32))
	return s
}
