package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"
)

// Outcome says how a run ended.
type Outcome int

// The outcomes of a run. The zero value is invalid.
const (
	// OK is a run that completed.
	OK Outcome = iota + 1
	// Failed is a run that ended without a result; its runtime says nothing.
	Failed
	// Timeout is a run that was stopped for its runtime, so it would have taken
	// at least that long.
	Timeout
)

var outcomeNames = map[Outcome]string{OK: "ok", Failed: "failed", Timeout: "timeout"}

// String returns ok, failed or timeout.
func (o Outcome) String() string {
	if s, known := outcomeNames[o]; known {
		return s
	}
	return fmt.Sprintf("outcome(%d)", int(o))
}

// ParseOutcome reverses [Outcome.String].
func ParseOutcome(s string) (Outcome, error) {
	for o, name := range outcomeNames {
		if s == name {
			return o, nil
		}
	}
	return 0, invalid("outcome", "must be ok, failed or timeout: %q", Clip(s))
}

// Bounds of a run's wall time: a job that a cluster is chosen for takes at least a
// millisecond, and nobody waits ten years for it.
const (
	MinRuntime = time.Millisecond
	MaxRuntime = 10 * 365 * 24 * time.Hour
)

// Run is one execution of a workload on a configuration.
type Run struct {
	Workload      Workload
	Configuration Configuration
	// RuntimeSeconds is the wall time; 0 only where the run failed and nobody knows.
	RuntimeSeconds float64
	Outcome        Outcome
	// Start is when it began; zero is unknown.
	Start   time.Time
	Metrics Metrics
	// Origin is that of the [Execution] which the run was made of; empty is none. It
	// never leaves.
	Origin string
}

// Runtime returns the wall time.
func (r Run) Runtime() time.Duration {
	return time.Duration(r.RuntimeSeconds * float64(time.Second))
}

// Validate checks a run, its workload and its configuration.
func (r Run) Validate() error {
	if err := r.Workload.Validate(); err != nil {
		return err
	}
	if err := r.Configuration.Validate(); err != nil {
		return err
	}
	if _, known := outcomeNames[r.Outcome]; !known {
		return invalid("outcome", "must be ok, failed or timeout")
	}
	unknown := r.Outcome == Failed && r.RuntimeSeconds == 0
	if !unknown {
		if err := ValidateSeconds("runtime", r.RuntimeSeconds); err != nil {
			return err
		}
	}
	if !r.Start.IsZero() && (r.Start.Year() < 1990 || r.Start.Year() > 2200) {
		return invalid("start", "is not between the years 1990 and 2200: %s", r.Start)
	}
	if err := validateName("origin", r.Origin); err != nil {
		return err
	}
	return r.Metrics.Validate()
}

// ValidateSeconds checks a finite time from [MinRuntime] to [MaxRuntime].
func ValidateSeconds(field string, s float64) error {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return invalid(field, "is not a finite number: %g s", s)
	case s <= 0:
		return invalid(field, "must be above zero: %g s", s)
	case s < MinRuntime.Seconds():
		return invalid(field, "is below a millisecond: %g s", s)
	case s > MaxRuntime.Seconds():
		return invalid(field, "is above ten years: %g s", s)
	}
	return nil
}

// ID is the hash of everything that tells a run from another: 32 hex digits. The same
// run imported twice, from whatever source, has the same ID. That of a run with an
// origin is [OriginID]: it stays when the run is read again, or named anew.
func (r Run) ID() string {
	if r.Origin != "" {
		return OriginID(r.Origin)
	}
	start := int64(0)
	if !r.Start.IsZero() {
		start = r.Start.UnixMilli()
	}
	b := fmt.Appendf(nil, "karasu-run\x00%s\x00%s\x00%.6g\x00%s\x00%d\x00%.0f",
		r.Workload.Identity(), r.Configuration, r.RuntimeSeconds, r.Outcome, start, r.Workload.InputBytes)
	if len(r.Workload.Arguments) > 0 { // a run without any keeps the ID that it always had
		b = fmt.Appendf(b, "\x00arguments\x00%s", r.Workload.Arguments.Key())
	}
	return shortHash(b)
}

// OriginID is the ID of the run that an execution becomes.
func OriginID(origin string) string { return shortHash([]byte("karasu-origin\x00" + origin)) }

func shortHash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}

// Metrics are utilisation shares in [0, 1] over a run; nil is not measured.
type Metrics struct {
	CPU, Memory, Disk, Network *Percentiles
}

// Percentiles of a share over the samples of a run, each in [0, 1].
type Percentiles struct{ P10, P50, P90 float64 }

// Validate checks range and order.
func (m Metrics) Validate() error {
	for _, f := range []struct {
		name string
		p    *Percentiles
	}{{"cpu", m.CPU}, {"memory", m.Memory}, {"disk", m.Disk}, {"network", m.Network}} {
		if p := f.p; p != nil && !(0 <= p.P10 && p.P10 <= p.P50 && p.P50 <= p.P90 && p.P90 <= 1) {
			return invalid(f.name+" utilisation", "percentiles must rise from 0 to 1: p10 %g, p50 %g, p90 %g", p.P10, p.P50, p.P90)
		}
	}
	return nil
}
