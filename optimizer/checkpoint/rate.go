package checkpoint

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Exposure is what a history tells of failures: the hours that attempts ran, those that
// failed until they did, and how many of them failed.
type Exposure struct {
	Hours    float64
	Failures int
}

// maxHours bounds an exposure: a million years.
const maxHours = 1e10

// Add counts an attempt that ran for some seconds; one that is negative or no number is
// left out.
func (e *Exposure) Add(seconds float64, failed bool) {
	if !(seconds >= 0 && seconds <= 3600*maxHours) {
		return
	}
	e.Hours += seconds / 3600
	if failed {
		e.Failures++
	}
}

// Prior is what is taken for known before any history, as if it had been seen: so many
// failures in so many hours.
type Prior struct{ Failures, Hours float64 }

// DefaultPrior is one failure in a hundred hours, at the weight of half a failure, which is
// Jeffreys' for a rate. Clusters at Los Alamos had about three failures a year and node
// (Schroeder and Gibson, DSN 2006), so this is a job on some thirty nodes. A hundred
// hours without a failure bring it to a third.
func DefaultPrior() Prior { return Prior{Failures: .5, Hours: 50} }

// Rate is a constant rate of failures, and how well it is known.
type Rate struct {
	// PerHour is the mean, Low and High bound it with 90% credibility.
	PerHour, Low, High float64
	// Exposure that it was fitted from; without any hours it is the prior's.
	Exposure
}

// rateTail is on either side of a rate's interval.
const rateTail = .05

// Fit is the rate after an exposure: failures are Poisson, and the prior a gamma law, so
// the rate's law is a gamma one of the sums. It never is 0: that nothing failed yet bounds
// it only. Errors: ErrOption for amounts that are negative, not finite or too large.
func (p Prior) Fit(e Exposure) (Rate, error) {
	if !(p.Failures > 0 && p.Failures <= maxHours && p.Hours > 0 && p.Hours <= maxHours) {
		return Rate{}, fmt.Errorf("prior of %g failures in %g hours: both must be positive: %w", p.Failures, p.Hours, ErrOption)
	}
	if !(e.Hours >= 0 && e.Hours <= maxHours) || e.Failures < 0 {
		return Rate{}, fmt.Errorf("%d failures in %g hours: must not be negative: %w", e.Failures, e.Hours, ErrOption)
	}
	law := distuv.Gamma{Alpha: p.Failures + float64(e.Failures), Beta: p.Hours + e.Hours}
	return Rate{PerHour: law.Mean(), Low: law.Quantile(rateTail), High: law.Quantile(1 - rateTail), Exposure: e}, nil
}

// Law is that of failures with this rate.
func (r Rate) Law() Failures { return Failures{Law: Exponential, PerHour: r.PerHour} }
