package search

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestUncalibratedInverts(t *testing.T) {
	if Uncalibrated(0) != 0 || Uncalibrated(1) != 1 {
		t.Errorf("certainty becomes %g and %g", Uncalibrated(0), Uncalibrated(1))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "p")
		if got := Uncalibrated(calibrated(p)); math.Abs(got-p) > 1e-9 {
			t.Fatalf("%g becomes %g and then %g", p, calibrated(p), got)
		}
	})
}
