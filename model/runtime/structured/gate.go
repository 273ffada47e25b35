package structured

import (
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

const (
	// priorFamily is the weight of the local family before any run where the history
	// knows the environment: insurance against contexts that are like no other.
	priorFamily = .05
	// gateNoise is the noise sd in the evidence that moves this weight: only errors
	// beyond 20% speak against other contexts.
	gateNoise = .2
	// gateRuns are the scale-outs from which on the shape can speak.
	gateRuns = 2
	// foreignTransfer is the weight of other contexts without any run in an environment
	// that the history does not know. From the first run on, it does harm: levels and
	// shapes of another cluster are no better than the family's.
	foreignTransfer = .3
	// intervalScale times the posterior standard deviation is the scale of Student's
	// t with intervalFreedom degrees of freedom before any run: posterior variances
	// cover what could happen in a context like no other, most contexts are like
	// another. Then 80% intervals are ±0.8 posterior standard deviations. Every run of
	// the context adds a degree of freedom and moves the scale towards the errors that
	// were made on the runs, as in a Student-t process (Shah, Wilson and Ghahramani,
	// AISTATS 2014): a job whose repeats vary by a factor of two is not told from
	// others by anything else.
	intervalScale   = .5
	intervalFreedom = 3.1
	// noisePriorRepeats is the weight of the usual noise against that of repeats.
	noisePriorRepeats = 3.
)

// Condition implements [predict.Target].
func (t *target) Condition(runs []predict.Observation) (predict.Predictor, error) {
	if err := predict.ValidateRuns(runs); err != nil {
		return nil, err
	}
	s := predict.Summarise(runs)
	p := &predictor{runs: float64(len(s)), excess: excessNoise(runs, s)}
	var err error
	if p.transfer, err = t.condition(s); err != nil {
		return nil, err
	}
	if t.g.options.NoFamily {
		return p, nil
	}
	if p.family, err = newFamily(s); err != nil {
		return nil, err
	}
	if p.share, err = t.familyShare(s); err != nil {
		return nil, err
	}
	return p, nil
}

// familyShare returns the weight of the family given the runs.
func (t *target) familyShare(runs []predict.Summary) (float64, error) {
	if t.foreign {
		if len(runs) == 0 && len(t.g.blocks) > 0 {
			return 1 - foreignTransfer, nil
		}
		return 1, nil
	}
	if len(runs) < gateRuns {
		return 0, nil
	}
	transfer, err := shapeEvidence(runs, t.evidence)
	if err != nil {
		return 0, err
	}
	local, err := shapeEvidence(runs, familyEvidence)
	if err != nil {
		return 0, err
	}
	return softmax([]float64{transfer + math.Log(1-priorFamily), local + math.Log(priorFamily)})[1], nil
}

// shapeEvidence is the log density of the runs given one of them, in the mean over
// which one. The level of the runs is left out of the comparison that way: a context
// that is slower than expected throughout is no reason to distrust the shape that
// others have, and the family's shape is no better.
func shapeEvidence(runs []predict.Summary, evidence func([]predict.Summary, float64) (float64, error)) (float64, error) {
	const extra = gateNoise * gateNoise
	all, err := evidence(runs, extra)
	if err != nil {
		return 0, err
	}
	for i := range runs {
		one, err := evidence(runs[i:i+1], extra)
		if err != nil {
			return 0, err
		}
		all -= one / float64(len(runs))
	}
	return all, nil
}

// predictor mixes transfer and family. It is safe for concurrent use.
type predictor struct {
	transfer *transfer
	family   family
	// share is the weight of the family.
	share float64
	// runs is the number of scale-outs that were run.
	runs float64
	// excess is the variance of a run beyond that of the models.
	excess float64
}

// excessNoise is what the repeats of a context vary by beyond the usual noise of a run,
// as a variance: medians, which is what the models see, do not show it. The usual noise
// counts as [noisePriorRepeats] repeats.
func excessNoise(runs []predict.Observation, s []predict.Summary) float64 {
	middle := make(map[int]float64, len(s))
	for _, m := range s {
		middle[m.ScaleOut] = math.Log(m.MedianSeconds)
	}
	usual := defaults[noiseRun] * defaults[noiseRun]
	sum := noisePriorRepeats * usual
	for _, r := range runs {
		d := math.Log(r.RuntimeSeconds) - middle[r.ScaleOut]
		sum += d * d
	}
	// Of k repeats k-1 tell about their spread.
	return max(sum/(noisePriorRepeats+float64(len(runs)-len(s)))-usual, 0)
}

// studentScale is the square of what a standard deviation is multiplied by after n
// runs that were off by surprise, the sum of squares in standard deviations.
func studentScale(n, surprise float64) float64 {
	return (intervalFreedom*intervalScale*intervalScale + surprise) / (intervalFreedom + n)
}

// Predict implements [predict.Predictor].
func (p *predictor) Predict(scaleOut int) (predict.Distribution, error) {
	if err := predict.ValidateScaleOut(scaleOut); err != nil {
		return predict.Distribution{}, err
	}
	mean, variance := p.transfer.predict(scaleOut)
	factor, freedom := studentScale(p.runs, p.transfer.surprise), intervalFreedom+p.runs
	if p.share > 0 {
		m, v := p.family.predict(scaleOut)
		d := m - mean
		variance = (1-p.share)*variance + p.share*v + p.share*(1-p.share)*d*d
		mean += p.share * d
		// The family knows no level: its first run tells that and no error.
		n := max(p.runs-1, 0)
		factor += p.share * (studentScale(n, p.family.surprise()) - factor)
		freedom += p.share * (n - p.runs)
	}
	// The factor is of what a process expects; repeats were measured. Between (f-2)/f,
	// which keeps the variance, and 1, the 80% interval is kept.
	scale2 := factor*variance + p.excess*(freedom-1)/freedom
	return predict.NewDistribution(mean, math.Sqrt(scale2), freedom)
}
