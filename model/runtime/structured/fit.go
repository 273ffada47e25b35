package structured

import (
	"context"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// Settings of L-BFGS: past this the predictions change in the fourth digit.
const (
	fitIterations        = 25
	fitEvaluations       = 40
	fitGradientThreshold = .05
)

// posterior returns the log posterior density of the constants up to a constant and
// writes its gradient by their logarithms (RW eq. 5.8 and 5.9, plus the prior's).
// It returns -Inf where the covariance cannot be factorised.
func (r *rows) posterior(p *Params, gradient *Params) float64 {
	n := len(r.x)
	*gradient = Params{}
	root, err := cholesky(r.covariance(p), n)
	if err != nil {
		return math.Inf(-1)
	}
	alpha := append([]float64(nil), r.y...)
	forward(root, alpha)
	value := -logDiagonal(root)
	for _, v := range alpha {
		value -= v * v / 2
	}
	backward(root, alpha)
	inv := inverse(root)

	k, nodes := p.squares(), r.nodes(p[exponent])
	for a := range r.contexts {
		for b := range a + 1 {
			d := k.pair(r.contexts[a], r.contexts[b], r.encoder.sizeRange())
			var sum, sumZ float64
			for i := r.start[a]; i < r.start[a+1]; i++ {
				for j := r.start[b]; j < r.start[b+1] && j <= i; j++ {
					// Entries off the diagonal count twice, with the half of eq. 5.9 once.
					q := alpha[i]*alpha[j] - inv[i*n+j]
					if i == j {
						q /= 2
					}
					sum += q
					sumZ += q * nodes[i].z * nodes[j].z
					k.gradient(gradient, q, &d, &nodes[i], &nodes[j])
				}
			}
			k.pairGradient(gradient, sum, sumZ, &d)
		}
	}
	for i := range n {
		which := noiseRun
		if r.repeats[i] >= MedianRepeats {
			which = noiseMedian
		}
		gradient[which] += (alpha[i]*alpha[i] - inv[i*n+i]) * p.noise(r.repeats[i])
	}
	for i := range p {
		t := math.Log(p[i]/defaults[i]) / hyperPriorSD
		value -= t * t / 2
		gradient[i] -= t / hyperPriorSD
	}
	if math.IsNaN(value) {
		return math.Inf(-1)
	}
	return value
}

// fitParams returns the constants with the highest posterior density, or the best
// seen where the optimiser ends early, which is no error.
func fitParams(ctx context.Context, r *rows) (Params, error) {
	best, bestValue := defaults, math.Inf(-1)
	var at, gradient Params
	at[0] = math.NaN()
	var current float64
	evaluate := func(theta []float64) float64 {
		var p Params
		for i, t := range theta {
			p[i] = defaults[i] * math.Exp(t)
		}
		if p == at {
			return current
		}
		at, current = p, math.Inf(-1)
		gradient = Params{}
		if p.valid() && ctx.Err() == nil {
			current = r.posterior(&p, &gradient)
		}
		if current > bestValue {
			best, bestValue = p, current
		}
		return current
	}
	problem := optimize.Problem{
		Func: func(theta []float64) float64 { return -evaluate(theta) },
		Grad: func(g, theta []float64) {
			evaluate(theta)
			for i := range g {
				g[i] = -gradient[i]
			}
		},
	}
	settings := &optimize.Settings{
		GradientThreshold: fitGradientThreshold, MajorIterations: fitIterations, FuncEvaluations: fitEvaluations,
	}
	// The error is of convergence only; the best point that was seen counts.
	_, _ = optimize.Minimize(problem, make([]float64, numParams), settings, &optimize.LBFGS{})
	return best, ctx.Err()
}
