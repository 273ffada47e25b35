package replay

import (
	"context"
	"time"

	"github.com/karasu-project/karasu/model/runtime"
)

// tuneRepeats of every measurement of fine-tuning.
const tuneRepeats = 5

// times measures the default alone: the longest time to fit all contexts of a table
// but one, in seconds, and the mean time to condition that on a run at each scale-out
// of the context left out and to predict one scale-out, in milliseconds.
func (c *Config) times(ctx context.Context) (pretrain, finetune float64, err error) {
	tunes := 0
	for i := range c.C3O {
		t := &c.C3O[i]
		start := time.Now()
		g, err := c.Models[0].Learner.Fit(ctx, t.without(0))
		if err != nil {
			return 0, 0, err
		}
		pretrain = max(pretrain, time.Since(start).Seconds())
		h := t.Histories[0]
		var runs []predict.Observation
		for _, group := range byScaleOut(h.Runs) {
			runs = append(runs, group[0])
		}
		start = time.Now()
		for range tuneRepeats {
			p, err := g.Condition(h.Context, runs)
			if err != nil {
				return 0, 0, err
			}
			if _, err := p.Predict(runs[0].ScaleOut + 1); err != nil {
				return 0, 0, err
			}
			tunes++
		}
		finetune += time.Since(start).Seconds() * 1000
	}
	if tunes > 0 {
		finetune /= float64(tunes)
	}
	return pretrain, finetune, nil
}
