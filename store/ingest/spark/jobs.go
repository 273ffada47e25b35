package spark

import "strconv"

// job is one that runs.
type job struct {
	query  int
	stages []int
	// planned are those that have not run, where they are asked for.
	planned []plannedStage
}

// jobs that run, and the counts of those that ended.
type jobs struct {
	running       map[int64]*job
	total, failed int
	lastStarted   int64
	lastFailed    bool // of the job that ended last
	held          int  // stages of running jobs
	// resolved names, for a stage of a running job that may be skipped, the stage that
	// wrote its shuffle in an earlier job.
	resolved map[int]int
}

func (j *jobs) init() {
	j.running, j.resolved = make(map[int64]*job), make(map[int]int)
	j.lastStarted = -1
}

// jobStart takes note of which stages a job has and, where a stage's output exists
// already, of the stage that wrote it. Spark numbers the stages of each job anew and
// skips those whose shuffle exists; under adaptive execution each shuffle is a job of
// its own, so that nearly all parents are such numbers. A stage is recognised by its
// last RDD, which has the highest id of those in its info and is the same in all jobs.
func (p *Parser) jobStart(text []byte) error {
	var e jobStart
	if err := decode(text, &e); err != nil {
		return err
	}
	p.worked(e.Time)
	p.jobs.total++
	p.jobs.lastStarted = e.ID
	if len(p.jobs.running) >= maxJobs || p.jobs.held+len(e.Stages) > maxJobStages {
		p.note("more jobs at one time than are followed")
		return nil
	}
	j := &job{query: queryOf(e.Properties.Query)}
	for i := range e.Stages {
		info := &e.Stages[i]
		id, ok := stageNumber(info.ID)
		if !ok {
			continue
		}
		j.stages = append(j.stages, id)
		if j.query >= 0 {
			p.stages.queries[id] = j.query
		}
		if p.stages.executed(id) {
			continue
		}
		if wrote, ok := p.stages.writer(info); ok {
			p.jobs.resolved[id] = wrote
		} else {
			p.plan(j, id, info)
		}
	}
	if again := p.jobs.running[e.ID]; again != nil {
		p.jobs.held -= len(again.stages)
	}
	p.jobs.running[e.ID] = j
	p.jobs.held += len(j.stages)
	return nil
}

func (p *Parser) jobEnd(text []byte) error {
	var e jobEnd
	if err := decode(text, &e); err != nil {
		return err
	}
	p.worked(e.Time)
	if p.jobs.lastFailed = e.Result.Result != "JobSucceeded"; p.jobs.lastFailed {
		p.jobs.failed++
	}
	if j := p.jobs.running[e.ID]; j != nil {
		for _, id := range j.stages {
			delete(p.jobs.resolved, id)
			delete(p.stages.queries, id)
		}
		p.jobs.held -= len(j.stages)
		delete(p.jobs.running, e.ID)
	}
	return nil
}

// queryOf returns the number of a SQL execution; -1 is none.
func queryOf(s string) int {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int(n)
}
