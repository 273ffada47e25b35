package elastic

import (
	"fmt"
	"math"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

// State is everything a controller knows.
type State struct {
	// Jobs by ID.
	Jobs []JobState `json:"jobs"`
}

// JobState is everything that is known of one job. It holds no pointers into the
// controller.
type JobState struct {
	Job     Job       `json:"job"`
	Started time.Time `json:"started"`
	// Plan is the one decided last.
	Plan Plan `json:"plan"`
	// Prior of the knee at the start, by whose history, and the cap that is known from
	// elsewhere.
	Prior   throughput.Weights `json:"prior"`
	History string             `json:"history"`
	Cap     *KnownCap          `json:"cap,omitempty"`
	// LastChange of the size and how many there were.
	LastChange time.Time `json:"last_change"`
	Changes    int       `json:"changes"`
	// Reports that were taken, the last one without its pods, and speeds by size.
	Reports int     `json:"reports"`
	Last    *Report `json:"last,omitempty"`
	Speeds  []Speed `json:"speeds,omitempty"`
	// Pushes that were made since FirstProgress, a share of the job, was reported.
	Pushes        float64 `json:"pushes,omitempty"`
	FirstProgress float64 `json:"first_progress,omitempty"`
	// Memory of both roles.
	Workers RoleMemory `json:"workers"`
	Servers RoleMemory `json:"servers"`
	// Hot servers and Slow workers, suspected in the last reports.
	Hot  []Suspect `json:"hot,omitempty"`
	Slow []Suspect `json:"slow,omitempty"`
	// Replaced pods, and how often.
	Replaced []Suspect `json:"replaced,omitempty"`
	// Pending since then for want of room; Ceiling is the size that had room, until the
	// time after it.
	Pending      time.Time `json:"pending"`
	Ceiling      int       `json:"ceiling,omitempty"`
	CeilingUntil time.Time `json:"ceiling_until"`
	Evicted      time.Time `json:"evicted"`
	// Events that were taken, so that none counts twice.
	Events []Event `json:"events,omitempty"`
	// Tried are resizes that were decided, so that none repeats on the same evidence.
	Tried []Tried `json:"tried,omitempty"`
	// Decisions that changed something, the last ones; Number counts all.
	Decisions []Decision `json:"decisions,omitempty"`
	Number    int        `json:"number"`
	// LastDecision may be one that changed nothing.
	LastDecision Decision `json:"last_decision"`
}

// KnownCap is the most pushes a second of one server, known from elsewhere: the
// logarithm and its standard deviation.
type KnownCap struct {
	Log float64 `json:"log"`
	SD  float64 `json:"sd"`
}

// Speed is what was measured at one size.
type Speed struct {
	Workers int `json:"workers"`
	// Minutes measured, at most maxMinutes; Log is the mean of ln(pushes a second).
	Minutes float64 `json:"minutes"`
	Log     float64 `json:"log"`
}

// RoleMemory is what is known of one role's memory.
type RoleMemory struct {
	Use throughput.Memory `json:"use"`
	// Floor is the limit that did not suffice, in bytes; 0 is none.
	Floor float64 `json:"floor,omitempty"`
	// Exceeded is set from a pod's running out of memory until it was repaired.
	Exceeded bool      `json:"exceeded,omitempty"`
	Changed  time.Time `json:"changed"`
}

// Suspect is a pod and how many reports in a row, or times, it was seen so.
type Suspect struct {
	Pod   string  `json:"pod"`
	Times int     `json:"times"`
	Value float64 `json:"value,omitempty"`
}

// Tried is a resize that was decided.
type Tried struct {
	From  int       `json:"from"`
	To    int       `json:"to"`
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
	// Reports that there were then.
	Reports int `json:"reports"`
}

// Bounds of a job's state.
const (
	maxDecisions = 100
	maxEvents    = 64
	maxSpeeds    = 64
	maxTried     = 256
	maxReplaced  = 256
	// maxMinutes of one size count: older ones fade, so that a speed that changes shows.
	maxMinutes = 60
)

// memory of a role.
func (s *JobState) memory(r Role) *RoleMemory {
	if r == Server {
		return &s.Servers
	}
	return &s.Workers
}

// Validate checks a state that was stored.
func (s JobState) Validate() error {
	if err := s.Job.Validate(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("state of job %q: %w", model.Clip(s.Job.ID), err)
	}
	return nil
}

func (s JobState) check() error {
	if err := s.Plan.Validate(); err != nil {
		return err
	}
	if err := s.Prior.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if s.Cap != nil && !(math.Abs(s.Cap.Log) < 100 && s.Cap.SD > 0 && s.Cap.SD < 100) {
		return fmt.Errorf("cap is out of range: %w", ErrInvalid)
	}
	if s.Last != nil {
		if err := s.Last.validate(); err != nil {
			return err
		}
	}
	if s.Last == nil && (s.Reports > 0 || len(s.Speeds) > 0 || s.Workers.Use.N+s.Servers.Use.N > 0) {
		return fmt.Errorf("the last report is missing: %w", ErrInvalid)
	}
	if s.Reports < 0 || s.Changes < 0 || s.Number < 0 || s.Ceiling < 0 {
		return fmt.Errorf("a counter is negative: %w", ErrInvalid)
	}
	for _, t := range s.Tried {
		if t.Times < 0 || t.From < 0 || t.To < 0 {
			return fmt.Errorf("a resize from %d to %d was tried %d times: %w", t.From, t.To, t.Times, ErrInvalid)
		}
	}
	for _, n := range []struct{ have, most int }{
		{len(s.Decisions), maxDecisions}, {len(s.Events), maxEvents}, {len(s.Speeds), maxSpeeds},
		{len(s.Tried), maxTried}, {len(s.Replaced), maxReplaced}, {len(s.Hot), MaxPods}, {len(s.Slow), MaxPods},
	} {
		if n.have > n.most {
			return fmt.Errorf("%d entries where at most %d are kept: %w", n.have, n.most, ErrInvalid)
		}
	}
	for _, v := range s.Speeds {
		if v.Workers < 1 || v.Workers > MaxReplicas || !(v.Minutes > 0 && v.Minutes <= maxMinutes && math.Abs(v.Log) < 100) {
			return fmt.Errorf("speed of %d workers is out of range: %w", v.Workers, ErrInvalid)
		}
	}
	for _, m := range []RoleMemory{s.Workers, s.Servers} {
		if m.Use.Validate() != nil || !(m.Floor >= 0 && m.Floor <= MaxBytes) {
			return fmt.Errorf("memory is out of range: %w", ErrInvalid)
		}
	}
	if !(s.Pushes >= 0 && s.FirstProgress >= 0) || math.IsInf(s.Pushes+s.FirstProgress, 0) {
		return fmt.Errorf("progress is out of range: %w", ErrInvalid)
	}
	return nil
}
