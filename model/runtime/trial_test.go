package predict

import (
	"math"
	"testing"
)

// Strangers move an anchored prediction up to what the own model holds for possible,
// however many they are and whatever they claim.
func TestAnchoredEnsemble(t *testing.T) {
	own := stub{5, -.7, 0}
	for name, level := range map[string]float64{"longer": 12, "shorter": -2} {
		e := Ensemble{Members: []General{own}, Anchored: true}
		for range 200 {
			e.Members = append(e.Members, stub{level, -.7, -.1}, stub{level, -.7, 40})
		}
		p, err := e.Condition(target(), nil)
		if err != nil {
			t.Fatal(err)
		}
		opinions, err := p.(*EnsemblePredictor).Opinions(6)
		if err != nil {
			t.Fatal(err)
		}
		if opinions[0].Share < ownVoice-1e-9 {
			t.Errorf("%s: own share %.3f", name, opinions[0].Share)
		}
		d, err := p.Predict(6)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(d.LogMedian - (5 - .7*math.Log(6))); off > anchorReach*.1+1e-9 || d.Scale > .5 {
			t.Errorf("%s: %d strangers move the prediction by %.2f, its scale is %.2f", name, len(e.Members)-1, off, d.Scale)
		}
	}
	// A prior that leaves nothing silences.
	p, err := Ensemble{Members: []General{own, own}, Prior: []float64{0, leastTrust}}.Condition(target(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := p.(*EnsemblePredictor).Opinions(6); err != nil || o[1].Share > 1e-9 {
		t.Errorf("%v, %v", o, err)
	}
}

func TestTrust(t *testing.T) {
	h := History{Context: target()}
	for _, x := range []int{2, 4, 8} {
		h.Runs = append(h.Runs, Observation{x, math.Exp(5 - .7*math.Log(float64(x)))})
	}
	score := func(g General) []Score {
		s, err := Try(g, h)
		if err != nil {
			t.Fatal(err)
		}
		return []Score{s, s, s, s, s, s, s, s, s}
	}
	own := score(stub{5.1, -.7, 0})
	for name, c := range map[string]struct {
		g         General
		low, high float64
	}{
		"as good":              {stub{5.1, -.7, 0}, 0, 0},
		"better":               {stub{5, -.7, 0}, 0, 0},
		"knows that it doubts": {stub{5.5, -.7, .4}, 0, 0},
		"shifted by a factor":  {stub{6.1, -.7, 0}, leastTrust, -20},
		"shifted and vague":    {stub{11.9, -.7, 7}, leastTrust, -10},
	} {
		if got := Trust(own, score(c.g)); got < c.low || got > c.high {
			t.Errorf("%s: log weight %.1f, want %g to %g", name, got, c.low, c.high)
		}
	}
	if Trust(nil, nil) != 0 {
		t.Error("a model that was not tried has lost trust")
	}
	unknown := []Score{{math.NaN(), math.NaN()}}
	if got := Trust(unknown, score(stub{12, -.7, 0})[:1]); got > -1 {
		t.Errorf("contradicted where the own model is unknown: %.1f", got)
	}
}
