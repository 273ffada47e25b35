// Package share decides what may leave an organisation and in which form.
//
// It turns private runs into aggregated summaries and small models under a
// [Policy], signs them and hands them to the commons. It is the only package that
// sees both private runs and shared records.
package share

import (
	"errors"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// ErrPolicy is wrapped by every error about an unusable policy.
var ErrPolicy = errors.New("share policy")

// Mode says which kinds of record leave.
type Mode string

// The modes.
const (
	Off       Mode = "off"
	Summaries Mode = "summaries"
	Models    Mode = "models"
	Both      Mode = "both"
)

// Valid reports whether m is one of the modes.
func (m Mode) Valid() bool { return m == Off || m == Summaries || m == Models || m == Both }

func (m Mode) summaries() bool { return m == Summaries || m == Both }
func (m Mode) models() bool    { return m == Models || m == Both }

// Defaults of a policy.
const (
	// DefaultMinimumRuns is how many runs with a runtime a workload needs before
	// anything of it leaves. A shape has no meaning below three.
	DefaultMinimumRuns = 3
	// DefaultValidFor is how long a shared record lives without renewal.
	DefaultValidFor = 180 * 24 * time.Hour
	// maxValidFor keeps below the 400 days that every node accepts.
	maxValidFor = 365 * 24 * time.Hour
)

// Policy says what leaves. The zero value shares nothing.
type Policy struct {
	Mode Mode
	// MinimumRuns of a workload before anything of it leaves; at least 3.
	MinimumRuns int
	// Absolute adds the level to summaries, so that peers learn runtimes in seconds.
	// Without it they learn only shapes.
	Absolute bool
	// ExactSizes adds input sizes in bytes. Without it peers learn the power of two.
	ExactSizes bool
	// Runtimes shares a general runtime model of each topic whose mode shares models.
	// It tells runtimes in seconds, whatever Absolute says.
	Runtimes bool
	// Stages shares a general predictor of stages of each infrastructure and framework,
	// from the topics whose mode shares models. It tells seconds and bytes.
	Stages bool
	// Epsilon, if above 0, adds Laplace noise to every log runtime; see [Policy.NoiseScale]
	// for what it promises.
	Epsilon float64
	// ValidFor is the lifetime of a record.
	ValidFor time.Duration
	// Overrides change the mode by topic; the first that matches counts.
	Overrides []Override
}

// Override is a mode for the topics that match.
type Override struct {
	// Match reports whether the override is for the topic.
	Match func(model.Topic) bool
	Mode  Mode
	// Retraction keeps the override in a trial of another policy, too.
	Retraction bool
}

// DefaultPolicy shares shapes and models of every workload with enough runs.
func DefaultPolicy() Policy {
	return Policy{Mode: Both, MinimumRuns: DefaultMinimumRuns, ValidFor: DefaultValidFor}
}

// Validate checks the ranges. It wraps [ErrPolicy].
func (p Policy) Validate() error {
	switch {
	case !p.Mode.Valid():
		return fmt.Errorf("%w: mode %q is none of off, summaries, models, both", ErrPolicy, p.Mode)
	case p.MinimumRuns < DefaultMinimumRuns:
		return fmt.Errorf("%w: minimum_runs is %d, must be at least %d", ErrPolicy, p.MinimumRuns, DefaultMinimumRuns)
	case !(p.Epsilon == 0 || p.Epsilon >= 0.1 && p.Epsilon <= 100):
		return fmt.Errorf("%w: epsilon is %g, must be 0 (no noise) or between 0.1 and 100", ErrPolicy, p.Epsilon)
	case p.ValidFor < 24*time.Hour || p.ValidFor > maxValidFor:
		return fmt.Errorf("%w: valid_for is %.4gd, must be between 1d and %.4gd", ErrPolicy, days(p.ValidFor), days(maxValidFor))
	}
	for _, o := range p.Overrides {
		if !o.Mode.Valid() {
			return fmt.Errorf("%w: mode %q is none of off, summaries, models, both", ErrPolicy, o.Mode)
		}
	}
	return nil
}

func days(d time.Duration) float64 { return d.Hours() / 24 }

// ModeFor returns the mode for a topic.
func (p Policy) ModeFor(t model.Topic) Mode {
	for _, o := range p.Overrides {
		if o.Match(t) {
			return o.Mode
		}
	}
	return p.Mode
}

// allows says whether records of a kind may leave under a topic at all.
func (p Policy) allows(t model.Topic, kind karasuv1.RecordKind) bool {
	mode := p.ModeFor(t)
	return kind == karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY && mode.summaries() ||
		kind == karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL && mode.models() ||
		kind == karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL && p.sharesRuntimes(t) ||
		kind == karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL && p.sharesStages(t)
}

// sharesRuntimes says whether a general runtime model of the topic may leave.
func (p Policy) sharesRuntimes(t model.Topic) bool { return p.Runtimes && p.ModeFor(t).models() }

// sharesStages says whether a stage model may learn from runs of the topic, or leave under it.
func (p Policy) sharesStages(t model.Topic) bool { return p.Stages && p.ModeFor(t).models() }
