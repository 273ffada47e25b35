package throughput

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/karasu-project/karasu/model/runtime/ernest"
)

// Sample is a measured step.
type Sample struct {
	Setting
	// StepSeconds is the time of a worker's step: workers / pushes a second.
	StepSeconds float64
	// Minutes it was measured over; 0 is 1.
	Minutes float64
}

// Prior is what is known of coefficients from elsewhere.
type Prior [Terms]Coefficient

// Coefficient of a term, in squared seconds per feature.
type Coefficient struct {
	Value float64
	// SD of the value's logarithm; 0 is nothing known.
	SD float64
}

// CapPrior is the prior of parameter servers' update by the cap, in pushes a second of
// servers of strength p x cores: T -> w / cap.
func CapPrior(logCap, sd float64, servers int, serverCores float64) Prior {
	strength := float64(max(servers, 1)) * known(serverCores)
	var p Prior
	p[Update] = Coefficient{Value: math.Exp(2 * (math.Log(strength) - logCap)), SD: 2 * sd}
	return p
}

// Model is a fitted sum of terms.
type Model struct {
	Mode Mode
	// Coefficients by Term, in squared seconds per feature, none negative.
	Coefficients [Terms]float64
	// Used says which terms the samples could tell apart; the others are 0.
	Used [Terms]bool
	// inverse is the covariance of relative errors of T^2 over the passive terms.
	inverse *mat.SymDense
	passive []Term
}

// MaxSamples of one fit; more are refused.
const MaxSamples = 100_000

// Fit fits the terms that the samples and the prior tell apart, by least squares of
// relative errors of T^2 with coefficients that are not negative. It needs one sample.
func Fit(mode Mode, samples []Sample, prior Prior) (*Model, error) {
	if err := mode.Validate(); err != nil {
		return nil, err
	}
	if len(samples) == 0 || len(samples) > MaxSamples {
		return nil, fmt.Errorf("throughput: needs between 1 and %d samples: %d: %w", MaxSamples, len(samples), ErrInvalid)
	}
	features := make([][Terms]float64, len(samples))
	for i, s := range samples {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		if !(s.StepSeconds > 1e-9 && s.StepSeconds < 1e9) || !(s.Minutes >= 0 && s.Minutes < 1e9) {
			return nil, fmt.Errorf("throughput: step of %g s over %g minutes: %w", s.StepSeconds, s.Minutes, ErrInvalid)
		}
		features[i] = mode.features(s.Setting)
	}
	m := &Model{Mode: mode}
	terms := m.choose(features, prior)
	a, b := m.rows(samples, features, terms, prior)
	for j, c := range ernest.NNLS(a, b) {
		m.Coefficients[terms[j]] = c
		if c > 0 {
			m.passive = append(m.passive, terms[j])
		}
	}
	if len(m.passive) == 0 { // rounding left nothing: the mean step is a constant
		return nil, fmt.Errorf("throughput: no term explains the samples: %w", ErrInvalid)
	}
	m.uncertainty(a, b, terms)
	return m, nil
}

// choose lists the terms whose features are not zero nor proportional, over all samples,
// to those of a term before; terms with a prior are always there.
func (m *Model) choose(features [][Terms]float64, prior Prior) []Term {
	var terms []Term
	add := func(t Term) {
		for _, u := range terms {
			// A term with a prior leaves room for another: the prior tells them apart.
			if prior[u].SD == 0 && proportional(features, t, u) {
				return
			}
		}
		if slices.ContainsFunc(features, func(f [Terms]float64) bool { return f[t] > 0 }) {
			m.Used[t] = true
			terms = append(terms, t)
		}
	}
	order := [Terms]Term{Constant, Update, Compute, Embedding, Synchronisation}
	for _, t := range order {
		if prior[t].SD > 0 {
			m.Used[t] = true
			terms = append(terms, t)
		}
	}
	for _, t := range order {
		if !m.Used[t] {
			add(t)
		}
	}
	return terms
}

