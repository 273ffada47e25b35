package checkpoint

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRate(t *testing.T) {
	prior := DefaultPrior()
	nothing, err := prior.Fit(Exposure{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(nothing.PerHour-.01) > 1e-12 || !(nothing.Low > 0 && nothing.Low < .001 && nothing.High > .03 && nothing.High < .05) {
		t.Errorf("without a history: %+v", nothing)
	}
	quiet, err := prior.Fit(Exposure{Hours: 100})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(quiet.PerHour-.01/3) > 1e-12 || quiet.High >= nothing.High {
		t.Errorf("after 100 hours without a failure: %+v", quiet)
	}
	var e Exposure
	e.Add(3600, false)
	e.Add(1800, true)
	e.Add(-1, true)
	e.Add(math.NaN(), true)
	e.Add(math.Inf(1), true)
	if e != (Exposure{Hours: 1.5, Failures: 1}) {
		t.Errorf("exposure %+v", e)
	}
	some, err := prior.Fit(e)
	if err != nil {
		t.Fatal(err)
	}
	if law := some.Law(); law.Validate() != nil || law.PerHour != 1.5/51.5 {
		t.Errorf("law %+v", law)
	}
}

func TestRateCoversTheTrueOne(t *testing.T) {
	const perHour, hours, histories = .2, 100., 2000
	random := rand.New(rand.NewPCG(1, 2))
	inside, mean := 0, 0.
	for range histories {
		e := Exposure{Hours: hours}
		for at := random.ExpFloat64() / perHour; at < hours; at += random.ExpFloat64() / perHour {
			e.Failures++
		}
		r, err := Prior{Failures: .5, Hours: .5}.Fit(e)
		if err != nil {
			t.Fatal(err)
		}
		mean += r.PerHour / histories
		if r.Low <= perHour && perHour <= r.High {
			inside++
		}
	}
	if share := float64(inside) / histories; share < .87 || share > .94 {
		t.Errorf("the interval holds the true rate in %g of histories, want .9", share)
	}
	if math.Abs(mean-perHour) > .01 {
		t.Errorf("rates are %g on average, want %g", mean, perHour)
	}
}

func TestRateOfNonsense(t *testing.T) {
	for _, x := range []struct {
		prior Prior
		e     Exposure
	}{
		{Prior{}, Exposure{}},
		{Prior{Failures: math.NaN(), Hours: 1}, Exposure{}},
		{Prior{Failures: 1, Hours: math.Inf(1)}, Exposure{}},
		{DefaultPrior(), Exposure{Hours: -1}},
		{DefaultPrior(), Exposure{Hours: math.NaN()}},
		{DefaultPrior(), Exposure{Hours: 1, Failures: -1}},
	} {
		if r, err := x.prior.Fit(x.e); !errors.Is(err, ErrOption) {
			t.Errorf("%+v after %+v: %+v, %v", x.prior, x.e, r, err)
		}
	}
}
