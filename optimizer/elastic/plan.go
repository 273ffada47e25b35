package elastic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// Role of a pod.
type Role string

// Roles.
const (
	Worker Role = "worker"
	Server Role = "ps"
)

// Resources of one pod; 0 is unknown, or left as it is.
type Resources struct {
	// CPU in cores.
	CPU float64 `json:"cpu,omitempty"`
	// Memory in bytes.
	Memory float64 `json:"memory,omitempty"`
}

func (r Resources) validate(what string) error {
	if !(r.CPU >= 0 && r.CPU <= MaxCores) {
		return fmt.Errorf("%s: cpu must be between 0 and %d cores: %g: %w", what, MaxCores, r.CPU, ErrInvalid)
	}
	if !(r.Memory >= 0 && r.Memory <= MaxBytes) {
		return fmt.Errorf("%s: memory must be between 0 and 2^50 bytes: %g: %w", what, r.Memory, ErrInvalid)
	}
	return nil
}

// Group is all pods of one role.
type Group struct {
	Replicas int       `json:"replicas"`
	Pod      Resources `json:"pod"`
}

// Plan is what a job should run on.
type Plan struct {
	Workers Group `json:"workers"`
	Servers Group `json:"servers"`
	// Pods are single pods, by name, that differ from their group.
	Pods map[string]Resources `json:"pods,omitempty"`
	// Replace are pods to start again elsewhere, once.
	Replace []string `json:"replace,omitempty"`
}

// IsZero says that the plan asks for nothing.
func (p Plan) IsZero() bool {
	return p.Workers == Group{} && p.Servers == Group{} && len(p.Pods) == 0 && len(p.Replace) == 0
}

// Equal compares everything.
func (p Plan) Equal(q Plan) bool {
	return p.Workers == q.Workers && p.Servers == q.Servers && maps.Equal(p.Pods, q.Pods) && slices.Equal(p.Replace, q.Replace)
}

// Cores is the sum over all pods.
func (p Plan) Cores() float64 {
	cores := float64(p.Workers.Replicas)*p.Workers.Pod.CPU + float64(p.Servers.Replicas)*p.Servers.Pod.CPU
	for _, name := range slices.Sorted(maps.Keys(p.Pods)) {
		if r := p.Pods[name]; r.CPU > 0 {
			cores += r.CPU - p.Servers.Pod.CPU
		}
	}
	return max(cores, 0)
}

// Validate says which field cannot be.
func (p Plan) Validate() error {
	for _, g := range []struct {
		name string
		Group
	}{{"workers", p.Workers}, {"servers", p.Servers}} {
		if g.Replicas < 0 || g.Replicas > MaxReplicas {
			return fmt.Errorf("%s must be between 0 and %d: %d: %w", g.name, MaxReplicas, g.Replicas, ErrInvalid)
		}
		if err := g.Pod.validate(g.name); err != nil {
			return err
		}
	}
	if len(p.Pods)+len(p.Replace) > MaxPods {
		return fmt.Errorf("more than %d single pods: %w", MaxPods, ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Pods)) {
		if err := validPod(name); err != nil {
			return err
		}
		if err := p.Pods[name].validate("pod " + model.Clip(name)); err != nil {
			return err
		}
	}
	for _, name := range p.Replace {
		if err := validPod(name); err != nil {
			return err
		}
	}
	return nil
}

func validPod(name string) error {
	if name == "" || len(name) > model.MaxName {
		return fmt.Errorf("name of a pod must have 1 to %d bytes: %q: %w", model.MaxName, model.Clip(name), ErrInvalid)
	}
	return nil
}

func (p Plan) clone() Plan {
	p.Pods = maps.Clone(p.Pods)
	p.Replace = slices.Clone(p.Replace)
	return p
}
