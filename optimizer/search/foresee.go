package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// PredictionAuthor is the author of the support that [Foresee] adds. No peer's id
// looks like it.
const PredictionAuthor = "prediction"

const (
	// minPredictionSD of a predicted log runtime: no prediction is better than a run's
	// noise.
	minPredictionSD = .1
	// maxPredictionRange is the factor between the ends of the central 80% of the
	// familiar candidates' level beyond which a prediction says nothing.
	maxPredictionRange = 100
	// levelCaution times the deviation of predicted log runtimes is that of their level.
	// Errors of one prediction are alike at all candidates, and a level that is trusted
	// too much chooses a bad first run: on scout, predicting each workload from the other
	// data set of its algorithm, factors of 1, 2, 3 and 4 give an AUC of .166, .149,
	// .132 and .134 beside that data set's runs (.148 without a prediction), .230, .227,
	// .213 and .188 without (.385). On C3O, where it was not chosen, 1, 2, 3 and 5 give
	// .153, .152, .151 and .178, and .140, .139, .131 and .137.
	levelCaution = 3
	// maxPredictionPoints of the support: more neighbours say the same, and the work
	// grows with their cube.
	maxPredictionPoints = 60
)

// normal80 standard deviations to both sides hold 80% of a normal distribution.
const normal80 = 1.2816

// ErrVague says that a prediction is too uncertain to begin a search with.
var ErrVague = errors.New("the prediction is too uncertain to begin with")

// predictionPseudonym stands for no workload of anybody.
var predictionPseudonym = strings.Repeat("0", 32)

// Foresee makes a prediction of a problem's runtimes, one distribution a candidate,
// part of what is known beforehand: its level as that of the target, and its shape as
// the first support, which has to explain the runs like any other. Where the runs so
// far contradict the level, it is worth as little as it was wrong.
//
// It is false, and nothing is changed, where the prediction has larger clusters take
// longer: such a job exists, but a wrong prediction is more likely. The prediction
// must not rest on the observations: they would count twice. Errors wrap
// [model.ErrInvalid], or [ErrVague] where the level is uncertain by more than a factor
// of 100; nothing is changed then.
func Foresee(p *Problem, predicted []predict.Distribution, observed []Observation) (bool, error) {
	if len(predicted) != len(p.Candidates) || len(predicted) == 0 {
		return false, fmt.Errorf("%d predictions of %d candidates: %w", len(predicted), len(p.Candidates), model.ErrInvalid)
	}
	level, variance, known := 0., 0., familiar(predicted)
	for _, d := range predicted {
		level += d.LogMedian / float64(len(predicted))
	}
	for _, i := range known {
		variance += predicted[i].Variance() / float64(len(known))
	}
	if math.IsNaN(level+variance) || math.IsInf(level+variance, 0) {
		return false, fmt.Errorf("a predicted level of %g ± %g: %w", level, math.Sqrt(variance), model.ErrInvalid)
	}
	if rises(p, predicted, level) {
		return false, nil
	}
	sd := math.Max(math.Sqrt(variance), minPredictionSD)
	if most := math.Log(model.MaxRuntime.Seconds()); 2*normal80*sd > math.Log(maxPredictionRange) || math.Abs(level) > most {
		return false, fmt.Errorf("%w: 80%% of it lies within a factor of %.3g", ErrVague, math.Exp(min(2*normal80*sd, most)))
	}

	off, n := 0., 0.
	for _, o := range observed {
		i := slices.IndexFunc(p.Candidates, func(c Candidate) bool { return c.Configuration == o.Configuration })
		if i < 0 || o.Outcome != model.OK || !(o.RuntimeSeconds > 0) {
			continue
		}
		off += math.Log(o.RuntimeSeconds) - predicted[i].LogMedian
		n++
	}
	off /= max(n, 1)
	p.LevelMean, p.LevelSD, p.LevelDoubt = level, math.Hypot(levelCaution*sd, off), 0

	s := model.Summary{
		Topic: p.Topic, Pseudonym: predictionPseudonym, Absolute: true, Level: level,
		// Laplace noise of scale b has variance 2 b^2.
		NoiseScale: sd / math.Sqrt2,
	}
	if p.InputBytes > 0 {
		s.InputSizeLog2 = model.Workload{InputBytes: p.InputBytes}.InputSizeLog2()
		s.ExactInputBytes = p.InputBytes
	}
	step := (len(known) + maxPredictionPoints - 1) / maxPredictionPoints
	for k := 0; k < len(known); k += step {
		i := known[k]
		c := &p.Candidates[i]
		s.Points = append(s.Points, model.Point{
			Configuration: c.Configuration, Resources: c.Resources, LogRuntime: predicted[i].LogMedian - level, OK: 1,
		})
	}
	p.Supports = slices.Insert(slices.Clone(p.Supports), 0, Support{Author: PredictionAuthor, Summary: s})
	return true, nil
}

// familiar lists the candidates that are predicted well: with at most twice the standard
// deviation of the best quarter. Machine types that nobody knows say nothing about the
// level, and their shape follows from that of the others.
func familiar(predicted []predict.Distribution) []int {
	variances := make([]float64, len(predicted))
	for i, d := range predicted {
		variances[i] = d.Variance()
	}
	slices.Sort(variances)
	var out []int
	for i, d := range predicted {
		if !(d.Variance() > 4*variances[len(variances)/4]) {
			out = append(out, i)
		}
	}
	return out
}

// rises says whether predicted log runtimes, whose mean is level, rise with the cores
// of the cluster by linear regression.
func rises(p *Problem, predicted []predict.Distribution, level float64) bool {
	cores := func(i int) float64 {
		c := &p.Candidates[i]
		return math.Log2(float64(c.Configuration.ScaleOut) * c.Resources.VCPUs)
	}
	middle, slope := 0., 0.
	for i := range predicted {
		middle += cores(i) / float64(len(predicted))
	}
	for i, d := range predicted {
		slope += (cores(i) - middle) * (d.LogMedian - level)
	}
	return slope > 0
}
