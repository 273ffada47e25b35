package gp

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// normal is a Gaussian prior on the log of a hyper-parameter.
type normal struct{ mean, sd float64 }

// The priors are log-normal, on standardised values and features in doublings
// ([AppendFeatures]). With few observations they decide. The medians were chosen on
// the scout table among factors of two; nothing depends on them by more than a few
// hundredths of a nat.
var (
	// Length scales: median 6 doublings, 95% between 1.9 and 19. Runtimes are smooth in
	// the log of every resource, except where memory gets too small.
	lengthPrior = normal{math.Log(6), 0.6}
	// Signal: 95% between 0.9 and 4.4. The values seen have standard deviation 1, but
	// they are a part of what there is.
	signalPrior = normal{math.Log(2), 0.4}
	// Noise: run-to-run noise of 10% over a spread of runtimes of e^0.6 makes 0.15; 95%
	// between 0.05 and 0.5.
	noisePrior = normal{math.Log(0.15), 0.6}
)

// hyperPrior returns the prior of entry i of theta.
func hyperPrior(i, d int) normal {
	switch {
	case i < d:
		return lengthPrior
	case i == d:
		return signalPrior
	default:
		return noisePrior
	}
}

// starts are where the optimiser begins, in standard deviations of the priors of
// (every length scale, signal, noise): at the mode of the prior, at a rough function
// with little noise, and at a smooth one with much.
var starts = [][3]float64{{0, 0, 0}, {-1.5, 0, -1}, {1.5, 0, 1}}

// Settings of L-BFGS. Past this the answer changes by less than the noise of one
// sample of the ensemble.
const (
	gradientThreshold = 1e-4
	maxIterations     = 60
	// Above this n one evaluation takes 10 ms, and the data, not the start, decide.
	multiStartInputs = 64
)

// Fit returns the process whose hyper-parameters maximise the posterior density
// (MAP) given n observations: x is n x d in row-major order, y has n values (log
// runtimes). It is deterministic. It wraps [ErrInput].
func Fit(x []float64, d int, y []float64) (*GP, error) {
	if err := checkObservations(x, d, y); err != nil {
		return nil, err
	}
	z, offset, scale := standardise(y)
	return condition(x, d, z, offset, scale, maximise(newPosterior(x, d, z)))
}

// maximise returns the best hyper-parameters over all starts. An optimiser that
// fails is no error: the best point that was evaluated counts, at worst the mode of
// the prior.
func maximise(p *posterior) Hyperparameters {
	d := p.d
	best, value := make([]float64, d+2), math.Inf(-1)
	for i := range best {
		best[i] = hyperPrior(i, d).mean
	}
	// Value and gradient come from one factorisation; the optimiser asks for them in
	// turn at the same point.
	at, gradient := make([]float64, d+2), make([]float64, d+2)
	at[0] = math.NaN()
	var current float64
	evaluate := func(theta []float64) {
		for i := range theta {
			if theta[i] != at[i] {
				copy(at, theta)
				current = p.evaluate(theta, gradient)
				if current > value {
					value = current
					copy(best, theta)
				}
				return
			}
		}
	}
	problem := optimize.Problem{
		Func: func(theta []float64) float64 { evaluate(theta); return -current },
		Grad: func(g, theta []float64) {
			evaluate(theta)
			for i := range g {
				g[i] = -gradient[i]
			}
		},
	}
	settings := &optimize.Settings{GradientThreshold: gradientThreshold, MajorIterations: maxIterations}
	for s, start := range starts {
		if s > 0 && len(p.y) > multiStartInputs {
			break
		}
		init := make([]float64, d+2)
		for i := range init {
			prior := hyperPrior(i, d)
			init[i] = prior.mean + start[min(max(i-d+1, 0), 2)]*prior.sd
		}
		// The error is of the optimiser's convergence only; see above.
		_, _ = optimize.Minimize(problem, init, settings, &optimize.LBFGS{})
	}
	return fromTheta(best)
}

// fromTheta returns the hyper-parameters, within the bounds of [Weights].
func fromTheta(theta []float64) Hyperparameters {
	d := len(theta) - 2
	h := Hyperparameters{LengthScales: make([]float64, d)}
	for i := range d {
		h.LengthScales[i] = lengthBounds.clamp(math.Exp(theta[i]))
	}
	h.SignalSD = signalBounds.clamp(math.Exp(theta[d]))
	h.NoiseSD = noiseBounds.clamp(math.Exp(theta[d+1]))
	return h
}
