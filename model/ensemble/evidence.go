package ensemble

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Config describes one target: its space, the level of its log runtime, and the
// supports.
type Config struct {
	// Candidates are N >= 1 points; Outside are further points at which runs may
	// be observed. Both are addressed by one index, candidates first.
	Candidates, Outside []Point
	// LevelMean is the prior mean of the mean log runtime over the candidates.
	LevelMean float64
	// LevelSD is its standard deviation; 0 takes Params.LevelSD.
	LevelSD float64
	// Borrowed is a second guess of the level, from other workloads; nil is none.
	Borrowed *Level
	// Supports are the traces of other workloads. None is the solo search.
	Supports []Trace
	// InputBytes of the target; 0 is unknown.
	InputBytes float64
}

// Level is a guess of the mean log runtime over the candidates.
type Level struct {
	// Mean and SD > 0 are in ln seconds.
	Mean, SD float64
	// Share, in (0, 1), is the prior probability that it is this guess that holds and
	// not the other one. Every hypothesis exists under both, and the runs decide.
	Share float64
}

func (l *Level) validate() error {
	if math.IsNaN(l.Mean) || math.IsInf(l.Mean, 0) || !(l.SD > 0) || math.IsInf(l.SD, 0) || !(l.Share > 0 && l.Share < 1) {
		return fmt.Errorf("%w: a borrowed level of %g ± %g with a share of %g", ErrInvalid, l.Mean, l.SD, l.Share)
	}
	return nil
}

// Ensemble is a mixture of Gaussian hypotheses about the target's log runtimes,
// conditioned on its runs. It is not safe for concurrent use.
type Ensemble struct {
	params Params
	s      *space
	kernel *kernelRows
	// families are the hypotheses, those of one shape together.
	families []*family
	// prior are the log prior masses, one a hypothesis.
	prior []float64
	// borrows says that some families have a borrowed level.
	borrows bool
	// bounds are the stopped runs so far.
	bounds []bound
}

// New builds the hypotheses. The work is O(W n^2 P) for W support workloads of n
// runs and P points, and O(W^2 n^3) for their agreement.
func New(p Params, c Config) (*Ensemble, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if math.IsNaN(c.LevelMean) || math.IsInf(c.LevelMean, 0) || !(c.LevelSD >= 0) || math.IsInf(c.LevelSD, 0) {
		return nil, fmt.Errorf("%w: a level of %g ± %g", ErrInvalid, c.LevelMean, c.LevelSD)
	}
	if c.Borrowed != nil {
		if err := c.Borrowed.validate(); err != nil {
			return nil, err
		}
	}
	s, err := newSpace(&p, c.Candidates, c.Outside)
	if err != nil {
		return nil, err
	}
	for i := range c.Supports {
		if err := c.Supports[i].Validate(s.d - baseFeatures); err != nil {
			return nil, fmt.Errorf("support %d: %w", i, err)
		}
	}
	e := &Ensemble{params: p, s: s}
	if c.LevelSD == 0 {
		c.LevelSD = p.LevelSD
	}
	return e, e.build(&c)
}

// Reset forgets the observations. The hypotheses are not computed again.
func (e *Ensemble) Reset() {
	for _, f := range e.families {
		f.reset()
	}
	e.bounds = nil
}

// Hypotheses returns how many there are.
func (e *Ensemble) Hypotheses() int { return len(e.prior) }

// Points returns the number of points that an index may name.
func (e *Ensemble) Points() int { return len(e.s.x) }

// Observe conditions every hypothesis on a log runtime at a point, with the
// variance of its noise (0 takes Params.NoiseSD squared), and reweighs them by how
// well each predicted it. O(hypotheses x runs x points).
func (e *Ensemble) Observe(point int, logRuntime, noiseVar float64) error {
	noiseVar, err := e.checkRun(point, logRuntime, noiseVar)
	if err != nil {
		return err
	}
	e.kernel.row(point) // the goroutines below only read it
	chunks(len(e.families), familyChunk, func(from, to int) {
		for _, f := range e.families[from:to] {
			f.observe(point, logRuntime, noiseVar)
		}
	})
	return nil
}

// checkRun refuses what is no run and returns the variance of its noise.
func (e *Ensemble) checkRun(point int, logRuntime, noiseVar float64) (float64, error) {
	switch {
	case point < 0 || point >= len(e.s.x):
		return 0, fmt.Errorf("%w: point %d of %d", ErrInvalid, point, len(e.s.x))
	case math.IsNaN(logRuntime) || math.IsInf(logRuntime, 0):
		return 0, fmt.Errorf("%w: a log runtime of %g", ErrInvalid, logRuntime)
	case !(noiseVar >= 0) || math.IsInf(noiseVar, 0):
		return 0, fmt.Errorf("%w: a noise variance of %g", ErrInvalid, noiseVar)
	}
	if noiseVar == 0 {
		noiseVar = e.params.NoiseSD * e.params.NoiseSD
	}
	return noiseVar, nil
}

