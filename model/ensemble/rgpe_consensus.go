package ensemble

import (
	"fmt"
	"slices"
)

// Consensus is what supports say of the shape of a target that has no runs yet, when
// nothing tells good ones from bad: at each of m points the median of their rescaled
// means, each centred over the points, and as variance the mean of theirs plus their
// spread around the median. One wrong support of three does not move it far. at
// returns the standardised mean and variance of support i at the points. There must be
// a support; it wraps [ErrInvalid].
func Consensus(supports []RankedSupport, at func(i int) (mean, variance []float64, err error)) (mean, variance []float64, err error) {
	if len(supports) == 0 {
		return nil, nil, fmt.Errorf("%w: no supports", ErrInvalid)
	}
	shapes := make([][]float64, len(supports))
	for i, s := range supports {
		m, v, err := at(i)
		if err != nil {
			return nil, nil, fmt.Errorf("support %d: %w: %w", i, ErrInvalid, err)
		}
		if i == 0 {
			mean, variance = make([]float64, len(m)), make([]float64, len(m))
		}
		if len(m) != len(mean) || len(v) != len(mean) {
			return nil, nil, fmt.Errorf("support %d: %w: %d means and %d variances, want %d", i, ErrInvalid, len(m), len(v), len(mean))
		}
		scale := s.scale(nil)
		var centre float64
		for _, x := range m {
			centre += x / float64(len(m))
		}
		shapes[i] = make([]float64, len(m))
		for j, x := range m {
			shapes[i][j] = scale * (x - centre)
			variance[j] += scale * scale * v[j] / float64(len(supports))
		}
	}
	column := make([]float64, len(supports))
	for j := range mean {
		for i := range shapes {
			column[i] = shapes[i][j]
		}
		slices.Sort(column)
		mean[j] = linearQuantile(column, 0.5)
		for _, x := range column {
			variance[j] += (x - mean[j]) * (x - mean[j]) / float64(len(supports))
		}
	}
	return mean, variance, nil
}
