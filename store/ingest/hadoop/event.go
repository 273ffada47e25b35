package hadoop

import (
	"encoding/json"
	"errors"
	"strings"
)

// event has the fields that are used of all kinds of events.
type event struct {
	JobID        word   `json:"jobid"`
	JobName      word   `json:"jobName"`
	UserName     word   `json:"userName"`
	JobQueueName word   `json:"jobQueueName"`
	JobStatus    word   `json:"jobStatus"`
	SubmitTime   millis `json:"submitTime"`
	LaunchTime   millis `json:"launchTime"`
	StartTime    millis `json:"startTime"`
	FinishTime   millis `json:"finishTime"`
	TotalMaps    count  `json:"totalMaps"`
	TotalReduces count  `json:"totalReduces"`

	TaskID        word     `json:"taskid"`
	TaskType      word     `json:"taskType"`
	TaskStatus    word     `json:"taskStatus"`
	AttemptID     word     `json:"attemptId"`
	TrackerName   word     `json:"trackerName"`
	Hostname      word     `json:"hostname"`
	Counters      counters `json:"counters"`
	TotalCounters counters `json:"totalCounters"`

	ApplicationAttemptID word `json:"applicationAttemptId"`
}

var errEvent = errors.New("is not an event")

// decode reads a line: {"type":"TASK_STARTED","event":{"<record>":{...}}}.
func decode(line []byte) (kind string, e event, err error) {
	var outer struct {
		Type  string                     `json:"type"`
		Event map[string]json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal(line, &outer); err != nil {
		return "", e, err
	}
	if outer.Type == "" || len(outer.Event) != 1 {
		return "", e, errEvent
	}
	for _, body := range outer.Event {
		err = json.Unmarshal(body, &e)
	}
	return outer.Type, e, err
}

// inUnion returns the value of a member of a union, which Avro writes as
// {"string":"x"}; the older histories write it bare.
func inUnion(b []byte) []byte {
	if len(b) == 0 || b[0] != '{' {
		return b
	}
	var union map[string]json.RawMessage
	if err := json.Unmarshal(b, &union); err != nil || len(union) != 1 {
		return b
	}
	for member, v := range union {
		if member != "groups" { // a record's own field
			b = v
		}
	}
	return b
}

// word is a string or none.
type word string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *word) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(inUnion(b), &s); err != nil {
		return err
	}
	if s != nil {
		*w = word(*s)
	}
	return nil
}

// Times outside of the years 1990 to 2200 are no times.
const (
	minMillis = 631152000000
	maxMillis = 7258118400000
)

// millis since 1970; 0 is unknown, also what is no time of a job.
type millis int64

// UnmarshalJSON implements [json.Unmarshaler].
func (m *millis) UnmarshalJSON(b []byte) error {
	var n *int64
	if err := json.Unmarshal(inUnion(b), &n); err != nil {
		return err
	}
	if n != nil && *n >= minMillis && *n < maxMillis {
		*m = millis(*n)
	}
	return nil
}

// count is a number of tasks; what is none counts as 0.
type count int

// UnmarshalJSON implements [json.Unmarshaler].
func (c *count) UnmarshalJSON(b []byte) error {
	var n *int64
	if err := json.Unmarshal(inUnion(b), &n); err != nil {
		return err
	}
	if n != nil && *n >= 0 && *n <= maxTasks {
		*c = count(*n)
	}
	return nil
}

// counters of a task or job. Names are Hadoop's; groups changed their names between
// versions, so that only their kind is kept.
type counters map[string]float64

// Kinds of groups, as prefixes of names.
const (
	fileSystem = "fs."
	inputFile  = "in."
	outputFile = "out."
	jobGroup   = "job."
)

func groupPrefix(name string) (string, bool) {
	for _, g := range []struct{ part, prefix string }{
		{"FileInputFormat", inputFile}, {"FileOutputFormat", outputFile}, {"FileSystemCounter", fileSystem},
		{"JobCounter", jobGroup}, {"JobInProgress", jobGroup}, {"TaskCounter", ""}, {"Task$Counter", ""},
	} {
		if strings.Contains(name, g.part) {
			return g.prefix, true
		}
	}
	return "", false
}

// maxCounter bounds a value: 2^70 in all tasks together stays below what a model takes.
const maxCounter = 1 << 58

// UnmarshalJSON implements [json.Unmarshaler].
func (c *counters) UnmarshalJSON(b []byte) error {
	type body struct {
		Groups []struct {
			Name   string `json:"name"`
			Counts []struct {
				Name  string `json:"name"`
				Value int64  `json:"value"`
			} `json:"counts"`
		} `json:"groups"`
	}
	var v *body
	if err := json.Unmarshal(inUnion(b), &v); err != nil {
		return err
	}
	if v == nil {
		return nil
	}
	*c = make(counters)
	for _, g := range v.Groups {
		prefix, known := groupPrefix(g.Name)
		if !known {
			continue
		}
		for _, x := range g.Counts {
			if x.Value > 0 && x.Value < maxCounter {
				(*c)[prefix+x.Name] = float64(x.Value)
			}
		}
	}
	return nil
}

// storage sums the bytes of all file systems but the nodes' own: what a job reads from
// or writes to HDFS, S3 and so on.
func (c counters) storage(suffix string) float64 {
	sum := 0.0
	for name, v := range c {
		scheme, is := strings.CutSuffix(strings.TrimPrefix(name, fileSystem), suffix)
		if is && strings.HasPrefix(name, fileSystem) && scheme != "FILE" {
			sum += v
		}
	}
	return sum
}

// input returns the bytes read from storage, as the input format counts them and
// otherwise as the file systems do.
func (c counters) input() float64 {
	if v := c[inputFile+"BYTES_READ"]; v > 0 {
		return v
	}
	return c.storage("_BYTES_READ")
}

func (c counters) output() float64 {
	if v := c[outputFile+"BYTES_WRITTEN"]; v > 0 {
		return v
	}
	return c.storage("_BYTES_WRITTEN")
}
