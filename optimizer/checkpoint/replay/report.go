package replay

import (
	"fmt"
	"io"
)

// Sources are the files of the public data; a nil one is left out.
type Sources struct {
	// Queries, Workflows and History are as for the functions of those names. Queries is
	// read twice: with the graphs as they are, and with broadcasts matched.
	Queries, Workflows, History io.ReadSeeker
}

// Report is what `karasu bench checkpoint` prints of the optimizer.
type Report struct {
	Optimality []OptimalityRow `json:"optimality"`
	Restart    []RestartRow    `json:"restart"`
	// Predicted is not of [Run]: it needs models (see [QueryPlans] and [PredictedRuns]).
	Predicted []PredictedRow `json:"predicted"`
	Latency   []LatencyRow   `json:"latency_ms"`
}

// Names of the data in rows.
const (
	DataQueries    = "tpc"
	DataBroadcasts = "tpc-broadcasts" // with the edges of broadcasts matched
	DataWorkflows  = "workflows"
	DataIterative  = "iterative"
	DataRecurring  = "recurring" // all runs of the history from an application's 13th on
)

// Run makes the report. With no clock nothing is timed, and answers do not depend on
// the machine. Progress, if not nil, is told what is begun.
func Run(s Sources, clock Clock, limits Limits, progress func(string)) (Report, error) {
	var out Report
	type part struct {
		name       string
		from       io.ReadSeeker
		read       func(io.Reader) ([]Job, error)
		optimality bool
		restart    bool
	}
	for _, p := range []part{
		{DataQueries, s.Queries, Queries(false), true, true},
		{DataBroadcasts, s.Queries, Queries(true), true, true},
		{DataWorkflows, s.Workflows, Workflows, true, false},
		{DataIterative, s.History, History, false, true},
	} {
		if p.from == nil {
			continue
		}
		if progress != nil {
			progress(p.name)
		}
		if _, err := p.from.Seek(0, io.SeekStart); err != nil {
			return Report{}, fmt.Errorf("%s: %w", p.name, err)
		}
		jobs, err := p.read(p.from)
		if err != nil {
			return Report{}, fmt.Errorf("%s: %w", p.name, err)
		}
		if p.name == DataIterative {
			jobs = Iterative(jobs)
		}
		if p.optimality {
			rows, err := Optimality(p.name, jobs, clock, limits)
			if err != nil {
				return Report{}, fmt.Errorf("%s: %w", p.name, err)
			}
			out.Optimality = append(out.Optimality, rows...)
		}
		if p.restart {
			rows, err := Restart(p.name, jobs, false)
			if err != nil {
				return Report{}, fmt.Errorf("%s: %w", p.name, err)
			}
			out.Restart = append(out.Restart, rows...)
		}
	}
	if clock == nil {
		return out, nil
	}
	if progress != nil {
		progress("latency")
	}
	rows, err := Latency(clock, limits)
	out.Latency = rows
	return out, err
}
