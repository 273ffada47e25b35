package search

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCalibratedIsMonotone(t *testing.T) {
	if calibrated(0) != 0 || calibrated(1) != 1 {
		t.Errorf("certainty becomes %g and %g", calibrated(0), calibrated(1))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		ca, cb := calibrated(a), calibrated(b)
		if !(ca >= 0 && ca <= cb && cb <= 1) {
			t.Fatalf("%g becomes %g, %g becomes %g", a, ca, b, cb)
		}
	})
}

func TestWhatHasRunIsNotCalibrated(t *testing.T) {
	p := &Problem{Candidates: grid(), Objective: Cost, Target: 1000 * time.Second}
	s, err := newState(p, []Observation{observe(p, 2, 900)})
	if err != nil {
		t.Fatal(err)
	}
	predictions := make([]Prediction, len(p.Candidates))
	for i := range predictions {
		predictions[i].MeetsTarget = .5
	}
	s.calibrate(predictions)
	for i, q := range predictions {
		if (q.MeetsTarget == .5) != (i == 2) {
			t.Errorf("candidate %d: %g", i, q.MeetsTarget)
		}
	}
}
