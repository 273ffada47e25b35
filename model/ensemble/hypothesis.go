package ensemble

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// family is one shape at an unknown level, without and with memory cliffs: a
// hypothesis each.
//
// Its cliffs share the conditioning of the shape. With a cliff, the log runtime is
// that of the shape plus height times a step function, the height normal. Given the
// height, the posterior is the shape's, with the step function conditioned like a
// mean that is linear in the height; the height's own posterior follows in closed
// form (Rasmussen and Williams 2006, section 2.7). Both together are exactly the
// Gaussian with the cliff's rank-one term in its covariance.
type family struct {
	shape shape
	// origin are the traces behind it; nil for the solo prior.
	origin              []int
	levelMean, levelVar float64
	// borrowed says that the level is that of other workloads.
	borrowed bool
	// mu and variance are of the posterior without a cliff, at every point.
	mu, variance []float64
	// v has, a run, the row L^-1 K over all points.
	v [][]float64
	// rows is room for rows of v.
	rows []float64
	// log is the log evidence of the runs so far, without a cliff.
	log float64

	// first is the index of the family's first hypothesis; the one without a cliff,
	// if smooth, and then the cliffs.
	first  int
	smooth bool
	cliffs []cliff
	// heightMean and heightVar are the prior of a cliff's height.
	heightMean, heightVar float64
}

// cliff is a step function and what the runs say of its height.
type cliff struct {
	// step is the function at every point, centred; rest is what remains of it once
	// the runs are accounted for: step - K' (K + noise)^-1 step at the runs.
	step, rest []float64
	// square is |L^-1 step|^2 at the runs, product its product with L^-1 residual.
	square, product float64
	// mu and variance are room for predictions at the candidates.
	mu, variance []float64
}

// expectedRuns is how many runs of a search there is room for before a family
// allocates again: a search with supports is usually over.
const expectedRuns = 6

// build lays out all hypotheses: the solo prior at each scale with mass 1, and
// each support workload at each shift with its class' mass.
func (e *Ensemble) build(c *Config) error {
	ev := newEvaluator(&e.params, e.s)
	e.kernel = newKernelRows(ev.prior, e.s)
	for _, scale := range e.params.ShapeSDs {
		e.add(newPriorShape(e.kernel, scale), 1/float64(len(e.params.ShapeSDs)), nil)
	}
	supports, err := ev.supports(c.Supports, e.s.center)
	if err != nil {
		return err
	}
	workloads := [classes]float64{}
	for _, s := range supports {
		workloads[s.class]++
	}
	type displaced struct {
		s     *support
		shift shift
		mass  float64
	}
	var all []displaced
	for _, s := range supports {
		mass := e.params.Mass[s.class]
		if s.pooled.centred {
			mass *= e.params.CentredMass
		}
		for _, t := range ev.shifts(s.inputBytes, c.InputBytes) {
			if m := mass / workloads[s.class] * t.mass * s.credence; m > 0 {
				ev.table.displace(t.k)
				all = append(all, displaced{s, t, m})
			}
		}
	}
	shapes := make([]shape, len(all))
	_ = each(len(all), func(i int) error { // it has no error
		shapes[i] = ev.newSupportShape(e.kernel, all[i].s.pooled, all[i].shift.k)
		return nil
	})
	for i, d := range all {
		e.add(shapes[i], d.mass, d.s.traces)
	}
	for _, f := range e.families {
		f.levelMean, f.levelVar = c.LevelMean, c.LevelSD*c.LevelSD
	}
	if c.Borrowed != nil {
		e.borrow(c.Borrowed)
	}
	total := floats.Sum(e.prior)
	for i, m := range e.prior {
		e.prior[i] = math.Log(m / total)
	}
	e.Reset()
	return nil
}

// borrow adds every family once more with another level, and splits the masses, which
// are no logs yet.
func (e *Ensemble) borrow(l *Level) {
	e.borrows = true
	masses := slices.Clone(e.prior)
	for i, m := range masses {
		e.prior[i] = (1 - l.Share) * m
	}
	for _, f := range slices.Clone(e.families) {
		own := masses[f.first : f.first+f.hypotheses()]
		e.add(f.shape, 0, f.origin)
		twin := e.families[len(e.families)-1]
		twin.levelMean, twin.levelVar, twin.borrowed = l.Mean, l.SD*l.SD, true
		for i, m := range own {
			e.prior[twin.first+i] = l.Share * m
		}
	}
}

// hypotheses is how many a family has.
func (f *family) hypotheses() int {
	if f.smooth {
		return 1 + len(f.cliffs)
	}
	return len(f.cliffs)
}

