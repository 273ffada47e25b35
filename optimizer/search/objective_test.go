package search

import (
	"errors"
	"math"
	"testing"
)

func TestLogOffsets(t *testing.T) {
	p := &Problem{Candidates: grid()[:2]}
	for _, tc := range []struct {
		objective Objective
		want      []float64
	}{
		{Cost, []float64{math.Log(0.1 / 3600), math.Log(0.2 / 3600)}},
		{Runtime, []float64{0, 0}},
		{Energy, []float64{math.Log(20. / 3600), math.Log(40. / 3600)}},
	} {
		p.Objective = tc.objective
		got, known, err := logOffsets(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if !known[i] || math.Abs(got[i]-tc.want[i]) > 1e-12 {
				t.Errorf("%s of candidate %d: %g, %v; want %g", tc.objective, i, got[i], known[i], tc.want[i])
			}
		}
	}
}

func TestUnknownIsNeverZero(t *testing.T) {
	p := &Problem{Candidates: grid()[:2], Objective: Cost}
	p.Candidates[0].USDPerHour = 0
	if _, known, err := logOffsets(p); err != nil || known[0] || !known[1] {
		t.Errorf("price 0: known %v, error %v", known, err)
	}
	p.Candidates[1].USDPerHour = 0
	if _, _, err := logOffsets(p); !errors.Is(err, ErrUnknownPrice) {
		t.Errorf("no price at all: error %v", err)
	}
	p.Objective = Energy
	p.Candidates[0].IdleWatts, p.Candidates[1].FullWatts = 0, 0
	if _, _, err := logOffsets(p); !errors.Is(err, ErrUnknownPower) {
		t.Errorf("no power at all: error %v", err)
	}
	p.Objective = "carbon-free"
	if _, _, err := logOffsets(p); !errors.Is(err, ErrUnknownObjective) {
		t.Errorf("objective %q: error %v", p.Objective, err)
	}
}
