package elastic

import (
	"fmt"
	"math"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Report is what a job tells of itself, about once a minute.
type Report struct {
	Job  string    `json:"job"`
	Time time.Time `json:"time"`
	// Step is the global step reached.
	Step int64 `json:"step"`
	// Samples that were processed so far; 0 is unknown.
	Samples float64 `json:"samples,omitempty"`
	// StepsPerSecond of the global step; 0 is not measured, as while the job pauses.
	StepsPerSecond float64 `json:"steps_per_second"`
	// Seconds that the speed was measured over; 0 is since the last report.
	Seconds float64 `json:"seconds,omitempty"`
	// Workers and Servers that ran.
	Workers int `json:"workers"`
	Servers int `json:"servers,omitempty"`
	// Pods are what single pods used; those that are not listed are unknown.
	Pods []PodUsage `json:"pods,omitempty"`
}

// PodUsage is what one pod used and what it may use.
type PodUsage struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// CPU in cores and Memory in bytes: used, and the limits; 0 is unknown.
	CPU         float64 `json:"cpu,omitempty"`
	CPULimit    float64 `json:"cpu_limit,omitempty"`
	Memory      float64 `json:"memory,omitempty"`
	MemoryLimit float64 `json:"memory_limit,omitempty"`
	// StepSeconds is the time of a worker's own steps, without waiting for others; 0 is
	// unknown. It finds stragglers.
	StepSeconds float64 `json:"step_seconds,omitempty"`
}

// Bounds of reported speeds.
const (
	maxSeconds        = 1e9
	maxStepsPerSecond = 1e9
	maxStep           = int64(1) << 53
)

// Validate says which field cannot be. A speed of zero can.
func (r Report) Validate() error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("report of job %q: %w", model.Clip(r.Job), err)
	}
	return nil
}

func (r Report) validate() error {
	switch {
	case r.Job == "" || len(r.Job) > model.MaxName:
		return fmt.Errorf("job must have 1 to %d bytes: %w", model.MaxName, ErrInvalid)
	case !validTime(r.Time):
		return fmt.Errorf("time is missing or out of range: %w", ErrInvalid)
	case r.Step < 0 || r.Step > maxStep:
		return fmt.Errorf("step must be between 0 and 2^53: %d: %w", r.Step, ErrInvalid)
	case !(r.Samples >= 0) || math.IsInf(r.Samples, 0):
		return fmt.Errorf("samples must be a number that is not negative: %g: %w", r.Samples, ErrInvalid)
	case !(r.StepsPerSecond >= 0 && r.StepsPerSecond <= maxStepsPerSecond):
		return fmt.Errorf("steps_per_second must be between 0 and %g: %g: %w", float64(maxStepsPerSecond), r.StepsPerSecond, ErrInvalid)
	case !(r.Seconds >= 0 && r.Seconds <= maxSeconds):
		return fmt.Errorf("seconds must be between 0 and %g: %g: %w", float64(maxSeconds), r.Seconds, ErrInvalid)
	case r.Workers < 0 || r.Workers > MaxReplicas || r.Servers < 0 || r.Servers > MaxReplicas:
		return fmt.Errorf("workers and servers must be between 0 and %d: %d and %d: %w", MaxReplicas, r.Workers, r.Servers, ErrInvalid)
	case r.StepsPerSecond > 0 && r.Workers == 0:
		return fmt.Errorf("steps_per_second is %g without workers: %w", r.StepsPerSecond, ErrInvalid)
	case len(r.Pods) > MaxPods:
		return fmt.Errorf("more than %d pods: %w", MaxPods, ErrInvalid)
	}
	seen := make(map[string]bool, len(r.Pods))
	for _, p := range r.Pods {
		if err := p.validate(); err != nil {
			return err
		}
		if seen[p.Name] {
			return fmt.Errorf("pod %s is there twice: %w", model.Clip(p.Name), ErrInvalid)
		}
		seen[p.Name] = true
	}
	return nil
}

func (p PodUsage) validate() error {
	if err := validPod(p.Name); err != nil {
		return err
	}
	what := "pod " + model.Clip(p.Name)
	if err := p.Role.validate(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := (Resources{CPU: p.CPU, Memory: p.Memory}).validate(what); err != nil {
		return err
	}
	if err := (Resources{CPU: p.CPULimit, Memory: p.MemoryLimit}).validate(what + ", limit"); err != nil {
		return err
	}
	if !(p.StepSeconds >= 0 && p.StepSeconds <= maxSeconds) {
		return fmt.Errorf("%s: step_seconds must be between 0 and %g: %g: %w", what, float64(maxSeconds), p.StepSeconds, ErrInvalid)
	}
	return nil
}

func (r Role) validate() error {
	if r != Worker && r != Server {
		return fmt.Errorf("role must be %s or %s: %q: %w", Worker, Server, model.Clip(string(r)), ErrInvalid)
	}
	return nil
}

// validTime keeps differences of times within what a time.Duration holds.
func validTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2200 }
