// Package wire converts runs between the vocabulary of package model and the
// messages of the local API, which are also what the private store keeps.
//
// Converting to a message loses only what is below a millisecond of a start.
// Converting from one validates: what comes out has passed model's checks.
package wire

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/measure"
)

// FromRun returns the message of a run, with its ID.
func FromRun(r model.Run) *karasuv1.Run {
	return &karasuv1.Run{
		Id:              r.ID(),
		Workload:        FromWorkload(r.Workload),
		Configuration:   FromConfiguration(r.Configuration),
		RuntimeSeconds:  r.RuntimeSeconds,
		Outcome:         FromOutcome(r.Outcome),
		StartUnixMillis: FromTime(r.Start),
		Metrics:         measure.ToProto(r.Metrics),
		Origin:          r.Origin,
	}
}

// ToRun returns the validated run of a message, its workload normalised. The
// message's ID is ignored: it follows from the rest. Errors wrap model.ErrInvalid.
func ToRun(m *karasuv1.Run) (model.Run, error) {
	w, err := ToWorkload(m.GetWorkload())
	if err != nil {
		return model.Run{}, err
	}
	c, err := ToConfiguration(m.GetConfiguration())
	if err != nil {
		return model.Run{}, err
	}
	start, err := ToTime("start", m.GetStartUnixMillis())
	if err != nil {
		return model.Run{}, err
	}
	r := model.Run{
		Workload: w, Configuration: c, RuntimeSeconds: m.GetRuntimeSeconds(),
		Outcome: ToOutcome(m.GetOutcome()), Start: start, Metrics: measure.FromProto(m.GetMetrics()),
		Origin: m.GetOrigin(),
	}
	if err := r.Validate(); err != nil {
		return model.Run{}, err
	}
	return r, nil
}

// FromWorkload returns the message of a workload.
func FromWorkload(w model.Workload) *karasuv1.Workload {
	return &karasuv1.Workload{
		Infrastructure: w.Infrastructure, Framework: w.Framework, Algorithm: w.Algorithm,
		Job: w.Job, Dataset: w.Dataset, InputBytes: w.InputBytes,
		Arguments: FromArguments(w.Arguments),
	}
}

// ToWorkload returns the normalised and validated workload of a message. Its job
// may be empty. Errors wrap model.ErrInvalid.
func ToWorkload(m *karasuv1.Workload) (model.Workload, error) {
	w := model.Workload{
		Infrastructure: m.GetInfrastructure(), Framework: m.GetFramework(), Algorithm: m.GetAlgorithm(),
		Job: m.GetJob(), Dataset: m.GetDataset(), InputBytes: m.GetInputBytes(),
	}
	var err error
	if w.Arguments, err = ToArguments(m.GetArguments()); err != nil {
		return model.Workload{}, err
	}
	w = w.Normalize()
	if err := w.Validate(); err != nil {
		return model.Workload{}, err
	}
	return w, nil
}

// FromArguments returns the messages of arguments.
func FromArguments(as model.Arguments) []*karasuv1.Argument {
	var out []*karasuv1.Argument
	for _, a := range as {
		m := &karasuv1.Argument{Name: a.Name, Value: &karasuv1.Argument_Number{Number: a.Number}}
		if a.Text != "" {
			m.Value = &karasuv1.Argument_Text{Text: a.Text}
		}
		out = append(out, m)
	}
	return out
}

// ToArguments returns the canonical and validated arguments of messages. Errors wrap
// model.ErrInvalid.
func ToArguments(ms []*karasuv1.Argument) (model.Arguments, error) {
	if len(ms) > model.MaxArguments {
		return nil, &model.FieldError{Field: "arguments", Problem: fmt.Sprintf("are more than %d: %d", model.MaxArguments, len(ms))}
	}
	var as model.Arguments
	for _, m := range ms {
		a := model.Argument{Name: m.GetName(), Number: m.GetNumber(), Text: m.GetText()}
		if _, number := m.GetValue().(*karasuv1.Argument_Number); !number && strings.TrimSpace(a.Text) == "" {
			return nil, &model.FieldError{Field: "argument " + model.Clip(a.Name), Problem: "has no value"}
		}
		as = append(as, a)
	}
	as = as.Normalize()
	return as, as.Validate()
}

// FromConfiguration returns the message of a configuration.
func FromConfiguration(c model.Configuration) *karasuv1.Configuration {
	return &karasuv1.Configuration{MachineType: c.MachineType, ScaleOut: uint32(c.ScaleOut)}
}

// ToConfiguration returns the validated configuration of a message. Errors wrap
// model.ErrInvalid.
func ToConfiguration(m *karasuv1.Configuration) (model.Configuration, error) {
	c := model.Configuration{MachineType: m.GetMachineType(), ScaleOut: int(m.GetScaleOut())}
	if err := c.Validate(); err != nil {
		return model.Configuration{}, err
	}
	return c, nil
}

// FromOutcome returns the message's outcome; an invalid one is unspecified.
func FromOutcome(o model.Outcome) karasuv1.Outcome {
	switch o {
	case model.OK:
		return karasuv1.Outcome_OUTCOME_OK
	case model.Failed:
		return karasuv1.Outcome_OUTCOME_FAILED
	case model.Timeout:
		return karasuv1.Outcome_OUTCOME_TIMEOUT
	}
	return karasuv1.Outcome_OUTCOME_UNSPECIFIED
}

// ToOutcome returns 0, which is invalid, for any that is unknown.
func ToOutcome(o karasuv1.Outcome) model.Outcome {
	switch o {
	case karasuv1.Outcome_OUTCOME_OK:
		return model.OK
	case karasuv1.Outcome_OUTCOME_FAILED:
		return model.Failed
	case karasuv1.Outcome_OUTCOME_TIMEOUT:
		return model.Timeout
	}
	return 0
}

// FromTime returns whole milliseconds since 1970 UTC; the zero time is 0.
func FromTime(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli())
}

// ToTime reverses [FromTime], in UTC. It refuses what is not a number and what
// lies further than the year 9999.
func ToTime(field string, millis float64) (time.Time, error) {
	const limit = 253402300799999 // 9999-12-31T23:59:59.999Z
	switch {
	case millis == 0:
		return time.Time{}, nil
	case !(math.Abs(millis) <= limit):
		return time.Time{}, &model.FieldError{Field: field, Problem: fmt.Sprintf("is not a time in milliseconds since 1970: %g", millis)}
	}
	return time.UnixMilli(int64(millis)).UTC(), nil
}

// FromMetrics returns the message of utilisation; nil where nothing was measured.
func FromMetrics(m model.Metrics) *karasuv1.ResourceMetrics { return measure.ToProto(m) }

// ToMetrics reverses [FromMetrics]. It checks nothing: model.Metrics.Validate does.
func ToMetrics(m *karasuv1.ResourceMetrics) model.Metrics { return measure.FromProto(m) }
