package throughput

import (
	"fmt"
	"math"
)

// Knees is the number of sizes at which a job's speed-up may bend, spaced evenly in the
// logarithm from MinKnee to MaxKnee units.
const (
	Knees   = 25
	MinKnee = .25
	MaxKnee = 64
)

// Knee returns the i-th knee in units.
func Knee(i int) float64 { return grid[i] }

var grid = func() (g [Knees]float64) {
	for i := range g {
		g[i] = MinKnee * math.Pow(MaxKnee/MinKnee, float64(i)/(Knees-1))
	}
	return g
}()

// Law is the shape of a speed-up.
type Law int

// Shapes. The time of a worker's step is the root of the squares of its own part and
// of the part that grows with the number of workers: T^2 = a + b N^2.
const (
	// Grown: each worker keeps its batch, so that the batch of all grows with them.
	// Speed is proportional to u / sqrt(1 + (u/knee)^2) and saturates.
	Grown Law = iota
	// Kept: workers share one batch, so that the own part shrinks with their number,
	// T^2 = a / N^2 + b N^2. Speed is proportional to u / sqrt(1 + (u/knee)^4) and falls
	// beyond the knee.
	Kept
)

// logSpeed at u units, up to a constant of the job; its limit under Grown is ln knee.
func (l Law) logSpeed(u, knee float64) float64 {
	return math.Log(u) - .5*math.Log1p(l.bend(u/knee))
}

// elasticity is the derivative of logSpeed by ln u.
func (l Law) elasticity(u, knee float64) float64 {
	r := l.bend(u / knee)
	if l == Kept {
		return (1 - r) / (1 + r)
	}
	return 1 / (1 + r)
}

// bend is the square or the fourth power.
func (l Law) bend(x float64) float64 {
	if l == Kept {
		return x * x * x * x
	}
	return x * x
}

// Noise of log speeds: of the law itself at each size, and of one sample of a minute.
const (
	MisfitSD = .06
	SampleSD = .15
)

// Point is a speed that was measured at one size.
type Point struct {
	// Units of workers.
	Units float64
	// LogSpeed is the logarithm of the speed, Variance its variance.
	LogSpeed, Variance float64
}

// Measured is the point of the mean log speed of n samples of a minute.
func Measured(units, logSpeed, n float64) Point {
	return Point{Units: units, LogSpeed: logSpeed, Variance: MisfitSD*MisfitSD + SampleSD*SampleSD/n}
}

// Weights are probabilities of the knees.
type Weights [Knees]float64

// Uniform gives every knee the same weight.
func Uniform() Weights {
	var w Weights
	for i := range w {
		w[i] = 1. / Knees
	}
	return w
}

// Validate checks that the weights are probabilities.
func (w Weights) Validate() error {
	var sum float64
	for i, v := range w {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("weight of knee %d must be between 0 and 1: %g: %w", i, v, ErrInvalid)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("weights of knees must sum to 1: %g: %w", sum, ErrInvalid)
	}
	return nil
}

// Known is the knee of another job, in units, and what it weighs.
type Known struct{ Knee, Weight float64 }

// Around mixes bumps of the logarithmic width at the knees of other jobs, by their
// weights, with a uniform share. Without any weight it is uniform.
func Around(others []Known, width, uniform float64) Weights {
	var bumps Weights
	var total float64
	for _, o := range others {
		if !(o.Knee > 0) || !(o.Weight > 0) || math.IsInf(o.Knee+o.Weight, 0) {
			continue
		}
		var bump Weights
		var sum float64
		for i := range bump {
			d := math.Log(Knee(i)/min(max(o.Knee, MinKnee), MaxKnee)) / width
			bump[i] = math.Exp(-.5 * d * d)
			sum += bump[i]
		}
		for i := range bump {
			bumps[i] += o.Weight * bump[i] / sum
		}
		total += o.Weight
	}
	if total == 0 {
		return Uniform()
	}
	for i := range bumps {
		bumps[i] = (1-uniform)*bumps[i]/total + uniform/Knees
	}
	return bumps
}

// Belief is a job's knee as a distribution, and for each knee its level of speed.
type Belief struct {
	Law     Law
	Weights Weights
	// level is the constant of the log speed under each knee, and its variance.
	level    Weights
	variance float64
	known    bool
}

