package spark

import (
	"cmp"
	"crypto/sha256"
	"fmt"

	"github.com/karasu-project/karasu/model"
)

// Bounds of what a parser holds.
const (
	// maxStages bounds the stages that are kept; those beyond count in the totals.
	maxStages    = 50_000
	maxExecutors = 20_000
	maxJobs      = 100_000 // running at one time
	maxJobStages = 1 << 19 // of running jobs
	maxEdges     = 1 << 20 // of the graph
	maxProfiles  = 1000
	// identityLines is how many lines identify an application that has no id.
	identityLines = 8
)

// Parser takes the events of one log in their order. The zero value is not usable; see
// [NewParser]. It is not safe for concurrent use.
type Parser struct {
	version, classpathVersion string
	app                       applicationStart
	started                   bool // an application start was seen
	ended                     bool
	endTime                   int64
	exitCode                  int64
	env                       environment
	profiles                  map[int64]map[string]resourceRequest
	identity                  [sha256.Size]byte
	identified                int

	executors executors
	stages    stages
	jobs      jobs
	totals    totals
	queries   signature
	lastQuery string // the error of the last SQL query that ended
	planned   bool   // stages that have not been submitted are asked for, too

	// The earliest and the latest time of any event, and the latest of jobs, stages and
	// tasks, in ms; 0 is none.
	first, last, lastWork int64
	quality               model.Quality
	notes                 map[string]int
}

// NewParser returns a parser of one log.
func NewParser() *Parser {
	p := &Parser{notes: make(map[string]int), profiles: make(map[int64]map[string]resourceRequest)}
	p.stages.init()
	p.jobs.init()
	p.executors.init()
	return p
}

// handlers by event. What is not here is not looked into.
var handlers = map[string]func(*Parser, []byte) error{
	"SparkListenerLogStart":             (*Parser).logStart,
	"DBCEventLoggingListenerMetadata":   (*Parser).logStart,
	"SparkListenerApplicationStart":     (*Parser).applicationStart,
	"SparkListenerApplicationEnd":       (*Parser).applicationEnd,
	"SparkListenerEnvironmentUpdate":    (*Parser).environmentUpdate,
	"SparkListenerResourceProfileAdded": (*Parser).resourceProfileAdded,
	"SparkListenerExecutorAdded":        (*Parser).executorAdded,
	"SparkListenerExecutorRemoved":      (*Parser).executorRemoved,
	"SparkListenerBlockManagerAdded":    (*Parser).blockManagerAdded,
	"SparkListenerBlockManagerRemoved":  (*Parser).blockManagerRemoved,
	"SparkListenerJobStart":             (*Parser).jobStart,
	"SparkListenerJobEnd":               (*Parser).jobEnd,
	"SparkListenerStageSubmitted":       (*Parser).stageSubmitted,
	"SparkListenerStageCompleted":       (*Parser).stageCompleted,
	"SparkListenerTaskEnd":              (*Parser).taskEnd,
	"SparkListenerStageExecutorMetrics": (*Parser).stageExecutorMetrics,
	"SparkListenerSQLExecutionStart":    (*Parser).sqlExecutionStart,
	"SparkListenerSQLExecutionEnd":      (*Parser).sqlExecutionEnd,
}

// Wanted says, by the first bytes of a line, whether [Parser.Line] would look into it.
func Wanted(head []byte) bool {
	_, ok := handlers[string(eventName(head))]
	return ok
}

// Line takes one line. A line that cannot be read is counted and otherwise ignored.
// The text is not kept.
func (p *Parser) Line(text []byte) {
	if len(text) == 0 || len(text) == 1 && text[0] == '\r' {
		return
	}
	name := eventName(text)
	if name == nil {
		p.quality.BadLines++
		return
	}
	handle, known := handlers[string(name)]
	if !known {
		p.quality.UnknownEvents++
		return
	}
	if err := handle(p, text); err != nil {
		p.quality.BadLines++
		return
	}
	p.quality.Events++
	if p.identified < identityLines {
		p.identified++
		p.identity = sha256.Sum256(append(p.identity[:], text...))
	}
}

