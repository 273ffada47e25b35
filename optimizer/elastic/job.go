package elastic

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

// Errors of this package.
var (
	// ErrInvalid is wrapped by every error about a value that cannot be.
	ErrInvalid = errors.New("invalid")
	// ErrUnknownJob: the controller keeps no job of that id.
	ErrUnknownJob = errors.New("no such job")
	// ErrJobExists: a job of that id is kept already; finish it first.
	ErrJobExists = errors.New("job is known already")
	// ErrDuplicate: the same report or event was taken before; nothing changed.
	ErrDuplicate = errors.New("taken before")
	// ErrLate: the report is older than one taken before; nothing changed.
	ErrLate = errors.New("older than one taken before")
	// ErrFull: the controller keeps as many jobs as it may.
	ErrFull = errors.New("too many jobs")
)

// Modes of training.
const (
	Sync      = throughput.Sync
	Async     = throughput.Async
	AllReduce = throughput.AllReduce
)

// Limits of what is taken from outside.
const (
	// MaxReplicas of one role.
	MaxReplicas = 10_000
	// MaxCores and MaxBytes of one pod: more than any machine has.
	MaxCores = 4096
	MaxBytes = 1 << 50
	// MaxPods of one report or plan.
	MaxPods = 2 * MaxReplicas
	// MaxJobs of one controller.
	MaxJobs = 100_000
)

// Job describes a training job.
type Job struct {
	// ID names the job to whoever drives the controller. It never leaves.
	ID string `json:"id"`
	// Topic says what is trained, in public words; similar jobs have the same one.
	Topic model.Topic `json:"topic"`
	// MachineType of the workers; empty is unknown.
	MachineType string          `json:"machine_type,omitempty"`
	Mode        throughput.Mode `json:"mode"`
	// Batch is the samples a worker takes a step; 0 is unknown.
	Batch int `json:"batch,omitempty"`
	// GlobalBatch, if not 0, is kept: workers share it, so their number must divide it.
	// Then Batch has no meaning.
	GlobalBatch int `json:"global_batch,omitempty"`
	// TotalSteps (global steps) or TotalSamples is the job's length; 0 is unknown.
	// TotalSamples counts where both are known, as the number of steps may depend on
	// that of workers.
	TotalSteps   int64   `json:"total_steps,omitempty"`
	TotalSamples float64 `json:"total_samples,omitempty"`
	Bounds       Bounds  `json:"bounds"`
	// Current is what runs already or was asked for; the zero Plan leaves the choice to
	// the controller. Its pods' sizes are kept where they are not 0.
	Current   Plan      `json:"current"`
	Submitted time.Time `json:"submitted"`
}

// batch is the samples of a push; 0 is unknown.
func (j Job) batch() float64 {
	if j.GlobalBatch > 0 {
		return float64(j.GlobalBatch)
	}
	return float64(j.Batch)
}

// Bounds of a job's plans. The zero value of an upper bound is none but the package's.
type Bounds struct {
	// MinWorkers is 1 if it is 0.
	MinWorkers int `json:"min_workers,omitempty"`
	MaxWorkers int `json:"max_workers,omitempty"`
	// WorkerMultiple: workers come and go in gangs of so many; 0 is 1.
	WorkerMultiple int `json:"worker_multiple,omitempty"`
	MinServers     int `json:"min_servers,omitempty"`
	MaxServers     int `json:"max_servers,omitempty"`
	// MaxPodCPU (cores) and MaxPodMemory (bytes) of one pod.
	MaxPodCPU    float64 `json:"max_pod_cpu,omitempty"`
	MaxPodMemory float64 `json:"max_pod_memory,omitempty"`
}

// withDefaults fills in what zero values stand for.
func (b Bounds) withDefaults(mode throughput.Mode) Bounds {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&b.WorkerMultiple, 1)
	set(&b.MinWorkers, b.WorkerMultiple)
	set(&b.MaxWorkers, MaxReplicas-MaxReplicas%b.WorkerMultiple)
	if mode.Servers() {
		set(&b.MinServers, 1)
		set(&b.MaxServers, max(b.MinServers, defaultMaxServers))
	}
	if b.MaxPodCPU == 0 {
		b.MaxPodCPU = MaxCores
	}
	if b.MaxPodMemory == 0 {
		b.MaxPodMemory = MaxBytes
	}
	return b
}

// defaultMaxServers bounds parameter servers where nobody said how many there may be.
const defaultMaxServers = 16

// Validate says which field cannot be.
func (j Job) Validate() error {
	if err := j.validate(); err != nil {
		return fmt.Errorf("job %q: %w", model.Clip(j.ID), err)
	}
	return nil
}

func (j Job) validate() error {
	if j.ID == "" || len(j.ID) > model.MaxName {
		return fmt.Errorf("id must have 1 to %d bytes: %w", model.MaxName, ErrInvalid)
	}
	if err := j.Topic.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if len(j.MachineType) > model.MaxName {
		return fmt.Errorf("machine type is longer than %d bytes: %w", model.MaxName, ErrInvalid)
	}
	if err := j.Mode.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	switch {
	case j.Batch < 0 || j.GlobalBatch < 0:
		return fmt.Errorf("batch must not be negative: %d and %d: %w", j.Batch, j.GlobalBatch, ErrInvalid)
	case j.GlobalBatch > 0 && j.Mode == Async:
		return fmt.Errorf("a global batch is kept in modes %s and %s only: %w", Sync, AllReduce, ErrInvalid)
	case j.TotalSteps < 0 || !(j.TotalSamples >= 0) || math.IsInf(j.TotalSamples, 0):
		return fmt.Errorf("length must not be negative: %d steps, %g samples: %w", j.TotalSteps, j.TotalSamples, ErrInvalid)
	}
	if err := j.Bounds.validate(); err != nil {
		return err
	}
	if err := j.Current.Validate(); err != nil {
		return fmt.Errorf("current plan: %w", err)
	}
	if len(j.sizes()) == 0 {
		b := j.Bounds.withDefaults(j.Mode)
		return fmt.Errorf("no number of workers from %d to %d is a multiple of %d%s: %w",
			b.MinWorkers, b.MaxWorkers, b.WorkerMultiple, dividing(j.GlobalBatch), ErrInvalid)
	}
	return nil
}

func dividing(batch int) string {
	if batch == 0 {
		return ""
	}
	return fmt.Sprintf(" that divides the global batch of %d", batch)
}

func (b Bounds) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"min_workers", b.MinWorkers}, {"max_workers", b.MaxWorkers}, {"worker_multiple", b.WorkerMultiple},
		{"min_servers", b.MinServers}, {"max_servers", b.MaxServers},
	} {
		if f.value < 0 || f.value > MaxReplicas {
			return fmt.Errorf("%s must be between 0 and %d: %d: %w", f.name, MaxReplicas, f.value, ErrInvalid)
		}
	}
	switch {
	case b.MaxWorkers > 0 && b.MinWorkers > b.MaxWorkers:
		return fmt.Errorf("min_workers %d is above max_workers %d: %w", b.MinWorkers, b.MaxWorkers, ErrInvalid)
	case b.MaxServers > 0 && b.MinServers > b.MaxServers:
		return fmt.Errorf("min_servers %d is above max_servers %d: %w", b.MinServers, b.MaxServers, ErrInvalid)
	}
	return Resources{CPU: b.MaxPodCPU, Memory: b.MaxPodMemory}.validate("bounds")
}