// Posterior is the prior with the points. The level of speed has no prior: one point
// alone says nothing of the knee.
func Posterior(law Law, prior Weights, points []Point) Belief {
	b := Belief{Law: law, Weights: prior}
	var logs, most = Weights{}, math.Inf(-1)
	for i := range logs {
		knee := Knee(i)
		var sw, sy, syy float64
		for _, p := range points {
			w, r := 1/p.Variance, p.LogSpeed-law.logSpeed(p.Units, knee)
			sw, sy, syy = sw+w, sy+w*r, syy+w*r*r
		}
		if sw > 0 {
			b.level[i], b.variance, b.known = sy/sw, 1/sw, true
			logs[i] = -.5 * (syy - sy*sy/sw)
		}
		logs[i] += math.Log(prior[i])
		most = max(most, logs[i])
	}
	var sum float64
	for i := range logs {
		logs[i] = math.Exp(logs[i] - most)
		sum += logs[i]
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return b // points so far from the law that no knee explains them
	}
	for i := range logs {
		b.Weights[i] = logs[i] / sum
	}
	return b
}

// told is how likely a cap that is known from elsewhere is right; otherwise it says
// nothing. Where measured speeds exceed it, it is not.
const (
	told = .9
	// untold is the density of the logarithm of a cap that nobody knows.
	untold = 1. / 4
)

// Tell adds a cap that is known from elsewhere: the logarithm of the speed that no size
// exceeds, and its standard deviation. It says nothing before a speed was measured, nor
// under Kept, which has no cap.
func (b *Belief) Tell(logCap, sd float64) {
	if !b.known || b.Law == Kept {
		return
	}
	variance := sd*sd + b.variance
	weights := b.Weights
	var sum float64
	for i := range weights {
		r := logCap - b.level[i] - math.Log(Knee(i))
		weights[i] *= told*math.Exp(-.5*r*r/variance)/math.Sqrt(2*math.Pi*variance) + (1-told)*untold
		sum += weights[i]
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return
	}
	for i := range weights {
		b.Weights[i] = weights[i] / sum
	}
}

// Residuals are how far the logarithms of measured speeds lie above the law, shrunk by
// how well they are known, in the order of the points of [Posterior]. Some jobs keep to
// no law: on small machines speed falls with size, or jumps. The more the points of a
// job depart from it, the less they are shrunk.
func (b *Belief) Residuals(points []Point) []float64 {
	out := make([]float64, len(points))
	var misfit float64
	for i, p := range points {
		mean, _, _ := b.LogSpeed(p.Units)
		out[i] = p.LogSpeed - mean
		misfit += out[i] * out[i]
	}
	misfit = max(misfit/float64(len(points)), MisfitSD*MisfitSD)
	for i, p := range points {
		sample := p.Variance - MisfitSD*MisfitSD
		out[i] *= misfit / (misfit + max(sample, 0))
	}
	return out
}

// LogSpeedup is the mean of the logarithm of how much faster the job is at some units
// than at others, and its standard deviation.
func (b *Belief) LogSpeedup(from, to float64) (mean, sd float64) {
	var m, mm float64
	for i, w := range b.Weights {
		d := b.Law.logSpeed(to, Knee(i)) - b.Law.logSpeed(from, Knee(i))
		m, mm = m+w*d, mm+w*d*d
	}
	return m, math.Sqrt(max(mm-m*m, 0))
}

// Elasticity is the mean derivative of log speed by log size: 1 where speed grows with
// the units, 0 where it does not grow any more.
func (b *Belief) Elasticity(units float64) float64 {
	var e float64
	for i, w := range b.Weights {
		e += w * b.Law.elasticity(units, Knee(i))
	}
	return e
}

// LogSpeed is the mean of the logarithm of the speed and its standard deviation; false
// without any point.
func (b *Belief) LogSpeed(units float64) (mean, sd float64, ok bool) {
	if !b.known {
		return 0, 0, false
	}
	var m, mm float64
	for i, w := range b.Weights {
		y := b.level[i] + b.Law.logSpeed(units, Knee(i))
		m, mm = m+w*y, mm+w*y*y
	}
	return m, math.Sqrt(max(mm-m*m, 0) + b.variance), true
}

// LogKnee is the mean of the logarithm of the knee and its standard deviation.
func (b *Belief) LogKnee() (mean, sd float64) {
	var m, mm float64
	for i, w := range b.Weights {
		y := math.Log(Knee(i))
		m, mm = m+w*y, mm+w*y*y
	}
	return m, math.Sqrt(max(mm-m*m, 0))
}

// LogCap is the mean of the logarithm of the speed that no size exceeds and its
// standard deviation; false without any point, or where the law has none.
func (b *Belief) LogCap() (mean, sd float64, ok bool) {
	if b.Law == Kept || !b.known {
		return 0, 0, false
	}
	var m, mm float64
	for i, w := range b.Weights {
		y := b.level[i] + math.Log(Knee(i))
		m, mm = m+w*y, mm+w*y*y
	}
	return m, math.Sqrt(max(mm-m*m, 0) + b.variance), true
}
