package ensemble

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// hypothesis is one Gaussian over the target's log runtimes: a shape, perhaps
// with a memory cliff, at an unknown level.
type hypothesis struct {
	shape shape
	// cliff is the centred step function, one entry a point; nil for none.
	cliff               []float64
	cliffMean, cliffVar float64
	levelMean, levelVar float64
	// origin are the traces behind it; nil for the solo prior.
	origin []int
	// mu and variance are of the posterior at every point.
	mu, variance []float64
	// v has, a run, the row L^-1 K over all points.
	v [][]float64
	// rows is room for rows of v.
	rows []float64
}

// expectedRuns is how many runs of a search there is room for before a hypothesis
// allocates again.
const expectedRuns = 10

// build lays out all hypotheses: the solo prior at each scale with mass 1, and
// each support workload at each shift with its class' mass.
func (e *Ensemble) build(c *Config) error {
	ev := &evaluator{p: &e.params, prior: newShapePrior(&e.params, e.s.d)}
	kernel := newKernelRows(ev.prior, e.s)
	var masses []float64
	add := func(q shape, m float64, origin []int) {
		if m <= 0 {
			return
		}
		share, cliffs := e.params.CliffShare, e.s.cliffs
		if origin != nil {
			cliffs = e.s.supportCliffs
		}
		if len(cliffs) == 0 {
			share = 0
		}
		if share < 1 {
			e.hypotheses = append(e.hypotheses, e.newHypothesis(c, q, nil, origin))
			masses = append(masses, m*(1-share))
		}
		if share > 0 {
			for _, h := range cliffs {
				e.hypotheses = append(e.hypotheses, e.newHypothesis(c, q, h, origin))
				masses = append(masses, m*share/float64(len(cliffs)))
			}
		}
	}
	for _, scale := range e.params.ShapeSDs {
		add(newPriorShape(kernel, scale), 1/float64(len(e.params.ShapeSDs)), nil)
	}
	supports, err := ev.supports(c.Supports, e.s.center)
	if err != nil {
		return err
	}
	workloads := [classes]float64{}
	for _, s := range supports {
		workloads[s.class]++
	}
	for _, s := range supports {
		if s.credence <= 0 {
			continue
		}
		mass := e.params.Mass[s.class]
		if s.pooled.centred {
			mass *= e.params.CentredMass
		}
		for _, t := range ev.shifts(s.inputBytes, c.InputBytes) {
			q, err := ev.newSupportShape(kernel, s.pooled, t.k)
			if err != nil {
				return err
			}
			add(q, mass/workloads[s.class]*t.mass*s.credence, s.traces)
		}
	}
	total := floats.Sum(masses)
	e.prior, e.logWeight = make([]float64, len(masses)), make([]float64, len(masses))
	for i, m := range masses {
		e.prior[i] = math.Log(m / total)
	}
	e.Reset()
	return nil
}

func (e *Ensemble) newHypothesis(c *Config, q shape, cliff []float64, origin []int) *hypothesis {
	points := len(e.s.x)
	block := make([]float64, (2+expectedRuns)*points)
	return &hypothesis{
		shape: q, cliff: cliff, cliffMean: e.params.CliffMean, cliffVar: e.params.CliffSD * e.params.CliffSD,
		levelMean: c.LevelMean, levelVar: c.LevelSD * c.LevelSD, origin: origin,
		mu: block[:points:points], variance: block[points : 2*points : 2*points], rows: block[2*points:],
	}
}

// reset returns to the prior of the hypothesis.
func (h *hypothesis) reset() {
	copy(h.mu, h.shape.mean())
	copy(h.variance, h.shape.variance())
	floats.AddConst(h.levelMean, h.mu)
	floats.AddConst(h.levelVar, h.variance)
	if h.cliff != nil {
		floats.AddScaled(h.mu, h.cliffMean, h.cliff)
		addSquares(h.variance, h.cliffVar, h.cliff)
	}
	h.v = h.v[:0]
}

// observe conditions on y at point i, given the shape's covariance row of i, and
// returns the log likelihood of y, constants left out. It is one step of a
// row-wise Cholesky factorisation.
func (h *hypothesis) observe(row []float64, i int, y, noiseVar float64) float64 {
	points := len(h.mu)
	used := len(h.v) * points
	if used+points > len(h.rows) {
		// Earlier rows stay in the block they were written to.
		h.rows = append(h.rows, make([]float64, max(len(h.rows), points))...)
	}
	v := h.rows[used : used+points : used+points]

	copy(v, row)
	floats.AddConst(h.levelVar, v)
	if h.cliff != nil {
		floats.AddScaled(v, h.cliffVar*h.cliff[i], h.cliff)
	}
	for _, earlier := range h.v {
		floats.AddScaled(v, -earlier[i], earlier)
	}
	d := math.Sqrt(max(v[i], 0) + noiseVar)
	floats.Scale(1/d, v)
	a := (y - h.mu[i]) / d
	floats.AddScaled(h.mu, a, v)
	for j, w := range v {
		h.variance[j] = max(h.variance[j]-w*w, minVariance)
	}
	h.v = append(h.v, v)
	return -.5*a*a - math.Log(d)
}
