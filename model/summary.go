package model

import "math"

// MaxPoints bounds the configurations of one summary.
const MaxPoints = 5000

// Summary is what one workload's runs look like from outside: one aggregate a
// configuration and no names.
type Summary struct {
	// Topic is public.
	Topic Topic
	// Pseudonym is the keyed hash of the workload: 32 lower-case hex digits.
	Pseudonym string
	// InputSizeLog2 is the shared bucket of the input size; 0 is unknown.
	InputSizeLog2 int
	// ExactInputBytes is the input size where it is shared exactly; 0 is not.
	ExactInputBytes float64
	Points          []Point
	// Absolute says that Level is shared; without it only the shape is known.
	Absolute bool
	// Level is the mean log runtime that was subtracted from all points; 0 where
	// it is not shared.
	Level float64
	// NoiseScale of the Laplace noise on every LogRuntime; 0 is none.
	NoiseScale float64
}

// Point aggregates the runs of one workload on one configuration.
type Point struct {
	Configuration Configuration
	// Resources of one node, so that a reader needs no catalog that knows the type.
	Resources Resources
	// LogRuntime is the median of ln(runtime in seconds) over ok and timed-out runs,
	// minus the summary's level. 0 where there are none.
	LogRuntime float64
	// Counts of runs by outcome.
	OK, Failed, Timeout int
	Metrics             Metrics
}

// Bounds of what a summary may claim. A factor of e^12 = 160,000 between two
// configurations of one workload has never been measured; a liar may claim no more.
const (
	maxLogDeviation = 12
	maxRunCount     = 1_000_000
)

// MaxLevel bounds the size of a summary's level: e^25 s is 2,300 years.
const MaxLevel = 25

// Observed says whether the point carries a runtime.
func (p Point) Observed() bool { return p.OK+p.Timeout > 0 }

// Validate checks every number of a summary that came from outside.
func (s Summary) Validate() error {
	if err := s.Topic.Validate(); err != nil {
		return err
	}
	if err := ValidatePseudonym(s.Pseudonym); err != nil {
		return err
	}
	if err := ValidateSharedSize(s.InputSizeLog2, s.ExactInputBytes); err != nil {
		return err
	}
	if len(s.Points) == 0 || len(s.Points) > MaxPoints {
		return invalid("configurations", "must be between 1 and %d: %d", MaxPoints, len(s.Points))
	}
	if !(math.Abs(s.Level) <= MaxLevel) {
		return invalid("level", "must be within ±%d: %g", MaxLevel, s.Level)
	}
	if !(s.NoiseScale >= 0 && s.NoiseScale <= 10) {
		return invalid("noise scale", "must be between 0 and 10: %g", s.NoiseScale)
	}
	seen := make(map[Configuration]bool, len(s.Points))
	for _, p := range s.Points {
		if err := p.validate(); err != nil {
			return err
		}
		if seen[p.Configuration] {
			return invalid("configurations", "hold %s twice", p.Configuration)
		}
		seen[p.Configuration] = true
	}
	return nil
}

func (p Point) validate() error {
	if err := p.Configuration.Validate(); err != nil {
		return err
	}
	if err := p.Resources.Validate(); err != nil {
		return err
	}
	for _, n := range []int{p.OK, p.Failed, p.Timeout} {
		if n < 0 || n > maxRunCount {
			return invalid("run count", "must be between 0 and %d: %d", maxRunCount, n)
		}
	}
	if p.OK+p.Failed+p.Timeout == 0 {
		return invalid("run count", "of %s is zero", p.Configuration)
	}
	if !(math.Abs(p.LogRuntime) <= maxLogDeviation) {
		return invalid("log runtime", "of %s must be within ±%d of the level: %g", p.Configuration, maxLogDeviation, p.LogRuntime)
	}
	return p.Metrics.Validate()
}

// ValidateSharedSize checks an input size as it is shared: a bucket up to 2^60 bytes (0
// is unknown), and bytes of that bucket where they are shared (0 is not).
func ValidateSharedSize(log2 int, exact float64) error {
	switch {
	case log2 < 0 || log2 > maxInputSizeLog2:
		return invalid("input size", "must be between 2^0 and 2^%d bytes: 2^%d", maxInputSizeLog2, log2)
	case exact == 0:
	case !(exact >= 1 && exact <= MaxInputBytes):
		return invalid("input bytes", "must be between 1 byte and 1 EiB, or left out: %g", exact)
	case inputSizeLog2(exact) != log2:
		return invalid("input bytes", "are about 2^%d, but the input size is said to be about 2^%d bytes: %g", inputSizeLog2(exact), log2, exact)
	}
	return nil
}

// InputBytes is the input size as far as it is shared: exact, or the middle of its
// bucket. 0 is unknown.
func (s *Summary) InputBytes() float64 {
	if s.ExactInputBytes == 0 && s.InputSizeLog2 > 0 {
		return math.Exp2(float64(s.InputSizeLog2))
	}
	return s.ExactInputBytes
}

// ValidatePseudonym checks for 32 lower-case hex digits.
func ValidatePseudonym(s string) error {
	if len(s) != 32 {
		return invalid("pseudonym", "must be 32 hex digits: %q", Clip(s))
	}
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return invalid("pseudonym", "must be 32 hex digits: %q", s)
		}
	}
	return nil
}
