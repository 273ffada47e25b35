package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// ErrFit means that a calibration cannot be fitted.
var ErrFit = errors.New("calibration cannot be fitted")

// fitCells is how finely probabilities are counted: in steps of 0.05 of their logit from
// -15 to 15. Beyond, they are as good as certain.
const (
	fitCells = 600
	fitLogit = 15
)

// Outcomes counts the posterior's own probabilities of meeting the target, before any
// calibration, and how often it was met.
type Outcomes struct {
	// Suggested are of configurations that were tried next, All of every one that had
	// not been tried, at every step.
	Suggested, All OutcomeCells
}

// OutcomeCells counts by the logit of the probability.
type OutcomeCells [fitCells]struct{ N, Met int }

func (c *OutcomeCells) add(p float64, met bool) {
	logit := math.Log(p) - math.Log1p(-p)
	i := int(math.Floor((logit + fitLogit) / (2 * fitLogit) * fitCells))
	if math.IsNaN(logit) || math.IsInf(logit, 0) || i < 0 || i >= fitCells {
		return // certain, whatever the calibration
	}
	c[i].N++
	if met {
		c[i].Met++
	}
}

// center is the probability in the middle of a cell.
func center(cell int) float64 {
	return 1 / (1 + math.Exp(-((float64(cell)+.5)/fitCells*2*fitLogit - fitLogit)))
}

// n is the number of predictions.
func (c *OutcomeCells) n() (n int) {
	for i := range c {
		n += c[i].N
	}
	return n
}

// Merge adds the counts of o.
func (c *Outcomes) Merge(o *Outcomes) {
	for i := range fitCells {
		for _, p := range []struct{ to, from *OutcomeCells }{{&c.Suggested, &o.Suggested}, {&c.All, &o.All}} {
			p.to[i].N += p.from[i].N
			p.to[i].Met += p.from[i].Met
		}
	}
}

// Bins are the counts by what a calibration states.
func (c *OutcomeCells) Bins(calibrated func(p float64) float64) []CalibrationBin {
	var b bins
	for i := range c {
		p := calibrated(center(i))
		bin := &b[min(int(p*CalibrationBins), CalibrationBins-1)]
		bin.n += c[i].N
		bin.stated += p * float64(c[i].N)
		bin.met += float64(c[i].Met)
	}
	return b.bins()
}

// RunOutcomes replays the protocol with one method and counts its predictions.
func RunOutcomes(ctx context.Context, c Config) (*Outcomes, error) {
	if len(c.Methods) != 1 {
		return nil, fmt.Errorf("%w: %d methods, want one", ErrFit, len(c.Methods))
	}
	if c.Scenarios == nil {
		c.Scenarios = Scenarios()
	}
	r, _, err := newReplay(ctx, &c)
	if err != nil {
		return nil, err
	}
	var jobs []job
	for s := range c.Scenarios {
		jobs = append(jobs, r.outcomes(c.Methods[0], &c.Scenarios[s])...)
	}
	// One count a workload and set keeps memory small; sums do not depend on the order,
	// but cells are not to be written at once.
	counts := make([]Outcomes, len(r.table)*c.SeedSets)
	locks := make([]sync.Mutex, len(counts))
	for i := range jobs {
		k := int(jobs[i].seed.set)*len(r.table) + int(jobs[i].seed.workload)
		jobs[i].watchOutcomes(&counts[k], &locks[k])
	}
	if err := r.run(ctx, jobs); err != nil {
		return nil, err
	}
	total := &Outcomes{}
	for i := range counts {
		total.Merge(&counts[i])
	}
	return total, nil
}

func (j *job) watchOutcomes(c *Outcomes, lock *sync.Mutex) {
	w, limit := j.w, math.Log(j.w.targets[j.seed.target])
	tried := make([]bool, len(w.candidates))
	j.visit = func(_ int, e *search.Evaluation, noise []float64) {
		lock.Lock()
		for i := range tried {
			if tried[i] {
				continue
			}
			p, met := search.Uncalibrated(e.Predictions[i].MeetsTarget), w.outcome[i] == model.OK && w.logRuntime[i]+noise[i] <= limit
			c.All.add(p, met)
			if i == e.Next {
				c.Suggested.add(p, met)
			}
		}
		lock.Unlock()
		if e.Next >= 0 {
			tried[e.Next] = true
		}
	}
}

// BetaCalibration is logit q = Level + Low ln p - High ln(1 - p) (Kull, Silva Filho and
// Flach, AISTATS 2017).
type BetaCalibration struct{ Level, Low, High float64 }

// Stated is q.
func (b BetaCalibration) Stated(p float64) float64 {
	return 1 / (1 + math.Exp(-(b.Level + b.Low*math.Log(p) - b.High*math.Log1p(-p))))
}

// FitCalibration is the calibration of largest likelihood, by Newton's method from the
// identity. Every table has the same weight, and in each the predictions of what was
// suggested have that of all others. It wraps [ErrFit].
func FitCalibration(tables []*Outcomes) (BetaCalibration, error) {
	var parts []*OutcomeCells
	for _, t := range tables {
		parts = append(parts, &t.Suggested, &t.All)
	}
	beta := mat.NewVecDense(3, []float64{0, 1, 1})
	for range 50 {
		gradient, hessian := mat.NewVecDense(3, nil), mat.NewSymDense(3, nil)
		for _, part := range parts {
			n := part.n()
			if n == 0 {
				return BetaCalibration{}, fmt.Errorf("%w: no predictions", ErrFit)
			}
			for i := range part {
				if part[i].N == 0 {
					continue
				}
				p := center(i)
				x := mat.NewVecDense(3, []float64{1, math.Log(p), -math.Log1p(-p)})
				q := 1 / (1 + math.Exp(-mat.Dot(beta, x)))
				gradient.AddScaledVec(gradient, (float64(part[i].Met)-q*float64(part[i].N))/float64(n), x)
				hessian.SymRankOne(hessian, q*(1-q)*float64(part[i].N)/float64(n), x)
			}
		}
		var root mat.Cholesky
		if !root.Factorize(hessian) {
			return BetaCalibration{}, fmt.Errorf("%w: the outcomes do not determine it", ErrFit)
		}
		var step mat.VecDense
		if err := root.SolveVecTo(&step, gradient); err != nil {
			return BetaCalibration{}, fmt.Errorf("%w: %w", ErrFit, err)
		}
		beta.AddVec(beta, &step)
		if mat.Norm(&step, 2) < 1e-9 {
			b := BetaCalibration{Level: beta.AtVec(0), Low: beta.AtVec(1), High: beta.AtVec(2)}
			if !(b.Low > 0 && b.High > 0) {
				return b, fmt.Errorf("%w: %+v does not rise with the probability", ErrFit, b)
			}
			return b, nil
		}
	}
	return BetaCalibration{}, fmt.Errorf("%w: no convergence", ErrFit)
}
