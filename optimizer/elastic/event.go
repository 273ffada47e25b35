package elastic

import (
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
)

// EventKind says what happened to a job.
type EventKind string

// Kinds of events.
const (
	// OutOfMemory: a pod was ended because it used more memory than it may.
	OutOfMemory EventKind = "oom"
	// Evicted: pods were taken away; the job goes on with fewer until others come.
	Evicted EventKind = "evicted"
	// Pending: pods that the plan asks for do not start for want of room.
	Pending EventKind = "pending"
	// Restarted: the job's master started again. Its counters may start again, too.
	Restarted EventKind = "restarted"
)

// Event is something that happened to a job and that its reports do not tell.
type Event struct {
	Job  string    `json:"job"`
	Time time.Time `json:"time"`
	Kind EventKind `json:"kind"`
	// Role and Pod say whom it concerns, as far as known.
	Role Role   `json:"role,omitempty"`
	Pod  string `json:"pod,omitempty"`
	// Pods is how many pods were evicted or are pending; 0 is unknown.
	Pods int `json:"pods,omitempty"`
	// Memory is the limit in bytes that the pod had when it ran out; 0 is unknown.
	Memory float64 `json:"memory,omitempty"`
}

// Validate says which field cannot be.
func (e Event) Validate() error {
	if err := e.validate(); err != nil {
		return fmt.Errorf("event of job %q: %w", model.Clip(e.Job), err)
	}
	return nil
}

func (e Event) validate() error {
	switch {
	case e.Job == "" || len(e.Job) > model.MaxName:
		return fmt.Errorf("job must have 1 to %d bytes: %w", model.MaxName, ErrInvalid)
	case !validTime(e.Time):
		return fmt.Errorf("time is missing or out of range: %w", ErrInvalid)
	case len(e.Pod) > model.MaxName:
		return fmt.Errorf("name of the pod is longer than %d bytes: %w", model.MaxName, ErrInvalid)
	case e.Pods < 0 || e.Pods > MaxPods:
		return fmt.Errorf("pods must be between 0 and %d: %d: %w", MaxPods, e.Pods, ErrInvalid)
	}
	if err := (Resources{Memory: e.Memory}).validate("event"); err != nil {
		return err
	}
	switch e.Kind {
	case OutOfMemory:
		return e.Role.validate()
	case Evicted, Pending, Restarted:
		if e.Role != "" {
			return e.Role.validate()
		}
		return nil
	}
	return fmt.Errorf("kind must be %s, %s, %s or %s: %q: %w", OutOfMemory, Evicted, Pending, Restarted, model.Clip(string(e.Kind)), ErrInvalid)
}