// whole says whether a line is a whole event, as the last one of a log may not be.
func whole(text []byte) bool {
	var none struct{}
	return decode(text, &none) == nil
}

// note counts something that is not as it should be. Kinds are few and constant.
func (p *Parser) note(kind string) { p.notes[kind]++ }

// Bounds of a time in a log, in ms: the years 1990 to 2200.
const (
	minTime = 631_152_000_000
	maxTime = 7_258_118_400_000
)

// at takes note of a time in ms. What is not a time of a run is 0.
func (p *Parser) at(ms int64) int64 {
	if ms < minTime || ms > maxTime {
		return 0
	}
	if p.first == 0 || ms < p.first {
		p.first = ms
	}
	p.last = max(p.last, ms)
	return ms
}

// worked is at for the times of jobs, stages and tasks.
func (p *Parser) worked(ms int64) int64 {
	at := p.at(ms)
	p.lastWork = max(p.lastWork, at)
	return at
}

func (p *Parser) logStart(text []byte) error {
	var e logStart
	if err := decode(text, &e); err != nil {
		return err
	}
	if p.version == "" {
		p.version = cleanName(e.Version)
	}
	return nil
}

func (p *Parser) applicationStart(text []byte) error {
	var e applicationStart
	if err := decode(text, &e); err != nil {
		return err
	}
	e.Time = p.at(e.Time)
	if p.started && e.ID != p.app.ID {
		p.note("a second application starts in the same log; it is ignored")
		return nil
	}
	if p.started {
		return nil
	}
	e.Name, e.ID, e.Attempt, e.User = cleanName(e.Name), cleanName(e.ID), cleanName(e.Attempt), cleanName(e.User)
	p.app, p.started = e, true
	return nil
}

func (p *Parser) applicationEnd(text []byte) error {
	var e applicationEnd
	if err := decode(text, &e); err != nil {
		return err
	}
	p.ended, p.endTime = true, p.at(e.Time)
	if e.ExitCode != nil {
		p.exitCode = *e.ExitCode
	}
	return nil
}

func (p *Parser) environmentUpdate(text []byte) error {
	var e environmentUpdate
	if err := decode(text, &e); err != nil {
		return err
	}
	p.env.update(e)
	clear(p.executors.memory)
	if v := versionFromClasspath(e.Classpath); v != "" && p.classpathVersion == "" {
		p.classpathVersion = v
	}
	return nil
}

func (p *Parser) resourceProfileAdded(text []byte) error {
	var e resourceProfileAdded
	if err := decode(text, &e); err != nil {
		return err
	}
	if len(p.profiles) >= maxProfiles {
		return nil
	}
	clear(p.executors.memory)
	p.profiles[e.ID] = make(map[string]resourceRequest)
	for _, name := range []string{"memory", "memoryOverhead", "offHeap", "pyspark.memory"} {
		if r, ok := e.Executor[name]; ok {
			p.profiles[e.ID][name] = r
		}
	}
	return nil
}

func (p *Parser) sqlExecutionStart(text []byte) error { return p.queries.add(text) }

func (p *Parser) sqlExecutionEnd(text []byte) error {
	var e sqlExecutionEnd
	if err := decode(text, &e); err != nil {
		return err
	}
	p.lastQuery = clip(e.Error, 1)
	return nil
}

// Empty says whether no event was taken that belongs to an application.
func (p *Parser) Empty() bool { return p.quality.Events == 0 }

// headless says whether the log starts in the middle of an application.
func (p *Parser) headless() bool {
	return !p.started && p.version == "" && len(p.env.properties) == 0
}

// id returns the application's id; where the log has none, one made of its first events.
func (p *Parser) id() string {
	id := cmp.Or(p.app.ID, cleanName(p.env.property("spark.app.id")), cleanName(p.env.property("spark.yarn.app.id")))
	if id != "" {
		return id
	}
	return fmt.Sprintf("unnamed-%x", p.identity[:8])
}
