package hadoop

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// maxTasks bounds the tasks and the attempts of one job: the largest published
// MapReduce jobs have some 100,000.
const maxTasks = 500_000

// Reasons for which a history makes no execution.
var (
	errNoEvents = errors.New("holds no event of a job: it is empty or not a job history")
	errNoTime   = errors.New("holds no event with a time: it was cut before the job started")
	errTooMany  = fmt.Errorf("holds more than %d tasks or attempts", maxTasks)
)

// job collects events.
type job struct {
	id, name, user, queue      string
	amAttempt                  string
	submit, launch, am, finish int64 // ms since 1970; 0 is unknown
	last                       int64 // the last time of any event
	maps, reduces              int
	outcome                    model.Outcome
	total                      counters
	tasks                      map[string]*task
	attempts                   map[string]*attempt
	events                     int64
	unknown                    int
}

// task is one partition of a stage.
type task struct {
	reduce   bool
	finished bool
	success  *attempt
}

// attempt is one try of a task.
type attempt struct {
	task          *task
	host          string
	start, finish int64
	failed        bool
	killed        bool
	counters      counters
}

func newJob() *job {
	return &job{tasks: make(map[string]*task), attempts: make(map[string]*attempt)}
}

// line reads one line of a history.
func (j *job) line(b []byte) error {
	kind, e, err := decode(b)
	if err != nil {
		return err
	}
	j.events++
	for _, t := range []millis{e.SubmitTime, e.LaunchTime, e.StartTime, e.FinishTime} {
		j.last = max(j.last, int64(t))
	}
	if e.JobID != "" && j.id == "" {
		j.id = string(e.JobID)
	}
	switch kind {
	case "AM_STARTED":
		if j.am == 0 {
			j.am = int64(e.StartTime)
		}
		j.amAttempt = string(e.ApplicationAttemptID)
	case "JOB_SUBMITTED":
		j.name, j.user, j.queue = string(e.JobName), string(e.UserName), string(e.JobQueueName)
		j.submit = int64(e.SubmitTime)
	case "JOB_QUEUE_CHANGED":
		j.queue = string(e.JobQueueName)
	case "JOB_INITED":
		j.launch = int64(e.LaunchTime)
		j.maps, j.reduces = int(e.TotalMaps), int(e.TotalReduces)
	case "JOB_INFO_CHANGED":
		if e.LaunchTime != 0 {
			j.launch = int64(e.LaunchTime)
		}
	case "JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR":
		j.finish, j.outcome, j.total = int64(e.FinishTime), model.Failed, e.TotalCounters
		if kind == "JOB_FINISHED" {
			j.outcome = model.OK
		}
	default:
		return j.taskEvent(kind, e)
	}
	return nil
}

// taskEvent reads the events of tasks and their attempts.
func (j *job) taskEvent(kind string, e event) error {
	reduce := e.TaskType == "REDUCE"
	if !reduce && e.TaskType != "MAP" || e.TaskID == "" {
		j.unknown++
		return nil
	}
	t := j.tasks[string(e.TaskID)]
	if t == nil {
		if len(j.tasks) == maxTasks {
			return errTooMany
		}
		t = &task{reduce: reduce}
		j.tasks[string(e.TaskID)] = t
	}
	switch {
	case kind == "TASK_FINISHED":
		t.finished = true
	case strings.HasPrefix(kind, "TASK_"):
	case e.AttemptID == "":
		j.unknown++
	default:
		return j.attemptEvent(kind, e, t)
	}
	return nil
}

func (j *job) attemptEvent(kind string, e event, t *task) error {
	a := j.attempts[string(e.AttemptID)]
	if a == nil {
		if len(j.attempts) == maxTasks {
			return errTooMany
		}
		a = &attempt{task: t}
		j.attempts[string(e.AttemptID)] = a
	}
	if host := string(e.Hostname); host != "" {
		a.host = host
	} else if a.host == "" {
		a.host = string(e.TrackerName)
	}
	switch {
	case strings.HasSuffix(kind, "_ATTEMPT_STARTED"):
		a.start = int64(e.StartTime)
	case strings.HasSuffix(kind, "_ATTEMPT_FINISHED"):
		a.finish, a.counters = int64(e.FinishTime), e.Counters
		if t.success == nil && (e.TaskStatus == "" || e.TaskStatus == "SUCCEEDED") {
			t.success = a
		}
	case strings.HasSuffix(kind, "_ATTEMPT_FAILED"):
		a.finish, a.failed = int64(e.FinishTime), true
	case strings.HasSuffix(kind, "_ATTEMPT_KILLED"):
		a.finish, a.killed = int64(e.FinishTime), true
	default:
		j.unknown++
	}
	return nil
}

var jobID = regexp.MustCompile(`job_([0-9]+)_([0-9]+)`)

// application returns the resource manager's id of the job's application: the one
// differs from the other in its first word.
func application(id string) string {
	if m := jobID.FindStringSubmatch(id); m != nil {
		return "application_" + m[1] + "_" + m[2]
	}
	return ""
}

// attemptNumber is the last part of appattempt_1329348432655_0001_000001.
func attemptNumber(id string) string {
	n, err := strconv.ParseUint(id[strings.LastIndexByte(id, '_')+1:], 10, 31)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}
