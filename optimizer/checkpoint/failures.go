package checkpoint

import (
	"fmt"
	"math"
)

// Law is how failures are spread over a job's time.
type Law string

const (
	// Uniform is one failure, at any time of the job alike.
	Uniform Law = "uniform"
	// Exponential failures come with a constant rate.
	Exponential Law = "exponential"
	// Weibull failures come with a rate that falls with time if the shape is below 1, as
	// measured on large clusters (Schroeder and Gibson, DSN 2006, found .7 to .8).
	Weibull Law = "weibull"
)

// DefaultShape is the Weibull law's.
const DefaultShape = .7

// Failures is the time of a job's first failure. The zero value is [Uniform].
type Failures struct {
	Law Law
	// PerHour is the mean rate; needed by Exponential. Weibull without a rate is the limit
	// of rare failures, given that one happens.
	PerHour float64
	// Shape of the Weibull law; 0 is DefaultShape.
	Shape float64
	// From is the share of the job's time before which nothing fails, such as .75 for
	// failures in the last quarter; Uniform only.
	From float64
}

// Validate returns ErrOption if the failures have no meaning.
func (f Failures) Validate() error {
	switch f.Law {
	case "", Uniform, Exponential, Weibull:
	default:
		return fmt.Errorf("failures are uniform, exponential or weibull, not %q: %w", f.Law, ErrOption)
	}
	if !(f.PerHour >= 0 && f.PerHour <= 1e6) || f.Law == Exponential && f.PerHour == 0 {
		return fmt.Errorf("failure rate of %g an hour: must be positive: %w", f.PerHour, ErrOption)
	}
	if !(f.Shape == 0 || f.Shape >= .1 && f.Shape <= 10) {
		return fmt.Errorf("shape %g of the Weibull law: must be between .1 and 10: %w", f.Shape, ErrOption)
	}
	if !(f.From >= 0 && f.From < 1) || f.From > 0 && f.Law != "" && f.Law != Uniform {
		return fmt.Errorf("failures from %g of the job on: a share below 1, and only of uniform failures: %w", f.From, ErrOption)
	}
	return nil
}

func (f Failures) shape() float64 {
	if f.Law == Exponential {
		return 1
	}
	if f.Shape == 0 {
		return DefaultShape
	}
	return f.Shape
}

// scale is the Weibull scale in seconds for the mean time between failures.
func (f Failures) scale() float64 {
	return 3600 / f.PerHour / math.Gamma(1+1/f.shape())
}

// by is the probability of a failure by a time in a job of some length, in seconds.
func (f Failures) by(seconds, length float64) float64 {
	if length <= 0 {
		return 0
	}
	t := min(max(seconds, 0), length)
	switch {
	case f.Law == "" || f.Law == Uniform:
		return max(0, t/length-f.From) / (1 - f.From)
	case f.PerHour == 0:
		return math.Pow(t/length, f.shape())
	default:
		return -math.Expm1(-math.Pow(t/f.scale(), f.shape()))
	}
}

// lost is the expected work, in seconds, that a failure costs a job that starts over.
func (f Failures) lost(length float64) float64 { return f.mean(length, length) }

// mean is the integral of the failure's time over the law from 0 to a time.
func (f Failures) mean(until, length float64) float64 {
	until = min(until, length)
	return max(0, until*f.by(until, length)-f.area(until, length))
}

// areaSteps are the intervals of the numeric integral in area.
const areaSteps = 500

// area is the integral of by from 0 to a time.
func (f Failures) area(until, length float64) float64 {
	if length <= 0 || until <= 0 {
		return 0
	}
	switch {
	case f.Law == "" || f.Law == Uniform:
		x := max(0, until/length-f.From)
		return length * x * x / 2 / (1 - f.From)
	case f.PerHour == 0:
		k := f.shape()
		return length * math.Pow(until/length, k+1) / (k + 1)
	case f.Law == Exponential:
		r := f.PerHour / 3600
		return until + math.Expm1(-r*until)/r
	}
	// Steps shrink towards 0, where the law is steep.
	sum, before := 0.0, 0.0
	for i := 1; i <= areaSteps; i++ {
		a, b := float64(i-1)/areaSteps, float64(i)/areaSteps
		now := f.by(until*b*b*b, length)
		sum += (before + now) / 2 * until * (b*b*b - a*a*a)
		before = now
	}
	return sum
}

// gain is what a cut is expected to save by failures between two times: the work from
// the first stage's start to its point, but not more than had passed.
func (f Failures) gain(first, point, from, to, length float64) float64 {
	if from = max(from, first); to <= from {
		return 0
	}
	turn := min(max(point, from), to)
	sum := point*(f.by(to, length)-f.by(turn, length)) - first*(f.by(to, length)-f.by(from, length))
	if turn > from {
		sum += f.mean(turn, length) - f.mean(from, length)
	}
	return max(0, sum)
}

// Draw returns the time of a first failure from a uniform number in [0, 1), and false
// if the job of this length ends before it.
func (f Failures) Draw(u, length float64) (seconds float64, fails bool) {
	switch {
	case f.Law == "" || f.Law == Uniform:
		return length * (f.From + u*(1-f.From)), true
	case f.PerHour == 0:
		return length * math.Pow(u, 1/f.shape()), true
	default:
		t := f.scale() * math.Pow(-math.Log1p(-u), 1/f.shape())
		return t, t < length
	}
}
