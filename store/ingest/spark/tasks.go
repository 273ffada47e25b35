package spark

import (
	"math"

	"github.com/karasu-project/karasu/model"
)

// totals over tasks.
type totals struct {
	model.TaskTotals
	duration, gc, input, output, read, write, spill, peak sketch
	memory                                                sketch   // shares of the executor's
	cpu                                                   timeline // seconds on a CPU
	measuresCPU                                           bool
	unkept                                                float64 // input of stages that are not kept
}

// amount makes a number of a log's: not negative, and so bounded that sums stay finite.
func amount(n int64) float64 { return float64(min(max(n, 0), 1<<53)) }

// spell makes a time of a log's in units of a second: not negative, at most ten years.
func spell(n int64, unit float64) float64 {
	return min(amount(n)*unit, model.MaxRuntime.Seconds())
}

const (
	millisecond = 1e-3
	nanosecond  = 1e-9
)

func (p *Parser) taskEnd(text []byte) error {
	var e taskEnd
	if err := decode(text, &e); err != nil {
		return err
	}
	id, ok := stageNumber(e.Stage)
	attempt, ok2 := stageNumber(e.Attempt)
	if !ok || !ok2 {
		return nil // of a stage that Spark no longer knew
	}
	launch, finish := p.worked(e.Info.Launch), p.worked(e.Info.Finish)
	st := p.stages.get(id, attempt)
	if st != nil {
		st.launch = earlier(st.launch, launch)
		st.finish = max(st.finish, finish)
		if e.Type == "ShuffleMapTask" {
			p.stages.wrote(st)
		}
	}
	if x := p.executors.seen(e.Info.Executor, e.Info.Host, launch); x != nil && e.Metrics != nil {
		p.sampleMemory(e.Executor, x.profile)
	}
	p.useCPU(&e, launch, finish)
	p.count(&e, st, launch, finish)
	return nil
}

func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// useCPU spreads a task's CPU time over its life, failed or not.
func (p *Parser) useCPU(e *taskEnd, launch, finish int64) {
	if e.Metrics == nil || e.Metrics.CPU <= 0 || launch == 0 || finish <= launch {
		return
	}
	p.totals.measuresCPU = true
	p.totals.cpu.spread(launch, finish, min(spell(e.Metrics.CPU, nanosecond), float64(finish-launch)*millisecond*maxCores))
}

// count adds a task to its stage and to the totals, unless its partition is counted.
func (p *Parser) count(e *taskEnd, st *stage, launch, finish int64) {
	t := &p.totals
	switch e.Reason.Reason {
	case "Success":
	case "Resubmitted": // says again that a task which was counted has to be repeated
		return
	case "TaskKilled":
		t.Killed++
		if st != nil {
			st.FailedTasks++
		}
		return
	default:
		t.Failed++
		if st != nil {
			st.FailedTasks++
		}
		return
	}
	if st != nil && e.Info.Index >= 0 && e.Info.Index <= math.MaxInt32 {
		isNew, kept := st.done.add(e.Info.Index, &p.stages.pages)
		if !kept {
			p.note("more tasks than are told apart")
		}
		if !isNew {
			return
		}
	}
	life := spell(finish-launch, millisecond)
	if launch == 0 {
		life = 0
	}
	t.Count++
	t.Seconds += life
	t.duration.add(life, 1)
	var s model.Stage
	s.TaskSeconds, s.Finished = life, 1
	if m := e.Metrics; m != nil {
		measure(&s, m)
		t.add(&s, amount(m.PeakExecution))
	}
	if st != nil {
		addTo(&st.Stage, &s)
	} else {
		t.unkept += s.InputBytes
	}
}

// measure takes a task's metrics.
func measure(s *model.Stage, m *taskMetrics) {
	s.RunSeconds = spell(m.Run, millisecond)
	s.CPUSeconds = spell(m.CPU, nanosecond)
	s.GCSeconds = spell(m.GC, millisecond)
	// Spark 1.x names where input came from; blocks of its own cache are not input.
	if m.Input.Method != "Memory" && m.Input.Method != "Disk" {
		s.InputBytes, s.InputRecords = amount(m.Input.Bytes), amount(m.Input.Records)
	}
	s.OutputBytes, s.OutputRecords = amount(m.Output.Bytes), amount(m.Output.Records)
	s.ShuffleReadBytes = amount(m.ShuffleRead.Remote) + amount(m.ShuffleRead.Local)
	s.ShuffleReadRecords = amount(m.ShuffleRead.Records)
	s.ShuffleWriteBytes, s.ShuffleWriteRecords = amount(m.ShuffleWrite.Bytes), amount(m.ShuffleWrite.Records)
	s.SpillMemoryBytes, s.SpillDiskBytes = amount(m.SpillMemory), amount(m.SpillDisk)
}

// add adds one task.
func (t *totals) add(s *model.Stage, peak float64) {
	t.RunSeconds += s.RunSeconds
	t.CPUSeconds += s.CPUSeconds
	t.GCSeconds += s.GCSeconds
	t.OutputBytes += s.OutputBytes
	t.ShuffleReadBytes += s.ShuffleReadBytes
	t.ShuffleWriteBytes += s.ShuffleWriteBytes
	t.SpillMemoryBytes += s.SpillMemoryBytes
	t.SpillDiskBytes += s.SpillDiskBytes
	if s.RunSeconds > 0 {
		t.gc.add(min(1, s.GCSeconds/s.RunSeconds), 1)
	}
	t.input.add(s.InputBytes, 1)
	t.output.add(s.OutputBytes, 1)
	t.read.add(s.ShuffleReadBytes, 1)
	t.write.add(s.ShuffleWriteBytes, 1)
	t.spill.add(s.SpillDiskBytes, 1)
	t.peak.add(peak, 1)
}

// addTo adds one task's amounts to its stage.
func addTo(st, s *model.Stage) {
	st.Finished += s.Finished
	st.TaskSeconds += s.TaskSeconds
	st.RunSeconds += s.RunSeconds
	st.CPUSeconds += s.CPUSeconds
	st.GCSeconds += s.GCSeconds
	st.InputBytes += s.InputBytes
	st.InputRecords += s.InputRecords
	st.OutputBytes += s.OutputBytes
	st.OutputRecords += s.OutputRecords
	st.ShuffleReadBytes += s.ShuffleReadBytes
	st.ShuffleReadRecords += s.ShuffleReadRecords
	st.ShuffleWriteBytes += s.ShuffleWriteBytes
	st.ShuffleWriteRecords += s.ShuffleWriteRecords
	st.SpillMemoryBytes += s.SpillMemoryBytes
	st.SpillDiskBytes += s.SpillDiskBytes
}

func (p *Parser) stageExecutorMetrics(text []byte) error {
	var e stageExecutorMetrics
	if err := decode(text, &e); err != nil {
		return err
	}
	if x := p.executors.get(e.Executor); x != nil {
		p.sampleMemory(e.Metrics, x.profile)
	}
	return nil
}

// sampleMemory adds a peak of an executor, as a share of what it was asked for: of the
// process tree where Spark measured that, and otherwise of the JVM.
func (p *Parser) sampleMemory(m executorMetrics, profile int64) {
	used := amount(m.JVMRSS) + amount(m.PythonRSS) + amount(m.OtherRSS)
	if used == 0 {
		used = amount(m.Heap) + amount(m.OffHeap)
	}
	if has := p.memory(profile); used > 0 && has > 0 {
		p.totals.memory.add(min(1, used/has), 1)
	}
}
