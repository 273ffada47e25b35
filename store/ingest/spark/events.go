package spark

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The events that are read, with the fields that are used of each. Names are those of
// Spark's JsonProtocol. The library was chosen by measurement (see bench_test.go): it
// validates what it passes over, which tells broken lines, without keeping it.

// lenient accepts what Spark writes: names that repeat in property maps, and strings
// that were cut in the middle of a character.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func decode(text []byte, into any) error { return json.Unmarshal(text, into, lenient) }

const eventKey = `{"Event":"`

// eventName returns the name of a line's event without its package, which Spark writes
// first in the line; nil where it does not come first.
func eventName(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r")
	rest, ok := bytes.CutPrefix(text, []byte(eventKey))
	if !ok {
		return slowName(text)
	}
	const longest = 256
	end := bytes.IndexByte(rest[:min(len(rest), longest)], '"')
	if end < 0 {
		return nil
	}
	return shortName(rest[:end])
}

// slowName finds the name where other software rewrote the line: with spaces, or with
// the fields in another order, in its first 64 KiB.
func slowName(text []byte) []byte {
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(text[:min(len(text), 64<<10)]), lenient)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return nil
		}
		if key.String() != "Event" {
			if d.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := d.ReadToken()
		if err != nil || value.Kind() != '"' {
			return nil
		}
		return shortName([]byte(value.String()))
	}
	return nil
}

func shortName(name []byte) []byte { return name[bytes.LastIndexByte(name, '.')+1:] }

type logStart struct {
	Version string `json:"Spark Version"`
}

type applicationStart struct {
	Name    string `json:"App Name"`
	ID      string `json:"App ID"`
	Attempt string `json:"App Attempt ID"`
	User    string `json:"User"`
	Time    int64  `json:"Timestamp"`
}

type applicationEnd struct {
	Time     int64  `json:"Timestamp"`
	ExitCode *int64 `json:"ExitCode"`
}

type environmentUpdate struct {
	Spark     map[string]string `json:"Spark Properties"`
	System    map[string]string `json:"System Properties"`
	Classpath jsontext.Value    `json:"Classpath Entries"`
}

type resourceProfileAdded struct {
	ID       int64                      `json:"Resource Profile Id"`
	Executor map[string]resourceRequest `json:"Executor Resource Requests"`
}

type resourceRequest struct {
	Amount float64 `json:"Amount"`
}

type executorAdded struct {
	Time int64  `json:"Timestamp"`
	ID   string `json:"Executor ID"`
	Info struct {
		Host    string `json:"Host"`
		Cores   int64  `json:"Total Cores"`
		Profile int64  `json:"Resource Profile Id"`
	} `json:"Executor Info"`
}

type executorRemoved struct {
	Time   int64  `json:"Timestamp"`
	ID     string `json:"Executor ID"`
	Reason string `json:"Removed Reason"`
}

type blockManagerEvent struct {
	Time int64 `json:"Timestamp"`
	ID   struct {
		Executor string `json:"Executor ID"`
		Host     string `json:"Host"`
	} `json:"Block Manager ID"`
}

type jobStart struct {
	ID     int64       `json:"Job ID"`
	Time   int64       `json:"Submission Time"`
	Stages []stageInfo `json:"Stage Infos"`
	IDs    []int64     `json:"Stage IDs"`
	// Properties hold the whole configuration; only one is decoded.
	Properties struct {
		Query string `json:"spark.sql.execution.id"`
	} `json:"Properties"`
}

type jobEnd struct {
	ID     int64 `json:"Job ID"`
	Time   int64 `json:"Completion Time"`
	Result struct {
		Result string `json:"Result"`
	} `json:"Job Result"`
}

type stageEvent struct {
	Info       stageInfo `json:"Stage Info"`
	Properties struct {
		Query string `json:"spark.sql.execution.id"`
	} `json:"Properties"`
}

type stageInfo struct {
	ID        int64     `json:"Stage ID"`
	Attempt   int64     `json:"Stage Attempt ID"`
	Name      string    `json:"Stage Name"`
	Details   string    `json:"Details"`
	Tasks     int64     `json:"Number of Tasks"`
	RDDs      []rddInfo `json:"RDD Info"`
	Parents   []int64   `json:"Parent IDs"`
	Submitted int64     `json:"Submission Time"`
	Completed int64     `json:"Completion Time"`
	Failure   string    `json:"Failure Reason"`
}

type rddInfo struct {
	ID      int64   `json:"RDD ID"`
	Scope   string  `json:"Scope"`
	Parents []int64 `json:"Parent IDs"`
}

type taskEnd struct {
	Stage   int64  `json:"Stage ID"`
	Attempt int64  `json:"Stage Attempt ID"`
	Type    string `json:"Task Type"`
	Reason  struct {
		Reason string `json:"Reason"`
	} `json:"Task End Reason"`
	Info     taskInfo        `json:"Task Info"`
	Executor executorMetrics `json:"Task Executor Metrics"`
	Metrics  *taskMetrics    `json:"Task Metrics"`
}

type taskInfo struct {
	Index    int64  `json:"Index"`
	Launch   int64  `json:"Launch Time"`
	Finish   int64  `json:"Finish Time"`
	Executor string `json:"Executor ID"`
	Host     string `json:"Host"`
}

type taskMetrics struct {
	Run           int64 `json:"Executor Run Time"`     // ms
	CPU           int64 `json:"Executor CPU Time"`     // ns
	GC            int64 `json:"JVM GC Time"`           // ms
	SpillMemory   int64 `json:"Memory Bytes Spilled"`  // bytes
	SpillDisk     int64 `json:"Disk Bytes Spilled"`    // bytes
	PeakExecution int64 `json:"Peak Execution Memory"` // bytes
	ShuffleRead   struct {
		Remote  int64 `json:"Remote Bytes Read"`
		Local   int64 `json:"Local Bytes Read"`
		Records int64 `json:"Total Records Read"`
	} `json:"Shuffle Read Metrics"`
	ShuffleWrite struct {
		Bytes   int64 `json:"Shuffle Bytes Written"`
		Records int64 `json:"Shuffle Records Written"`
	} `json:"Shuffle Write Metrics"`
	Input struct {
		Method  string `json:"Data Read Method"`
		Bytes   int64  `json:"Bytes Read"`
		Records int64  `json:"Records Read"`
	} `json:"Input Metrics"`
	Output struct {
		Bytes   int64 `json:"Bytes Written"`
		Records int64 `json:"Records Written"`
	} `json:"Output Metrics"`
}

// stageExecutorMetrics are the peaks of one executor in one stage (from Spark 3.0, if
// spark.eventLog.logStageExecutorMetrics is set).
type stageExecutorMetrics struct {
	Executor string          `json:"Executor ID"`
	Stage    int64           `json:"Stage ID"`
	Metrics  executorMetrics `json:"Executor Metrics"`
}

type executorMetrics struct {
	Heap      int64 `json:"JVMHeapMemory"`
	OffHeap   int64 `json:"JVMOffHeapMemory"`
	JVMRSS    int64 `json:"ProcessTreeJVMRSSMemory"`
	PythonRSS int64 `json:"ProcessTreePythonRSSMemory"`
	OtherRSS  int64 `json:"ProcessTreeOtherRSSMemory"`
}

type sqlExecutionEnd struct {
	Error string `json:"errorMessage"`
}
