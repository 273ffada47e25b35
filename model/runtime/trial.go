package predict

import (
	"math"
	"slices"
)

// Score is how well a model foretold the runs of a context that it did not know.
type Score struct {
	// Density is the log density of ln(seconds) of the median run at a scale-out, in
	// the mean over scale-outs.
	Density float64
	// Surprise is by how much the density at the predicted medians is higher: about a
	// half where a model knows how wrong it is, whatever it claims to know.
	Surprise float64
}

// Try predicts a context as one without runs and compares with the runs that it has.
func Try(g General, h History) (Score, error) {
	t, err := Ensemble{Members: []General{g}}.Target(h.Context)
	if err != nil {
		return Score{}, err
	}
	p, err := t.Condition(nil)
	if err != nil {
		return Score{}, err
	}
	summaries := Summarise(h.Runs)
	if len(summaries) == 0 {
		return Score{}, ErrNoRuns
	}
	var s Score
	for _, x := range summaries {
		d, err := p.Predict(x.ScaleOut)
		if err != nil {
			return Score{}, err
		}
		density := d.logDensity(x.MedianSeconds)
		s.Density += density / float64(len(summaries))
		s.Surprise += (d.logDensity(d.Median()) - density) / float64(len(summaries))
	}
	return s, nil
}

const (
	// No trial counts against a stranger up to this surprise, nor below this loss of
	// density, a scale of e^2 times the own model's: honest models of other contexts know
	// little of one's own.
	usualSurprise = 1.5
	usualLoss     = 2
	// maxTrials bounds how often contradictions count: contexts of one algorithm are
	// wrong together.
	maxTrials = 8
	// leastTrust is the log weight of who is wrong beyond doubt.
	leastTrust = -50
)

// Trust returns the log weight, 0 or below, of a stranger's model whose scores in some
// contexts face those of the own model without these contexts. Medians count, so that a
// few contexts do not decide. Own scores that are not a number are unknown.
func Trust(own, other []Score) float64 {
	if len(other) == 0 {
		return 0
	}
	var surprise, usual, loss []float64
	for i, s := range other {
		surprise = append(surprise, s.Surprise)
		if i < len(own) && !math.IsNaN(own[i].Density) {
			usual = append(usual, own[i].Surprise)
			loss = append(loss, own[i].Density-s.Density)
		}
	}
	excess := max(middle(surprise)-max(usualSurprise, middle(usual)), 0) + max(middle(loss)-usualLoss, 0)
	return max(-excess*float64(min(len(other), maxTrials)), leastTrust)
}

// middle is the upper median; 0 of nothing.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
