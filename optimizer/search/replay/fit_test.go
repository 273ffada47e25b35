package replay

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestFitCalibrationFindsTheTruth: outcomes drawn by a known calibration give it back.
func TestFitCalibrationFindsTheTruth(t *testing.T) {
	want := BetaCalibration{Level: .4, Low: 1.3, High: .8}
	o := &Outcomes{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 400_000 {
		p := r.Float64()
		met := r.Float64() < want.Stated(p)
		o.All.add(p, met)
		o.Suggested.add(p, met)
	}
	got, err := FitCalibration([]*Outcomes{o})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]float64{"level": got.Level - want.Level, "low": got.Low - want.Low, "high": got.High - want.High} {
		if math.Abs(d) > .03 {
			t.Errorf("%s is off by %g: %+v, want %+v", name, d, got, want)
		}
	}
	for _, b := range o.All.Bins(got.Stated) {
		if math.Abs(b.Error()) > .01 {
			t.Errorf("stated %.3f, met %.3f", b.Stated, b.Met)
		}
	}
}

func TestFitCalibrationErrors(t *testing.T) {
	upside := &Outcomes{}
	for i := range 1000 {
		p := (float64(i) + .5) / 1000
		for range 10 {
			upside.All.add(p, i < 500)
			upside.Suggested.add(p, i%3 == 0)
		}
	}
	for name, o := range map[string]*Outcomes{"none": {}, "upside down": upside} {
		if b, err := FitCalibration([]*Outcomes{o}); !errors.Is(err, ErrFit) {
			t.Errorf("%s: %+v, error %v", name, b, err)
		}
	}
}

// TestRunOutcomesCountsWhatCalibrationCounts: before and after calibration there are as
// many predictions that were kept.
func TestRunOutcomesCountsWhatCalibrationCounts(t *testing.T) {
	c := smallConfig()
	c.Methods = c.Methods[:1]
	c.Scenarios = Scenarios()[:2]
	o, err := RunOutcomes(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunCalibration(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	met, counted := 0., 0
	for _, b := range r.Rows[len(r.Rows)-1].Suggested {
		met += b.Met * float64(b.N)
	}
	for i := range o.Suggested {
		counted += o.Suggested[i].Met
	}
	if certain := met - float64(counted); certain < -1e-6 || counted == 0 {
		t.Errorf("%d suggestions met the target, or %g", counted, met)
	}
	c.Methods = nil
	if _, err := RunOutcomes(context.Background(), c); !errors.Is(err, ErrFit) {
		t.Errorf("no method: %v", err)
	}
}
