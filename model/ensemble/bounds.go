package ensemble

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A run that was stopped says that the runtime is at least as long: a probit factor
// in place of a density. A Gaussian times such factors is no Gaussian; it is replaced
// by the one with the same moments, by expectation propagation (Minka 2001; Rasmussen
// and Williams 2006, section 3.6). With one bound that is exact in evidence, mean and
// variance.

const (
	// maxBounds is how many stopped runs of a search are bounds; a later one counts as
	// if it had ended when it was stopped. The work grows with the cube.
	maxBounds = 24
	// maxSweeps over the bounds; some five are usual.
	maxSweeps = 30
	// siteTolerance is the change of a site, in units of its marginal, that ends them.
	siteTolerance = 1e-10
)

// sites are Gaussian factors in place of bounds on the q values of a Gaussian. Values
// are counted from its mean.
type sites struct {
	// precision and shift (precision x mean) of each.
	precision, shift []float64
	// mean of the values with the factors in place.
	mean []float64
	// log is the probability of all bounds.
	log float64
}

// propagate finds the sites. cov is q x q, bounds are counted from the mean; a value
// plus noise is at least its bound.
func propagate(cov, bounds, noiseVar []float64) sites {
	q := len(bounds)
	room := make([]float64, 3*q+q*q)
	s := sites{precision: room[:q:q], shift: room[q : 2*q : 2*q], mean: room[2*q : 3*q : 3*q]}
	post := room[3*q:]
	copy(post, cov)
	for range maxSweeps {
		change := 0.
		for i := range q {
			change = max(change, s.update(post, i, bounds[i], noiseVar[i]))
		}
		if q == 1 || change < siteTolerance {
			break
		}
	}
	for i := range q {
		v, rest := post[i*q+i], s.cavity(post, i)
		s.log += logNormalCDF((rest.mean-bounds[i])/math.Sqrt(rest.variance+noiseVar[i])) +
			.5*(math.Log(rest.variance/v)+rest.mean*rest.mean/rest.variance-s.mean[i]*s.mean[i]/v+s.mean[i]*s.shift[i])
	}
	return s
}

type normal struct{ mean, variance float64 }

// cavity is the i-th value without its own site.
func (s *sites) cavity(post []float64, i int) normal {
	v := post[i*len(s.mean)+i]
	left := max(1-s.precision[i]*v, 1e-12)
	return normal{(s.mean[i] - s.shift[i]*v) / left, v / left}
}

// update replaces a site and returns by how much it changed.
func (s *sites) update(post []float64, i int, bound, noiseVar float64) float64 {
	q := len(s.mean)
	rest := s.cavity(post, i)
	sd := math.Sqrt(rest.variance + noiseVar)
	z := (rest.mean - bound) / sd
	h := hazard(z)
	// The variance falls by rest.variance^2 c.
	c := shrinkage(z, h) / (sd * sd)
	precision := c / (1 - rest.variance*c)
	shift := (rest.mean+rest.variance*h/sd)*precision + h/sd

	row := slices.Clone(post[i*q : (i+1)*q])
	v := row[i]
	step := precision - s.precision[i]
	change := math.Abs(step)*v + math.Abs(shift-s.shift[i])*math.Sqrt(v)
	s.precision[i], s.shift[i] = precision, shift
	for j := range q {
		floats.AddScaled(post[j*q:(j+1)*q], -step/(1+step*v)*row[j], row)
	}
	for j := range q {
		s.mean[j] = floats.Dot(post[j*q:(j+1)*q], s.shift)
	}
	return change
}

// shrinkage is h (z + h) for the hazard h of z: what a bound takes of a standard
// normal's variance, between 0 and 1.
func shrinkage(z, h float64) float64 {
	if z < farTail { // z + h would cancel
		x := 1 / (z * z)
		return 1 - x + 6*x*x
	}
	return h * (z + h)
}

