package brain

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
)

// States of a job.
const (
	stateDescribed = "described"
	stateRunning   = "running"
	stateFinished  = "finished"
)

// known is what get_job_metrics tells of a job.
type known struct {
	UUID  string `json:"uuid"`
	State string `json:"state"`
	// Description is what is remembered of what the master told; it does not survive the
	// job's end or a restart, but what the job was started with does.
	Description *description   `json:"description,omitempty"`
	Job         *optimizer.Job `json:"job,omitempty"`
	// Reports that were taken, the last one without its pods.
	Reports      int                 `json:"reports"`
	LastReport   *optimizer.Report   `json:"last_report,omitempty"`
	Plan         *optimizer.Plan     `json:"plan,omitempty"`
	LastDecision *optimizer.Decision `json:"last_decision,omitempty"`
	FinishedAt   *time.Time          `json:"finished_at,omitempty"`
}

// metrics tells what is known of a job, as JSON.
func (b *Brain) metrics(uuid string) ([]byte, error) {
	id, err := jobID(uuid)
	if err != nil {
		return nil, err
	}
	out := known{UUID: id}
	if d, ok := b.described.get(id); ok {
		out.State, out.Description = stateDescribed, &d
	}
	state, err := b.Jobs.Job(id)
	switch last, ended := b.Jobs.Last(id); {
	case err == nil:
		out.State = stateRunning
	case !errors.Is(err, optimizer.ErrUnknownJob):
		return nil, err
	case ended == nil:
		state = last.State
		out.State, out.FinishedAt = stateFinished, &last.At
	case out.Description != nil:
		return json.Marshal(out)
	default:
		return nil, fmt.Errorf("job %q: %w", model.Clip(id), optimizer.ErrUnknownJob)
	}
	out.Job, out.Reports, out.LastReport = &state.Job, state.Reports, state.Last
	out.Plan, out.LastDecision = &state.Plan, &state.LastDecision
	return json.Marshal(out)
}
