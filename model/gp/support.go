package gp

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// MinSupportPoints is the number of configurations with a runtime below which a
// workload makes no support model: two runtimes have no shape.
const MinSupportPoints = 3

// maxSupportPoints bounds what a model is trained on. One hundred configurations
// fit in 20 ms, and pin down three features more than well.
const maxSupportPoints = 100

// TrainSupport fits the model that a workload may share to the points of its
// summary. Points without a runtime are left out; those of runs that timed out
// count with the time that they ran. It is deterministic, and does not depend on
// the order of the points. Of more than 100 configurations those with most
// runs count, and among equals an even mix. It wraps [ErrInput] where fewer than [MinSupportPoints] are usable.
func TrainSupport(points []model.Point) (*Weights, error) {
	g, err := FitPoints(points)
	if err != nil {
		return nil, err
	}
	return g.Weights(), nil
}

// FitPoints is [TrainSupport] before the model is put in its shared form: its
// values are in the units of the points.
func FitPoints(points []model.Point) (*GP, error) {
	var used []model.Point
	for _, p := range points {
		if !p.Observed() {
			continue
		}
		if err := p.Configuration.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		if err := p.Resources.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInput, p.Configuration, err)
		}
		used = append(used, p)
	}
	if len(used) < MinSupportPoints {
		return nil, fmt.Errorf("%w: %d configurations with a runtime, want %d", ErrInput, len(used), MinSupportPoints)
	}
	slices.SortStableFunc(used, func(a, b model.Point) int {
		return cmp.Or(
			cmp.Compare(b.OK+b.Timeout, a.OK+a.Timeout),
			cmp.Compare(Shuffled(a.Configuration), Shuffled(b.Configuration)),
			cmp.Compare(a.LogRuntime, b.LogRuntime))
	})
	used = used[:min(len(used), maxSupportPoints)]
	var x, y []float64
	for _, p := range used {
		x = AppendFeatures(x, p.Configuration, p.Resources)
		y = append(y, p.LogRuntime)
	}
	return Fit(x, FeatureDimensions, y)
}

// Shuffled orders configurations in no order that means anything.
func Shuffled(c model.Configuration) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.String())) // never fails
	return h.Sum64()
}