// weights returns what turns covariances with the values into the change of other
// values: their mean changes by k'alpha, their variance by -|L^-1 (root k)|^2, where
// L is q x q. It completes the log probability.
func (s *sites) weights(cov []float64) (alpha, root, l []float64, err error) {
	q := len(s.mean)
	alpha, root, l = make([]float64, q), make([]float64, q), make([]float64, q*q)
	for i := range q {
		root[i] = math.Sqrt(s.precision[i])
		alpha[i] = s.shift[i] - s.precision[i]*s.mean[i]
	}
	for i := range q {
		for j := range i + 1 {
			l[i*q+j] = root[i] * cov[i*q+j] * root[j]
		}
		l[i*q+i]++
	}
	logDiag, err := factorize(l, q)
	s.log -= logDiag
	return alpha, root, l, err
}

// bound is a stopped run of the target.
type bound struct {
	point         int
	log, noiseVar float64
}

// ObserveBound conditions on a run that was stopped: its log runtime would have been
// at least the given one. Where Params.TimeoutsAreBounds is false, and beyond
// maxBounds of them, it is [Ensemble.Observe].
func (e *Ensemble) ObserveBound(point int, logRuntime, noiseVar float64) error {
	if !e.params.TimeoutsAreBounds || len(e.bounds) >= maxBounds {
		return e.Observe(point, logRuntime, noiseVar)
	}
	noiseVar, err := e.checkRun(point, logRuntime, noiseVar)
	if err != nil {
		return err
	}
	e.kernel.row(point) // goroutines will only read it
	e.bounds = append(e.bounds, bound{point, logRuntime, noiseVar})
	return nil
}

// predictBounded is predict with the bounds in place.
func (f *family) predictBounded(m *Mixture, n int, bounds []bound) error {
	f.predict(m, n)
	q, points := len(bounds), len(f.mu)
	smooth := newRows(q, points)
	for k, b := range bounds {
		f.covariance(smooth[k], b.point)
	}
	at := f.first
	if f.smooth {
		at++
	}
	means := make([]float64, q)
	for i := range f.cliffs {
		c := &f.cliffs[i]
		mean, variance, _ := f.height(c)
		rows := newRows(q, points)
		for k, b := range bounds {
			means[k] = f.mu[b.point] + mean*c.rest[b.point]
			floats.AddScaledTo(rows[k], smooth[k], variance*c.rest[b.point], c.rest)
		}
		log, err := applyBounds(m.Mean[at+i], m.Variance[at+i], rows, means, bounds)
		if err != nil {
			return err
		}
		m.Weight[at+i] += log
	}
	if !f.smooth {
		return nil
	}
	at = f.first
	m.Mean[at], m.Variance[at] = slices.Clone(m.Mean[at]), slices.Clone(m.Variance[at])
	for k, b := range bounds {
		means[k] = f.mu[b.point]
	}
	log, err := applyBounds(m.Mean[at], m.Variance[at], smooth, means, bounds)
	m.Weight[at] += log
	return err
}

// applyBounds changes a mean and variance over n candidates for the bounds, given the
// covariances of their points with all points and their means, and returns the log
// probability of the bounds. It overwrites the covariances.
func applyBounds(mean, variance []float64, rows [][]float64, means []float64, bounds []bound) (float64, error) {
	q := len(bounds)
	cov, level, noise := make([]float64, q*q), make([]float64, q), make([]float64, q)
	for i, row := range rows {
		for j, b := range bounds {
			cov[i*q+j] = row[b.point]
		}
		cov[i*q+i] = max(cov[i*q+i], minVariance)
	}
	for i, b := range bounds {
		level[i], noise[i] = b.log-means[i], b.noiseVar
	}
	s := propagate(cov, level, noise)
	alpha, root, l, err := s.weights(cov)
	if err != nil {
		return 0, err
	}
	n := len(mean)
	for i := range rows {
		rows[i] = rows[i][:n]
		floats.AddScaled(mean, alpha[i], rows[i])
		floats.Scale(root[i], rows[i])
	}
	forwardRows(l, q, rows)
	for _, row := range rows {
		addSquares(variance, -1, row)
	}
	for i, v := range variance {
		variance[i] = max(v, minVariance)
	}
	return s.log, nil
}

