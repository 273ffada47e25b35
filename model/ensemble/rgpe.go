package ensemble

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/gp"
)

// RankedSupport is one base model of the ranking-weighted ensemble.
type RankedSupport struct {
	// Model is a standardised process over the same features as the target's: it
	// knows the shape of another workload. nil takes no part.
	Model *gp.GP
	// Scale is what one standardised unit is in the target's units (nats of log
	// runtime); 0 is unknown.
	Scale float64
}

// RGPE is the ranking-weighted Gaussian process ensemble of a target and its
// supports. It is immutable and safe for concurrent use.
//
// Sources: Feurer, Letham, Bakshy: Scalable Meta-Learning for Bayesian Optimization
// using Ranking-Weighted Gaussian Process Ensembles (2018); Scheinert et al.: Karasu
// (arXiv 2308.11792), section III.
type RGPE struct {
	target   *gp.GP
	supports []RankedSupport
	// weights has one entry a support, and the target's last.
	weights []float64
	// level has one entry a support: what is added to its rescaled mean.
	level []float64
}

// The scale of a support that comes without one.
const (
	// defaultScale is the standard deviation of log runtime over the configurations
	// of a cloud workload, 0.4 to 0.9 in public tables.
	defaultScale = 0.6
	// scaleWeight is how many of the target's runs the assumption counts for.
	scaleWeight = 4
	// Bounds of what a support may claim: one unit of 3 nats is a factor of 400 between
	// two configurations one standard deviation to each side.
	minScale, maxScale = 0.02, 3
)

// NewRGPE weighs the supports by how they rank the target's observations; see
// [RankingWeights], also for the seed. Without supports it is the target. It wraps
// [ErrInvalid].
//
// A support knows the shape of a workload, not how long the target takes: its mean
// is shifted so that, over the target's observations, it agrees with them.
// (Published RGPE gives every support the mean and the standard deviation of the
// target's few observations, wherever in the space those happen to lie.)
func NewRGPE(target *gp.GP, supports []RankedSupport, seed uint64) (*RGPE, error) {
	models := make([]*gp.GP, len(supports))
	for i, s := range supports {
		models[i] = s.Model
	}
	weights, err := RankingWeights(target, models, seed)
	if err != nil {
		return nil, err
	}
	r := &RGPE{target: target, supports: make([]RankedSupport, len(supports)), weights: weights, level: make([]float64, len(supports))}
	x, y := target.Inputs(), target.Values()
	for i, s := range supports {
		if weights[i] == 0 {
			continue
		}
		s.Scale = s.scale(y)
		r.supports[i] = s
		at, _, err := s.Model.Posterior(x)
		if err != nil {
			return nil, fmt.Errorf("support %d: %w: %w", i, ErrInvalid, err)
		}
		for j, v := range y {
			r.level[i] += (v - s.Scale*at[j]) / float64(len(y))
		}
	}
	return r, nil
}

// scale is Scale within bounds; where it is unknown, what the target's observed
// values make likely.
func (s RankedSupport) scale(y []float64) float64 {
	v := s.Scale
	if v == 0 {
		v = assumedScale(y)
	}
	return min(max(v, minScale), maxScale)
}

// assumedScale is the standard deviation of the target's values, shrunk to
// defaultScale: the mean of the posterior of a variance, in the conjugate form.
func assumedScale(y []float64) float64 {
	if len(y) == 0 {
		return defaultScale
	}
	var mean, sum float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt((scaleWeight*defaultScale*defaultScale + sum) / (scaleWeight + float64(len(y)) - 1))
}

// Weights returns one weight a support, and the target's own last. They sum to 1.
func (r *RGPE) Weights() []float64 { return append([]float64(nil), r.weights...) }

// Posterior returns mean and variance at m points (m x d, row-major) in the
// target's units:
//
//	mean = sum_i w_i mean_i, variance = sum_i w_i^2 variance_i
//
// (Feurer et al., section 3: a weighted sum of independent processes.)
func (r *RGPE) Posterior(xs []float64) (mean, variance []float64, err error) {
	return r.PosteriorWith(xs, func(i int) ([]float64, []float64, error) { return r.supports[i].Model.Posterior(xs) })
}

// PosteriorWith is [RGPE.Posterior] for a caller that keeps what its supports say:
// at returns the standardised mean and variance of support i at the m points, and
// is called for supports of positive weight only.
func (r *RGPE) PosteriorWith(xs []float64, at func(i int) (mean, variance []float64, err error)) (mean, variance []float64, err error) {
	own := r.weights[len(r.supports)]
	if mean, variance, err = r.target.Posterior(xs); err != nil {
		return nil, nil, fmt.Errorf("target: %w: %w", ErrInvalid, err)
	}
	for j := range mean {
		mean[j] *= own
		variance[j] *= own * own
	}
	for i, s := range r.supports {
		w := r.weights[i]
		if w == 0 {
			continue
		}
		m, v, err := at(i)
		if err != nil {
			return nil, nil, fmt.Errorf("support %d: %w: %w", i, ErrInvalid, err)
		}
		if len(m) != len(mean) || len(v) != len(mean) {
			return nil, nil, fmt.Errorf("support %d: %w: %d means and %d variances, want %d", i, ErrInvalid, len(m), len(v), len(mean))
		}
		for j := range mean {
			mean[j] += w * (r.level[i] + s.Scale*m[j])
			variance[j] += w * w * s.Scale * s.Scale * v[j]
		}
	}
	return mean, variance, nil
}
