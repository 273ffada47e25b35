package stage

import (
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/trees"
)

// stack corrects the ends of a schedule of predicted times: a forest of the logarithm of
// the true end, given the schedules and all that is known at submission. It learns from
// predictions for jobs that the stage models did not learn from, since such are what it
// corrects.
type stack struct {
	forest *forest // nil corrects nothing
	// The logarithm of an end is that of the schedule plus blend times the difference of
	// the forest's to it, plus shift. Both are those with the least mean error as a share of
	// the job's length, outside of what the forest learned from; without them an end that is
	// as often too late as too early would err more on the late side.
	blend, shift float64
}

const (
	stackWidth    = 13
	stackTrees    = 40
	stackLeaf     = 3
	stackFeatures = 30
	// softSeconds is added to times before logarithms: they may be 0.
	softSeconds = .2
	// maxCorrection bounds the correction of a logarithm.
	maxCorrection = 1.5
	// stackGroups at least are learned from.
	stackGroups = folds
)

func fitStack(list []*compiled, groups []int, out outside, seed uint64) (*stack, rows, error) {
	r := rows{d: submissionWidth + stackWidth}
	duration, task, output := out.spread(list, durationTarget), out.spread(list, taskTarget), out.spread(list, outputTarget)
	var scheduled, truth, length []float64
	for j, c := range list {
		p := make([]Prediction, len(c.stages))
		for i := range p {
			p[i] = Prediction{Duration: Known(duration[j][i]), TaskSeconds: Known(task[j][i]), OutputBytes: Known(output[j][i])}
		}
		t, _ := c.scheduled(p)
		r.x = append(r.x, c.stackRows(p, t)...)
		for i, s := range c.stages {
			r.y = append(r.y, math.Log(s.EndSeconds+softSeconds))
			r.groups = append(r.groups, groups[j])
			scheduled, truth, length = append(scheduled, t.end[i]), append(truth, s.EndSeconds), append(length, c.length())
		}
	}
	s := &stack{}
	if slices.Max(groups)+1 < stackGroups {
		return s, rows{}, nil
	}
	f, predicted, err := fitForest(r, stackTrees, trees.ForestOptions{MinLeaf: stackLeaf, Features: stackFeatures, Seed: seed})
	if err != nil {
		return nil, rows{}, fmt.Errorf("correction of ends: %w", err)
	}
	s.forest = f
	s.tune(scheduled, predicted, truth, length)
	return s, r, nil
}

// tune blend and shift.
func (s *stack) tune(scheduled, predicted, truth, length []float64) {
	best := math.Inf(1)
	for blend := 0; blend <= 4; blend++ {
		for shift := -8; shift <= 4; shift++ {
			try := stack{blend: float64(blend) / 4, shift: float64(shift) / 20}
			var sum float64
			for i, v := range truth {
				if length[i] > 0 {
					sum += math.Abs(try.correct(scheduled[i], predicted[i], 0, 1)-v) / length[i]
				}
			}
			if sum < best {
				best, s.blend, s.shift = sum, try.blend, try.shift
			}
		}
	}
}

// correct an end by the logarithm that the forest predicts for it. Only what is still to
// come after now moves, and the less the less of the job is left.
func (s *stack) correct(scheduled, predicted, now, left float64) float64 {
	v := left * (s.blend*(predicted-math.Log(scheduled+softSeconds)) + s.shift)
	v = min(max(v, -maxCorrection), maxCorrection)
	return now + max(0, (scheduled-now+softSeconds)*math.Exp(v)-softSeconds)
}

// scheduled runs the schedule with medians. now is the end of the last finished stage.
func (c *compiled) scheduled(list []Prediction) (t times, now float64) {
	w := make([]work, len(list))
	for i, p := range list {
		w[i] = work{duration: p.Duration.Median(), taskSeconds: p.TaskSeconds.Median(), width: c.stages[i].Tasks}
		if p.Finished {
			w[i].done, w[i].start, w[i].end = true, p.StartSeconds, p.EndSeconds
			now = max(now, p.EndSeconds)
		}
	}
	return c.schedule(w, now), now
}

// place fills in starts and ends.
func (s *stack) place(c *compiled, list []Prediction) {
	t, now := c.scheduled(list)
	var x []float64
	var left float64
	if s.forest != nil {
		x = c.stackRows(list, t)
		if length := slices.Max(t.end); length > 0 {
			left = (length - now) / length
		}
	}
	d := submissionWidth + stackWidth
	for i := range list {
		p := &list[i]
		if p.Finished {
			continue
		}
		p.EndSeconds = t.end[i]
		if s.forest != nil {
			predicted, _ := s.forest.predict(x[i*d : (i+1)*d])
			p.EndSeconds = s.correct(t.end[i], predicted, now, left)
		}
		p.StartSeconds = max(now, p.EndSeconds-p.Duration.Median())
	}
}

// stackRows returns the features of the submission, then what the schedules say.
func (c *compiled) stackRows(list []Prediction, t times) []float64 {
	shape := c.shape()
	var length, critical, queued, work float64
	for i := range list {
		length, critical, queued = max(length, t.end[i]), max(critical, t.critical[i]), max(queued, t.queued[i])
		work += list[i].Duration.Median()
	}
	x := make([]float64, 0, len(list)*stackWidth)
	for i := range list {
		x = append(x,
			logAmount(t.end[i]), logAmount(t.critical[i]), logAmount(t.queued[i]),
			logAmount(length), t.end[i]/max(length, least[durationTarget]),
			logAmount(critical), logAmount(queued), logAmount(work),
			shape.depth[i], shape.height[i], float64(i)/float64(len(list)), logAmount(float64(len(list))),
			logAmount(list[i].Duration.Median()))
	}
	return beside(c.features(atSubmission), submissionWidth, x, stackWidth)
}

// Schedule returns the forecast of predicted or measured times, without any correction:
// the later one of the critical path and of a queue for the slots. Predictions are those
// of the job's stages by ascending ID. It wraps [ErrInput].
func Schedule(job Job, predictions []Prediction) (*Forecast, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	if len(predictions) != len(c.stages) {
		return nil, fmt.Errorf("%w: %d predictions for %d stages", ErrInput, len(predictions), len(c.stages))
	}
	list := slices.Clone(predictions)
	(&stack{}).place(c, list)
	return c.forecast(list), nil
}