// leastPrecision is of a site below which a support's bound says nothing.
const leastPrecision = 1e-4

// resolveBounds replaces the bounds of a series by the factors that expectation
// propagation finds for them given its other runs, at the shape scale that explains
// them best and a level of its own: measurements of some log runtime with some noise.
// Bounds that say nothing are left out; those beyond maxBounds count as runtimes.
func (e *evaluator) resolveBounds(s *series) error {
	var exact, bounded []int
	for i, b := range s.bound {
		if b && len(bounded) < maxBounds {
			bounded = append(bounded, i)
		} else {
			exact = append(exact, i)
		}
	}
	s.bound = nil
	if len(bounded) == 0 {
		return nil
	}
	if len(exact) > 0 {
		s.mean = 0
		for _, i := range exact {
			s.mean += s.y[i] / float64(len(exact))
		}
		s.residual = s.residuals()
	}
	s.y, s.noise = slices.Clone(s.y), slices.Clone(s.noise)
	n, q := len(exact), len(bounded)
	g := e.table.symmetric(s.at)
	level := e.p.SupportLevelSD * e.p.SupportLevelSD
	at := func(i, j int, s2 float64) float64 { return g.fixed[i*g.cols+j] + s2*g.matern[i*g.cols+j] + level }

	best := math.Inf(-1)
	y, noise := make([]float64, q), make([]float64, q)
	for _, sd := range e.p.ShapeSDs {
		l, solved := make([]float64, n*n), make([]float64, n)
		for a, i := range exact {
			for b, j := range exact[:a+1] {
				l[a*n+b] = at(i, j, sd*sd)
			}
			l[a*n+a] += s.noise[i]
			solved[a] = s.residual[i]
		}
		logDiag, err := factorize(l, n)
		if err != nil {
			return err
		}
		forward(l, n, solved)
		cross := newRows(n, q)
		for a, i := range exact {
			for b, j := range bounded {
				cross[a][b] = at(i, j, sd*sd)
			}
		}
		forwardRows(l, n, cross)
		cov, means, bounds, variances := make([]float64, q*q), make([]float64, q), make([]float64, q), make([]float64, q)
		for b, j := range bounded {
			for c, k := range bounded {
				cov[b*q+c] = at(j, k, sd*sd)
				for _, row := range cross {
					cov[b*q+c] -= row[b] * row[c]
				}
			}
			cov[b*q+b] = max(cov[b*q+b], minVariance)
			means[b] = s.mean + s.prior[j]
			for a, row := range cross {
				means[b] += row[b] * solved[a]
			}
			bounds[b], variances[b] = s.y[j]-means[b], s.noise[j]
		}
		sites := propagate(cov, bounds, variances)
		if _, _, _, err := sites.weights(cov); err != nil {
			return err
		}
		if log := sites.log - logDiag - .5*floats.Dot(solved, solved); log > best {
			best = log
			for b := range bounded {
				p := max(sites.precision[b], leastPrecision/2)
				y[b], noise[b] = means[b]+sites.shift[b]/p, 1/p
			}
		}
	}
	for b, j := range bounded {
		s.y[j], s.noise[j] = y[b], noise[b]
	}
	s.keep(func(i int) bool { return s.noise[i] <= 1/leastPrecision })
	s.residual = s.residuals()
	return nil
}

// keep leaves out the runs that do not satisfy the condition, but for the first
// where none does.
func (s *series) keep(wanted func(i int) bool) {
	n := 0
	for i := range s.at {
		if wanted(i) {
			s.at[n], s.y[n], s.noise[n], s.prior[n] = s.at[i], s.y[i], s.noise[i], s.prior[i]
			n++
		}
	}
	n = max(n, 1)
	s.at, s.y, s.noise, s.prior = s.at[:n], s.y[:n], s.noise[:n], s.prior[:n]
}
