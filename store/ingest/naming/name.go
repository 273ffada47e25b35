package naming

import (
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/model"
)

// Hints are what the user says of executions where their source does not.
type Hints struct {
	// Infrastructure is a slug; a rule that names one comes first.
	Infrastructure string
	// MachineType of the workers. It comes before what rules and sources tell.
	MachineType string
}

// Validate checks the fields that are set.
func (h Hints) Validate() error {
	if h.Infrastructure != "" {
		if err := (model.Topic{Infrastructure: h.Infrastructure, Framework: "x", Algorithm: "x"}).Validate(); err != nil {
			return err
		}
	}
	if h.MachineType != "" {
		return model.Configuration{MachineType: h.MachineType, ScaleOut: 1}.Validate()
	}
	return nil
}

// Over returns the hints with those of older where these are empty.
func (h Hints) Over(older Hints) Hints {
	if h.Infrastructure == "" {
		h.Infrastructure = older.Infrastructure
	}
	if h.MachineType == "" {
		h.MachineType = older.MachineType
	}
	return h
}

// Reason says why an execution is no run.
type Reason string

// The reasons.
const (
	// NoRule matches the execution.
	NoRule Reason = "no-rule"
	// Unfinished: the source does not tell how it ended.
	Unfinished Reason = "unfinished"
	// NoInfrastructure is said by neither rule nor import.
	NoInfrastructure Reason = "infrastructure"
	// NoMachineType is known of its workers.
	NoMachineType Reason = "machine-type-unknown"
	// BadMachineType is one that the catalog does not have.
	BadMachineType Reason = "machine-type"
	// NoNodes: the source tells neither hosts nor executors.
	NoNodes Reason = "nodes"
	// Invalid is a workload or a run that breaks a rule of the model.
	Invalid Reason = "invalid"
)

// NotARunError says why an execution is no run, and what to do about it.
type NotARunError struct {
	Reason Reason
	// Detail is one line for people.
	Detail string
}

// Error returns the detail.
func (e *NotARunError) Error() string { return e.Detail }

// CheckMachine returns the catalog's spelling of a machine type, or an error that says
// what is wrong with it.
type CheckMachine func(infrastructure, machineType string) (string, error)

// Run makes the run of an execution. The error is a [*NotARunError].
func (r *Rules) Run(e model.Execution, h Hints, check CheckMachine) (model.Run, error) {
	not := func(reason Reason, format string, args ...any) (model.Run, error) {
		return model.Run{}, &NotARunError{reason, fmt.Sprintf(format, args...)}
	}
	rule, captured, ok := r.match(e)
	if !ok {
		return not(NoRule, "no rule matches; add a [[workload]] to config.toml")
	}
	if !e.Finished() {
		return not(Unfinished, "its record does not tell how it ended: it runs, was killed, or the record is cut")
	}
	w := model.Workload{
		Infrastructure: slug(rule.infrastructure.fill(captured)), Framework: slug(rule.framework.fill(captured)),
		Algorithm: slug(rule.algorithm.fill(captured)), Job: rule.job.fill(captured), Dataset: rule.dataset.fill(captured),
	}
	if w.Infrastructure == "" {
		w.Infrastructure = h.Infrastructure
	}
	if w.Infrastructure == "" {
		return not(NoInfrastructure, "its infrastructure is unknown: give it in the rule, or with --infrastructure when importing")
	}
	if w.Framework == "" {
		w.Framework = e.Framework
	}
	if e.InputBytes >= 1 && e.InputBytes <= model.MaxInputBytes {
		w.InputBytes = e.InputBytes
	}
	for _, a := range rule.arguments {
		text := a.value.fill(captured)
		if text == "" {
			continue // its group took no part in the match
		}
		arg, err := model.ParseArgument(a.name, text)
		if err != nil {
			return not(Invalid, "%v", err)
		}
		w.Arguments = append(w.Arguments, arg)
	}
	w = w.Normalize()
	if err := w.Validate(); err != nil {
		return not(Invalid, "%v, as its rule names it", err)
	}
	if w.Job == "" {
		return not(Invalid, "its rule captures no name for the job")
	}
	machine, err := rule.machine(e, h, captured, w.Infrastructure, check)
	if err != nil {
		return model.Run{}, err
	}
	nodes := e.Cluster.ScaleOut()
	if nodes < 1 {
		return not(NoNodes, "its record tells neither hosts nor executors")
	}
	run := model.Run{
		Workload: w, Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes},
		RuntimeSeconds: e.RuntimeSeconds(), Outcome: e.Outcome, Start: e.Start, Metrics: e.Metrics, Origin: e.Origin,
	}
	if err := run.Validate(); err != nil {
		return not(Invalid, "%v", err)
	}
	return run, nil
}

// machine finds the workers' machine type: what the user said of this import, the
// rule's map, the source, the rule's own.
func (r rule) machine(e model.Execution, h Hints, captured []string, infrastructure string, check CheckMachine) (string, error) {
	for _, m := range []string{h.MachineType, r.machines.Of(e), e.Cluster.MachineType, r.machineType.fill(captured)} {
		if m == "" {
			continue
		}
		name, err := check(infrastructure, m)
		if err != nil {
			return "", &NotARunError{BadMachineType, err.Error() + "; docs/catalog.md says how to add machine types"}
		}
		return name, nil
	}
	return "", &NotARunError{NoMachineType, "the machine type of its workers is unknown: give machine_type or machines in the rule, or --machine-type or --machine-map when importing"}
}

// match returns the first rule that matches and what its groups captured.
func (r *Rules) match(e model.Execution) (rule, []string, bool) {
	for _, rule := range r.rules {
		if rule.source != "" && rule.source != e.Framework {
			continue
		}
		captured, ok := rule.capture(e)
		if ok {
			return rule, captured, true
		}
	}
	return rule{}, nil, false
}

func (r rule) capture(e model.Execution) ([]string, bool) {
	captured := make([]string, 0, r.groups)
	for _, p := range r.patterns {
		m := p.regexp.FindStringSubmatch(p.field(e))
		if m == nil {
			return nil, false
		}
		captured = append(captured, m[1:]...)
	}
	return captured, true
}

// ReasonOf returns the reason in an error of [Rules.Run], and its detail.
func ReasonOf(err error) (Reason, string) {
	var n *NotARunError
	if errors.As(err, &n) {
		return n.Reason, n.Detail
	}
	return Invalid, err.Error()
}