// add appends a family and the masses of its hypotheses, which are logs only later.
func (e *Ensemble) add(q shape, mass float64, origin []int) {
	share, steps := e.params.CliffShare, e.s.cliffs
	if origin != nil {
		steps = e.s.supportCliffs
	}
	if len(steps) == 0 {
		share = 0
	}
	if share == 0 {
		steps = nil
	}
	points, n := len(e.s.x), e.s.n
	block := make([]float64, (2+expectedRuns)*points+len(steps)*(points+2*n))
	take := func(n int) []float64 {
		v := block[:n:n]
		block = block[n:]
		return v
	}
	f := &family{
		shape: q, origin: origin, first: len(e.prior), smooth: share < 1,
		mu: take(points), variance: take(points), rows: take(expectedRuns * points),
		heightMean: e.params.CliffMean, heightVar: e.params.CliffSD * e.params.CliffSD,
	}
	if f.smooth {
		e.prior = append(e.prior, mass*(1-share))
	}
	f.cliffs = make([]cliff, 0, len(steps))
	for _, step := range steps {
		f.cliffs = append(f.cliffs, cliff{step: step, rest: take(points), mu: take(n), variance: take(n)})
		e.prior = append(e.prior, mass*share/float64(len(steps)))
	}
	e.families = append(e.families, f)
}

// reset returns to the prior.
func (f *family) reset() {
	copy(f.mu, f.shape.mean())
	copy(f.variance, f.shape.variance())
	floats.AddConst(f.levelMean, f.mu)
	floats.AddConst(f.levelVar, f.variance)
	f.v, f.log = f.v[:0], 0
	for k := range f.cliffs {
		c := &f.cliffs[k]
		copy(c.rest, c.step)
		c.square, c.product = 0, 0
	}
}

// covariance writes the covariance of point i with all points, without a cliff and
// given the runs so far, into dst.
func (f *family) covariance(dst []float64, i int) {
	f.shape.row(dst, i)
	floats.AddConst(f.levelVar, dst)
	for _, v := range f.v {
		floats.AddScaled(dst, -v[i], v)
	}
}

// observe conditions on y at point i. It is one step of a row-wise Cholesky
// factorisation.
func (f *family) observe(i int, y, noiseVar float64) {
	points := len(f.mu)
	used := len(f.v) * points
	if used+points > len(f.rows) {
		// Earlier rows stay in the block they were written to.
		f.rows = append(f.rows, make([]float64, max(len(f.rows), points))...)
	}
	v := f.rows[used : used+points : used+points]
	f.covariance(v, i)
	d := math.Sqrt(max(v[i], 0) + noiseVar)
	floats.Scale(1/d, v)
	a := (y - f.mu[i]) / d
	floats.AddScaled(f.mu, a, v)
	for j, w := range v {
		f.variance[j] = max(f.variance[j]-w*w, minVariance)
	}
	f.v = append(f.v, v)
	f.log -= .5*a*a + math.Log(d)
	for k := range f.cliffs {
		c := &f.cliffs[k]
		w := c.rest[i] / d
		c.square += w * w
		c.product += w * a
		floats.AddScaled(c.rest, -w, v)
	}
}

// height returns the posterior of a cliff's height, and the log evidence that the
// runs give the cliff beyond that of none.
func (f *family) height(c *cliff) (mean, variance, log float64) {
	m, v := f.heightMean, f.heightVar
	spread := 1 + v*c.square
	surprise := c.product - m*c.square
	log = m*c.product - .5*m*m*c.square + .5*v*surprise*surprise/spread - .5*math.Log(spread)
	return m + v*surprise/spread, v / spread, log
}

// predict adds the family's hypotheses, in order, to a mixture over n candidates of
// which the weights are still logs.
func (f *family) predict(m *Mixture, n int) {
	at := f.first
	if f.smooth {
		m.Weight[at] += f.log
		m.Mean[at], m.Variance[at], m.Origin[at] = f.mu[:n], f.variance[:n], f.origin
		f.mark(m, at)
		at++
	}
	for k := range f.cliffs {
		c := &f.cliffs[k]
		mean, variance, log := f.height(c)
		m.Weight[at] += f.log + log
		for j, r := range c.rest[:n] {
			c.mu[j] = f.mu[j] + mean*r
			c.variance[j] = f.variance[j] + variance*r*r
		}
		m.Mean[at], m.Variance[at], m.Origin[at] = c.mu, c.variance, f.origin
		f.mark(m, at)
		at++
	}
}

// mark says of a hypothesis of the family whose level it has.
func (f *family) mark(m *Mixture, at int) {
	if f.borrowed {
		m.Borrowed[at] = true
	}
}
