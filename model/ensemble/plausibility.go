package ensemble

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// evaluator computes evidences of supports under the shape prior.
type evaluator struct {
	p     *Params
	prior *shapePrior
	table *kernelTable
	// rooms are for matrices of runs x points.
	rooms sync.Pool
}

// room returns at least n values of any content, to be put back into rooms.
func (e *evaluator) room(n int) *[]float64 {
	r, ok := e.rooms.Get().(*[]float64)
	if !ok || len(*r) < n {
		v := make([]float64, n)
		return &v
	}
	return r
}

func newEvaluator(p *Params, s *space) *evaluator {
	prior := newShapePrior(p, s.d)
	return &evaluator{p: p, prior: prior, table: newKernelTable(prior, s)}
}

// fit conditions on a series by itself, at each shape scale and with a level of its
// own, and averages its evidence. Constants in 2 pi are left out, as they are in
// every evidence of this package: they cancel.
func (e *evaluator) fit(s *series) error {
	n, level := len(s.y), e.p.SupportLevelSD*e.p.SupportLevelSD
	s.g = e.table.symmetric(s.at)
	s.noiseBefore = make([]float64, n+1)
	for i, v := range s.noise {
		s.noiseBefore[i+1] = s.noiseBefore[i] - .5*math.Log(v)
	}
	s.fits = make([]fit, len(e.p.ShapeSDs))
	block := make([]float64, len(s.fits)*n*(n+2))
	logs := make([]float64, len(s.fits))
	for k, sd := range e.p.ShapeSDs {
		f := &s.fits[k]
		f.factor, f.solved, f.ones, block = block[:n*n], block[n*n:n*n+n], block[n*n+n:n*n+2*n], block[n*n+2*n:]
		for i := range n {
			s.g.at(f.factor[i*n:i*n+i+1], i, sd*sd, level)
			f.factor[i*n+i] += s.noise[i]
			f.solved[i], f.ones[i] = s.residual[i], 1
		}
		var err error
		if f.logDiag, err = factorize(f.factor, n); err != nil {
			return err
		}
		forward(f.factor, n, f.solved)
		forward(f.factor, n, f.ones)
		f.log = -.5*floats.Dot(f.solved, f.solved) - f.logDiag
		logs[k] = f.log
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
	// Column 0 is the trace, 1 its mirror image, 2.. its rotations; they are laid
	// out as the n rows of an n x (n+1) matrix, so that all are solved at once.
	columns := n + 1
	rows, squares := newRows(n, columns), newRows(columns, len(s.fits))
	for k := range s.fits {
		for i, row := range rows {
			row[0] = s.y[i] - s.mean - s.prior[i]
			row[1] = s.mean - s.y[i] - s.prior[i]
			for shift := 1; shift < n; shift++ {
				row[1+shift] = s.y[(i-shift+n)%n] - s.mean - s.prior[i]
			}
		}
		forwardRows(s.fits[k].factor, n, rows)
		for _, row := range rows {
			for c, v := range row {
				squares[c][k] += v * v
			}
		}
	}
	evidence := make([]float64, columns)
	for c, logs := range squares {
		for k := range logs {
			logs[k] = -.5*logs[k] - s.fits[k].logDiag
		}
		evidence[c] = logSumExp(logs)
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