func proportional(features [][Terms]float64, t, u Term) bool {
	var tt, uu, tu float64
	for _, f := range features {
		tt, uu, tu = tt+f[t]*f[t], uu+f[u]*f[u], tu+f[t]*f[u]
	}
	return tt == 0 || tu*tu >= (1-1e-9)*tt*uu
}

// rows are the equations in units of their standard deviations.
func (m *Model) rows(samples []Sample, features [][Terms]float64, terms []Term, prior Prior) (a [][]float64, b []float64) {
	for i, s := range samples {
		y := s.StepSeconds * s.StepSeconds
		sd := 2 * math.Sqrt(MisfitSD*MisfitSD+SampleSD*SampleSD/known(s.Minutes)) // of ln T^2
		row := make([]float64, len(terms))
		for j, t := range terms {
			row[j] = features[i][t] / (y * sd)
		}
		a, b = append(a, row), append(b, 1/sd)
	}
	for j, t := range terms {
		if p := prior[t]; p.SD > 0 {
			row := make([]float64, len(terms))
			row[j] = 1 / (p.Value * p.SD)
			a, b = append(a, row), append(b, 1/p.SD)
		}
	}
	return a, b
}

// uncertainty is the inverse of the normal equations over the terms that count, widened
// where residuals are larger than expected.
func (m *Model) uncertainty(a [][]float64, b []float64, terms []Term) {
	k := len(m.passive)
	q := mat.NewSymDense(k, nil)
	column := map[Term]int{}
	for j, t := range terms {
		column[t] = j
	}
	var chi float64
	for i, row := range a {
		r := b[i]
		for x, t := range m.passive {
			r -= row[column[t]] * m.Coefficients[t]
			for y := x; y < k; y++ {
				q.SetSym(x, y, q.At(x, y)+row[column[t]]*row[column[m.passive[y]]]*m.Coefficients[t]*m.Coefficients[m.passive[y]])
			}
		}
		chi += r * r
	}
	for x := range k {
		q.SetSym(x, x, q.At(x, x)*(1+1e-9)+1e-12)
	}
	var chol mat.Cholesky
	inverse := mat.NewSymDense(k, nil)
	if !chol.Factorize(q) || chol.InverseTo(inverse) != nil {
		return // not told apart at all: only the misfit is stated
	}
	if free := float64(len(a) - k); free > 0 {
		inverse.ScaleSym(max(1, chi/free), inverse)
	}
	m.inverse = inverse
}

// StepSeconds predicts the time of a worker's step and the standard deviation of its
// logarithm.
func (m *Model) StepSeconds(s Setting) (seconds, sd float64) {
	f := m.Mode.features(s)
	seconds = stepSeconds(m.Coefficients, f)
	variance := MisfitSD * MisfitSD
	if m.inverse != nil && seconds > 0 {
		for i, t := range m.passive {
			for j, u := range m.passive {
				variance += m.share(t, f, seconds) * m.share(u, f, seconds) * m.inverse.At(i, j) / 4
			}
		}
	}
	return seconds, math.Sqrt(variance)
}

// share of a term in T^2.
func (m *Model) share(t Term, f [Terms]float64, seconds float64) float64 {
	return m.Coefficients[t] * f[t] / (seconds * seconds)
}

// SamplesPerSecond predicts the speed of all workers and the standard deviation of its
// logarithm.
func (m *Model) SamplesPerSecond(s Setting) (speed, sd float64) {
	seconds, sd := m.StepSeconds(s)
	return float64(s.Workers) * known(s.Batch) / seconds, sd
}

// LogCap is the logarithm of the pushes a second that no number of workers exceeds, and
// its standard deviation; false where nothing was seen to bound them.
func (m *Model) LogCap(s Setting) (log, sd float64, ok bool) {
	if !m.Mode.Servers() {
		return 0, 0, false
	}
	if m.Coefficients[Update]+m.Coefficients[Embedding]+m.Coefficients[Synchronisation] == 0 {
		return 0, 0, false
	}
	many := s
	many.Workers = 1 << 20
	seconds, sd := m.StepSeconds(many)
	return math.Log(float64(many.Workers)) - math.Log(seconds), sd, true
}
