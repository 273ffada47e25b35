package ensemble

import (
	"math"
	"testing"
)

func TestNormal(t *testing.T) {
	for z := -45.; z <= 45; z += .0137 {
		cdf, pdf := Normal(z)
		want := .5 * math.Erfc(-z/math.Sqrt2)
		if math.Abs(cdf-want) > 2e-15 || cdf < 0 || cdf > 1 || math.Abs(pdf-NormalPDF(z)) > 1e-300 {
			t.Fatalf("at %g: cdf %g, want %g; pdf %g, want %g", z, cdf, want, pdf, NormalPDF(z))
		}
		if want > 1e-300 {
			if got := logNormalCDF(z); math.Abs(got-math.Log(want)) > 1e-11*max(1, math.Abs(got)) {
				t.Fatalf("log cdf at %g: %.15g, want %.15g", z, got, math.Log(want))
			}
			if got := hazard(z); math.Abs(got-NormalPDF(z)/want) > 1e-11*max(1, got) {
				t.Fatalf("hazard at %g: %.15g, want %.15g", z, got, NormalPDF(z)/want)
			}
		}
	}
}

// TestNormalTails: asymptotics where the distribution function itself underflows.
func TestNormalTails(t *testing.T) {
	for _, x := range []float64{40, 1e3, 1e8, 1e150} {
		if got, want := logNormalCDF(-x), -.5*x*x-math.Log(x)-logSqrt2Pi; math.Abs(got-want) > 1e-3 && math.Abs(got/want-1) > 1e-12 {
			t.Errorf("log cdf at -%g: %g, want %g", x, got, want)
		}
		if got := hazard(-x); math.Abs(got/x-1) > 1e-3 || math.IsInf(got, 0) {
			t.Errorf("hazard at -%g: %g", x, got)
		}
		if got := hazard(x); got != 0 || logNormalCDF(x) != 0 {
			t.Errorf("at %g: hazard %g, log cdf %g; want 0", x, got, logNormalCDF(x))
		}
	}
}
