package flink

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// details is the answer to /jobs/<id>. Times are ms since 1970, -1 is none.
type details struct {
	JID       string   `json:"jid"`
	Name      string   `json:"name"`
	State     string   `json:"state"`
	StartTime whole    `json:"start-time"`
	EndTime   whole    `json:"end-time"`
	Vertices  []vertex `json:"vertices"`
	Plan      plan     `json:"plan"`
}

type plan struct {
	// Type is STREAMING or BATCH, from Flink 1.10.
	Type  string `json:"type"`
	Nodes []struct {
		ID     string `json:"id"`
		Inputs []struct {
			ID string `json:"id"`
		} `json:"inputs"`
	} `json:"nodes"`
}

type vertex struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Parallelism whole            `json:"parallelism"`
	Status      string           `json:"status"`
	StartTime   whole            `json:"start-time"`
	EndTime     whole            `json:"end-time"`
	Tasks       map[string]whole `json:"tasks"`
	Metrics     metrics          `json:"metrics"`
}

// metrics of a vertex. Whether they are complete is false where a task manager was
// gone before its last report.
type metrics struct {
	ReadBytes     number `json:"read-bytes"`
	ReadComplete  *bool  `json:"read-bytes-complete"`
	WriteBytes    number `json:"write-bytes"`
	WriteComplete *bool  `json:"write-bytes-complete"`
	ReadRecords   number `json:"read-records"`
	WriteRecords  number `json:"write-records"`
	// Busy is the time in which tasks worked, ms over all tasks, from Flink 1.16.
	Busy number `json:"accumulated-busy-time"`
}

func (m metrics) complete() bool {
	return (m.ReadComplete == nil || *m.ReadComplete) && (m.WriteComplete == nil || *m.WriteComplete)
}

// vertexDetails is the answer to /jobs/<id>/vertices/<id>.
type vertexDetails struct {
	ID       string    `json:"id"`
	Subtasks []subtask `json:"subtasks"`
}

type subtask struct {
	Status    string `json:"status"`
	StartTime whole  `json:"start-time"`
	EndTime   whole  `json:"end-time"`
	// Host is a name, and in newer versions with a port; Endpoint is newer still.
	Host          string `json:"host"`
	Endpoint      string `json:"endpoint"`
	TaskManagerID string `json:"taskmanager-id"`
}

// host returns the host without a port; empty is unknown.
func (s subtask) host() string {
	h := s.Endpoint
	if h == "" {
		h = s.Host
	}
	if i := strings.LastIndexByte(h, ':'); i > 0 && !strings.Contains(h[:i], ":") {
		h = h[:i]
	}
	if strings.HasPrefix(h, "(") { // (unassigned)
		return ""
	}
	return h
}

// jobConfig is the answer to /jobs/<id>/config.
type jobConfig struct {
	Execution struct {
		Mode        string `json:"execution-mode"`
		Restart     string `json:"restart-strategy"`
		Parallelism whole  `json:"job-parallelism"`
	} `json:"execution-config"`
}

// overview is the answer to /jobs/overview.
type overview struct {
	Jobs []struct {
		JID   string `json:"jid"`
		Name  string `json:"name"`
		State string `json:"state"`
	} `json:"jobs"`
}

// clusterConfig is the answer to /config.
type clusterConfig struct {
	Version string `json:"flink-version"`
}

// whole is a number as Flink writes times and counts; what is none is -1.
type whole int64

// UnmarshalJSON implements [json.Unmarshaler].
func (w *whole) UnmarshalJSON(b []byte) error {
	var n number
	if err := n.UnmarshalJSON(b); err != nil {
		return err
	}
	*w = -1
	if n >= 0 && n < 1<<53 {
		*w = whole(n)
	}
	return nil
}

// number is a number that may also be "NaN" or null, which count as 0, as do negative
// ones and those beyond all reason.
type number float64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err != nil {
		if b[0] == '{' || b[0] == '[' {
			return &json.UnmarshalTypeError{Value: "object", Offset: 0}
		}
		return nil
	}
	if v >= 0 && v < 1<<60 && !math.IsNaN(v) {
		*n = number(v)
	}
	return nil
}
