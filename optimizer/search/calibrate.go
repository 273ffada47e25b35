package search

import "math"

// Constants of the calibration of probabilities, by logistic regression on replays
// of the scout and the C3O table (docs/objectives.md): every configuration not yet
// tried and the one suggested, with equal weight.
const (
	calibrationLevel = 0.6
	calibrationLow   = 1.2
	calibrationHigh  = 0.7
)

// calibrated is the probability that is stated where the posterior says p, by beta
// calibration (Kull, Silva Filho and Flach, AISTATS 2017):
//
//	logit q = level + low ln p - high ln(1 - p)
//
// The posterior is too cautious in the middle, where hypotheses with a memory cliff
// that the workload does not have keep some weight, and a little too sure at the
// upper end. Monotone in p; 0 and 1 stay.
func calibrated(p float64) float64 {
	if !(p > 0 && p < 1) {
		return p
	}
	return 1 / (1 + math.Exp(-(calibrationLevel + calibrationLow*math.Log(p) - calibrationHigh*math.Log1p(-p))))
}

// calibrate states the probabilities of the candidates that have not been tried;
// of one that has, its own runs say all.
func (s *state) calibrate(predictions []Prediction) {
	for i := range predictions {
		if !s.history.tried[i] && !math.IsInf(s.limit[i], 1) {
			predictions[i].MeetsTarget = calibrated(predictions[i].MeetsTarget)
		}
	}
}
