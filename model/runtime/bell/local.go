package bell

import (
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

const (
	// minResidual is the noise of a run that few runs do not show.
	minResidual = .05
	// bandwidth of the local regression, as a share of the range of scale-outs.
	bandwidth = .15
	// Predictions stay within this factor of what was measured.
	maxExtrapolation = 3
)

// local is a local linear regression of the runtime over the scale-out with a
// Gaussian kernel.
type local struct {
	runs      []predict.Summary
	width     float64
	low, high float64
	residual  float64
}

func newLocal(s []predict.Summary) *local {
	l := &local{runs: s, low: math.Inf(1), residual: minResidual}
	for _, r := range s {
		l.low, l.high = min(l.low, r.MedianSeconds), max(l.high, r.MedianSeconds)
	}
	l.width = max(bandwidth*float64(s[len(s)-1].ScaleOut-s[0].ScaleOut), 1)
	return l
}

// seconds returns the runtime at x: the weighted least squares line around x there.
func (l *local) seconds(x float64) float64 {
	// Weights are relative to the nearest run, so that far from all they do not vanish.
	nearest := math.Inf(1)
	for _, r := range l.runs {
		nearest = min(nearest, math.Abs(float64(r.ScaleOut)-x))
	}
	var w, wx, wy, wxx, wxy float64
	for _, r := range l.runs {
		d := float64(r.ScaleOut) - x
		k := math.Exp((nearest*nearest - d*d) / (2 * l.width * l.width))
		w += k
		wx += k * d
		wy += k * r.MedianSeconds
		wxx += k * d * d
		wxy += k * d * r.MedianSeconds
	}
	value := wy / w
	if det := w*wxx - wx*wx; det > 1e-9*w*wxx {
		value = (wxx*wy - wx*wxy) / det
	}
	return min(max(value, l.low/maxExtrapolation), l.high*maxExtrapolation)
}

// Predict implements [predict.Predictor].
func (l *local) Predict(scaleOut int) (predict.Distribution, error) {
	if err := predict.ValidateScaleOut(scaleOut); err != nil {
		return predict.Distribution{}, err
	}
	return predict.NewDistribution(math.Log(l.seconds(float64(scaleOut))), l.residual, predict.MaxFreedom)
}
