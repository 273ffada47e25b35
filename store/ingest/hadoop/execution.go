package hadoop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/internal/percentile"
	"github.com/karasu-project/karasu/store/ingest/internal/text"
)

// Stages of the graph.
const (
	mapStage = iota
	reduceStage
)

// span is the part of an attempt in the time of the run.
type span struct {
	*attempt
	from, to int64 // ms since 1970
}

func (s span) seconds() float64 { return float64(s.to-s.from) / 1000 }

// execution ends the reading of a history.
func (j *job) execution(c *jobConf) (*model.Execution, error) {
	if j.events == 0 {
		return nil, errNoEvents
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	start := j.launch
	if start == 0 {
		if start = cmp.Or(j.am, j.submit); start != 0 {
			note("no time of initialisation; the run starts when its application master did, or when it was submitted")
		}
	}
	if start == 0 {
		return nil, errNoTime
	}
	end, estimated := j.finish, false
	if end < start {
		if end != 0 {
			note("the job ends before it starts; its end is estimated")
		} else {
			note("no end of the job; it is estimated")
		}
		end, estimated = max(j.last, start), true
	}
	id := cmp.Or(jobID.FindString(j.id), text.Name(j.id))
	if id == "" {
		return nil, errNoEvents
	}
	e := &model.Execution{
		Origin: "hadoop/" + id, Framework: "hadoop", Version: c.version(),
		ApplicationID: application(id), Attempt: attemptNumber(j.amAttempt),
		Name: text.Name(j.name), User: text.Name(j.user), Queue: text.Name(cmp.Or(j.queue, c.get(queueName))), MainClass: text.Name(c.get(mapClass, oldMapClass)),
		Properties: map[string]string{},
		Start:      time.UnixMilli(start).UTC(), End: time.UnixMilli(end).UTC(), EndEstimated: estimated,
		Outcome: j.outcome, Jobs: 1,
	}
	if e.Outcome == model.Failed {
		e.FailedJobs = 1
	}
	if c != nil {
		maps.Copy(e.Properties, c.properties)
	}
	if j.submit != 0 {
		e.Properties["submitted"] = time.UnixMilli(j.submit).UTC().Format(time.RFC3339Nano)
	}
	spans := j.spans(start, end)
	mapContainer, reduceContainer := j.containers(c)
	e.Cluster = j.cluster(spans, mapContainer, reduceContainer)
	e.Graph = j.graph(spans, start, end)
	if maps, reduces := j.seen(); j.launch != 0 && (maps > j.maps || reduces > j.reduces) {
		note("holds %d maps and %d reduces, more than the %d and %d that the job says it has", maps, reduces, j.maps, j.reduces)
	}
	j.summarise(e, spans, mapContainer, reduceContainer)
	e.Quality.Events, e.Quality.UnknownEvents, e.Quality.Notes = j.events, j.unknown, notes
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("does not make sense: %w", err)
	}
	return e, nil
}

// spans returns the attempts that ran, in order of their ids, cut to the run's time.
// One whose end is unknown ran to the end.
func (j *job) spans(start, end int64) []span {
	var spans []span
	for _, id := range slices.Sorted(maps.Keys(j.attempts)) {
		a := j.attempts[id]
		if a.start == 0 && a.finish == 0 {
			continue
		}
		s := span{attempt: a, from: cmp.Or(a.start, a.finish), to: cmp.Or(a.finish, end)}
		s.from = min(max(s.from, start), end)
		s.to = min(max(s.to, s.from), end)
		spans = append(spans, s)
	}
	return spans
}

// graph has a stage for maps and one for reduces, each where an attempt of it ran.
func (j *job) graph(spans []span, start, end int64) *model.StageGraph {
	stages := [2]model.Stage{{ID: mapStage, Name: "map", Query: -1}, {ID: reduceStage, Name: "reduce", Query: -1}}
	var ran [2]bool
	for _, s := range spans {
		i := stageOf(s.task)
		st := &stages[i]
		from, to := float64(s.from-start)/1000, float64(s.to-start)/1000
		if !ran[i] || from < st.StartSeconds {
			st.StartSeconds = from
		}
		st.EndSeconds = max(st.EndSeconds, to)
		st.EndEstimated = st.EndEstimated || s.finish == 0
		ran[i] = true
		if s.failed || s.killed {
			st.FailedTasks++
		}
		if s.task.success == s.attempt {
			st.Finished++
			addTask(st, s)
		}
	}
	maps, reduces := j.seen()
	stages[mapStage].Tasks, stages[reduceStage].Tasks = max(j.maps, maps), max(j.reduces, reduces)
	g := &model.StageGraph{}
	for i, st := range stages {
		if !ran[i] {
			continue
		}
		if i == reduceStage && ran[mapStage] {
			st.Parents = []int{mapStage}
		}
		switch {
		case st.Finished >= st.Tasks:
			st.Outcome = model.OK
		case j.outcome != 0:
			st.Outcome = model.Failed
		}
		if j.outcome == 0 && st.Outcome == 0 {
			st.EndSeconds, st.EndEstimated = float64(end-start)/1000, true
		}
		g.Stages = append(g.Stages, st)
	}
	if len(g.Stages) == 0 {
		return nil
	}
	return g
}

