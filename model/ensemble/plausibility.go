package ensemble

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// evaluator computes evidences of supports under the shape prior. It is not safe
// for concurrent use.
type evaluator struct {
	p     *Params
	prior *shapePrior
	// scratch is room for the rows of a joint covariance.
	scratch []float64
}

// covariance returns the lower triangle of the covariance of n runs at shape scale
// s, with the support level's variance and the noise of each.
func (e *evaluator) covariance(g gram, s float64, noise []float64) []float64 {
	n := g.rows
	level := e.p.SupportLevelSD * e.p.SupportLevelSD
	a := make([]float64, n*n)
	for i := range n {
		g.at(a[i*n:i*n+i+1], i, s*s, level)
		a[i*n+i] += noise[i]
	}
	return a
}

// evidenceAlone fills in the factors, solutions and log evidence of a series by
// itself, averaged over the shape scales. Constants in 2 pi are left out, as they
// are in every evidence of this package: they cancel.
func (e *evaluator) evidenceAlone(s *series) error {
	n := len(s.y)
	logs := make([]float64, len(e.p.ShapeSDs))
	for k, sd := range e.p.ShapeSDs {
		l := e.covariance(s.g, sd, s.noise)
		logDiag, err := factorize(l, n)
		if err != nil {
			return err
		}
		r := s.residual()
		forward(l, n, r)
		s.factors, s.solved, s.logDiag = append(s.factors, l), append(s.solved, r), append(s.logDiag, logDiag)
		logs[k] = -.5*floats.Dot(r, r) - logDiag
	}
	s.alone = logSumExp(logs) - math.Log(float64(len(logs)))
	return nil
}

// plausibility is the posterior probability that a trace is what it says it is,
// against having been turned upside down or shuffled: its evidence against that of
// its mirror image and of its rotations. A trace that says nothing against its own
// nature by being too short keeps the prior.
func (e *evaluator) plausibility(s *series) float64 {
	n := len(s.y)
	prior := e.p.PriorPlausible
	if n < 3 {
		return prior
	}
	mean := stat.Mean(s.y, nil)
	// Column 0 is the trace, 1 its mirror image, 2.. its rotations; they are laid
	// out as the n rows of an n x (n+1) matrix, so that all are solved at once.
	columns := n + 1
	logs := make([][]float64, columns)
	for k := range e.p.ShapeSDs {
		rows := make([][]float64, n)
		for i := range n {
			rows[i] = make([]float64, columns)
			rows[i][0] = s.y[i] - mean - s.prior[i]
			rows[i][1] = mean - s.y[i] - s.prior[i]
			for shift := 1; shift < n; shift++ {
				rows[i][1+shift] = s.y[(i-shift+n)%n] - mean - s.prior[i]
			}
		}
		forwardRows(s.factors[k], n, rows)
		for c := range columns {
			sum := 0.
			for i := range n {
				sum += rows[i][c] * rows[i][c]
			}
			logs[c] = append(logs[c], -.5*sum-s.logDiag[k])
		}
	}
	evidence := make([]float64, columns)
	for c := range evidence {
		evidence[c] = logSumExp(logs[c])
	}
	top := floats.Max(evidence)
	rotated := 0.
	for _, v := range evidence[2:] {
		rotated += math.Exp(v - top)
	}
	own := prior * math.Exp(evidence[0]-top)
	scrambled := (1 - prior) * (.5*math.Exp(evidence[1]-top) + .5*rotated/float64(n-1))
	return own / (own + scrambled)
}