// familyChunk is how many families are worth handing to another goroutine.
const familyChunk = 8

// Mixture is the predictive distribution of the log runtime (of a noiseless run)
// at every candidate. Its slices belong to the ensemble and are valid until the
// next call of Observe.
type Mixture struct {
	// Weight adds up to 1; one entry a hypothesis.
	Weight []float64
	// Mean and Variance are hypotheses x candidates; variances are above zero.
	Mean, Variance [][]float64
	// Origin names the support workload that a hypothesis stands for, as indices
	// into Config.Supports; nil is the solo prior.
	Origin [][]int
	// Borrowed says of a hypothesis that it has the level of other workloads; nil is none.
	Borrowed []bool
}

// minVariance keeps a predictive variance above zero.
const minVariance = 1e-8

// Predict returns the mixture after the observations so far.
// The error is [ErrNotPositiveDefinite], and only bounds can bring it about.
func (e *Ensemble) Predict() (*Mixture, error) {
	n := len(e.prior)
	m := &Mixture{
		Weight: slices.Clone(e.prior), Mean: make([][]float64, n), Variance: make([][]float64, n), Origin: make([][]int, n),
	}
	if e.borrows {
		m.Borrowed = make([]bool, n)
	}
	if len(e.bounds) == 0 {
		for _, f := range e.families {
			f.predict(m, e.s.n)
		}
	} else if err := each(len(e.families), func(i int) error {
		return e.families[i].predictBounded(m, e.s.n, e.bounds)
	}); err != nil {
		return nil, err
	}
	softmax(m.Weight)
	return m, nil
}

// Reweigh multiplies the weight of every support by exp of its factor; a hypothesis
// with several behind it by the mean of theirs. Those without keep theirs, but for
// the sum, which stays 1.
func (m *Mixture) Reweigh(factors []float64) {
	total := 0.
	for h, origin := range m.Origin {
		log := 0.
		for _, i := range origin {
			log += factors[i] / float64(len(origin))
		}
		m.Weight[h] *= math.Exp(log)
		total += m.Weight[h]
	}
	floats.Scale(1/total, m.Weight)
}

// BorrowedShare is the weight of the hypotheses with the level of other workloads.
func (m *Mixture) BorrowedShare() float64 {
	sum := 0.
	for h, borrowed := range m.Borrowed {
		if borrowed {
			sum += m.Weight[h]
		}
	}
	return sum
}

// MeanAt returns the mixture's mean log runtime at a candidate.
func (m *Mixture) MeanAt(candidate int) float64 {
	sum := 0.
	for h, w := range m.Weight {
		sum += w * m.Mean[h][candidate]
	}
	return sum
}

// Moments returns the mean and variance of the mixture at a candidate.
func (m *Mixture) Moments(candidate int) (mean, variance float64) {
	mean = m.MeanAt(candidate)
	for h, w := range m.Weight {
		d := m.Mean[h][candidate] - mean
		variance += w * (m.Variance[h][candidate] + d*d)
	}
	return mean, variance
}

// AllMoments returns [Mixture.Moments] of every candidate.
func (m *Mixture) AllMoments() (mean, variance []float64) {
	n := len(m.Mean[0])
	mean, variance = make([]float64, n), make([]float64, n)
	for h, w := range m.Weight {
		floats.AddScaled(mean, w, m.Mean[h])
	}
	for h, w := range m.Weight {
		if w == 0 {
			continue
		}
		v := m.Variance[h]
		for i, mu := range m.Mean[h] {
			d := mu - mean[i]
			variance[i] += w * (v[i] + d*d)
		}
	}
	return mean, variance
}

// CDF returns the probability of a log runtime of at most y at a candidate.
func (m *Mixture) CDF(candidate int, y float64) float64 {
	sum := 0.
	for h, w := range m.Weight {
		sum += w * NormalCDF((y-m.Mean[h][candidate])/math.Sqrt(m.Variance[h][candidate]))
	}
	return min(sum, 1)
}

// Quantile inverts [Mixture.CDF] by bisection, to 1e-10 of the log runtime.
func (m *Mixture) Quantile(candidate int, q float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for h := range m.Weight {
		sd := math.Sqrt(m.Variance[h][candidate])
		lo, hi = min(lo, m.Mean[h][candidate]-10*sd), max(hi, m.Mean[h][candidate]+10*sd)
	}
	for hi-lo > 1e-10*max(1, math.Abs(lo)) {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if m.CDF(candidate, mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// addSquares adds scale * v_i^2 to dst_i.
func addSquares(dst []float64, scale float64, v []float64) {
	for i, x := range v {
		dst[i] += scale * x * x
	}
}

// newRows allocates n rows of m values in one block.
func newRows(n, m int) [][]float64 {
	return rowsOf(make([]float64, n*m), n, m)
}

// rowsOf splits a block of at least n*m values into n rows.
func rowsOf(block []float64, n, m int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = block[i*m : (i+1)*m : (i+1)*m]
	}
	return rows
}