// seen counts the tasks of each stage.
func (j *job) seen() (maps, reduces int) {
	for _, t := range j.tasks {
		if t.reduce {
			reduces++
		} else {
			maps++
		}
	}
	return maps, reduces
}

func stageOf(t *task) int {
	if t.reduce {
		return reduceStage
	}
	return mapStage
}

// addTask adds the amounts of a task's first success. Records that a map wrote are for
// the reduces, or for storage where there are none.
func addTask(st *model.Stage, s span) {
	c := s.counters
	st.TaskSeconds += s.seconds()
	st.RunSeconds += s.seconds()
	st.CPUSeconds += c["CPU_MILLISECONDS"] / 1000
	st.GCSeconds += c["GC_TIME_MILLIS"] / 1000
	st.OutputBytes += c.output()
	if s.task.reduce {
		st.ShuffleReadBytes += c["REDUCE_SHUFFLE_BYTES"]
		st.ShuffleReadRecords += c["REDUCE_INPUT_RECORDS"]
		st.OutputRecords += c["REDUCE_OUTPUT_RECORDS"]
		return
	}
	st.InputBytes += c.input()
	st.InputRecords += c["MAP_INPUT_RECORDS"]
	st.ShuffleWriteBytes += c["MAP_OUTPUT_MATERIALIZED_BYTES"]
	written := cmp.Or(c["COMBINE_OUTPUT_RECORDS"], c["MAP_OUTPUT_RECORDS"])
	if c["MAP_OUTPUT_MATERIALIZED_BYTES"] > 0 {
		st.ShuffleWriteRecords += written
	} else {
		st.OutputRecords += written
	}
}

// summarise sums over the tasks.
func (j *job) summarise(e *model.Execution, spans []span, mapContainer, reduceContainer container) {
	t := &e.Tasks
	var duration, gc, input, output, read, write, cpu, memory []percentile.Sample
	spilled := 0.0
	for _, s := range spans {
		switch {
		case s.failed:
			t.Failed++
		case s.killed:
			t.Killed++
		}
		if s.task.success != s.attempt {
			continue
		}
		t.Count++
		x, c, seconds := mapContainer, s.counters, s.seconds()
		if s.task.reduce {
			x = reduceContainer
			read = append(read, percentile.Of(c["REDUCE_SHUFFLE_BYTES"], 1))
		} else {
			input, write = append(input, percentile.Of(c.input(), 1)), append(write, percentile.Of(c["MAP_OUTPUT_MATERIALIZED_BYTES"], 1))
		}
		duration, output = append(duration, percentile.Of(seconds, 1)), append(output, percentile.Of(c.output(), 1))
		spilled += c["SPILLED_RECORDS"]
		if seconds > 0 {
			gc = append(gc, percentile.Of(min(1, c["GC_TIME_MILLIS"]/1000/seconds), 1))
			if x.cores > 0 {
				cpu = append(cpu, percentile.Of(min(1, c["CPU_MILLISECONDS"]/1000/seconds/x.cores), seconds))
			}
			if x.bytes > 0 {
				memory = append(memory, percentile.Of(min(1, c["PHYSICAL_MEMORY_BYTES"]/x.bytes), seconds))
			}
		}
	}
	if e.Graph != nil {
		for _, st := range e.Graph.Stages {
			t.Seconds += st.TaskSeconds
			t.RunSeconds += st.RunSeconds
			t.CPUSeconds += st.CPUSeconds
			t.GCSeconds += st.GCSeconds
			t.OutputBytes += st.OutputBytes
			t.ShuffleReadBytes += st.ShuffleReadBytes
			t.ShuffleWriteBytes += st.ShuffleWriteBytes
			e.InputBytes += st.InputBytes
		}
	}
	t.DurationSeconds, t.GCShare = percentile.Distribution(duration), percentile.Distribution(gc)
	t.InputBytesPerTask, t.OutputBytesPerTask = percentile.Distribution(input), percentile.Distribution(output)
	t.ShuffleReadPerTask, t.ShuffleWritePerTask = percentile.Distribution(read), percentile.Distribution(write)
	e.Metrics = model.Metrics{CPU: measured(cpu), Memory: measured(memory)}
	if spilled > 0 {
		e.Properties["spilled records"] = strconv.FormatFloat(spilled, 'f', -1, 64)
	}
}

// measured returns percentiles over the tasks' time; nil where all are 0, as on
// machines that do not count.
func measured(samples []percentile.Sample) *model.Percentiles {
	if !slices.ContainsFunc(samples, func(s percentile.Sample) bool { return s.Value > 0 }) {
		return nil
	}
	return percentile.Shares(samples)
}
