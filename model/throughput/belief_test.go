package throughput

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestOneSizeSaysNothingOfTheKnee(t *testing.T) {
	prior := Around([]Known{{2, 1}}, .5, .1)
	b := Posterior(Grown, prior, []Point{Measured(3, 1.5, 60)})
	for i := range prior {
		if math.Abs(b.Weights[i]-prior[i]) > 1e-12 {
			t.Fatalf("knee %g: weight %g, was %g", Knee(i), b.Weights[i], prior[i])
		}
	}
	if _, _, ok := (&Belief{}).LogSpeed(1); ok {
		t.Error("a speed without any measurement")
	}
	if mean, _, ok := b.LogSpeed(3); !ok || math.Abs(mean-1.5) > 1e-9 {
		t.Errorf("log speed %g where 1.5 was measured", mean)
	}
}

func TestPosteriorFindsTheKnee(t *testing.T) {
	for _, law := range []Law{Grown, Kept} {
		for _, knee := range []float64{.5, 2, 8} {
			var points []Point
			for _, u := range []float64{1, 2, 4, 8} {
				points = append(points, Measured(u, 3+law.logSpeed(u, knee), 30))
			}
			b := Posterior(law, Uniform(), points)
			log, sd := b.LogKnee()
			if math.Abs(log-math.Log(knee)) > .25 || !(sd < .4) {
				t.Errorf("law %d: knee %.2f (sd %.2f), want %g", law, math.Exp(log), sd, knee)
			}
			mean, _ := b.LogSpeedup(1, 4)
			if want := law.logSpeed(4, knee) - law.logSpeed(1, knee); math.Abs(mean-want) > .06 {
				t.Errorf("law %d, knee %g: log speed-up %.2f, want %.2f", law, knee, mean, want)
			}
			// The elasticity is the derivative.
			up, _ := b.LogSpeedup(3, 3*1.0001)
			if e := b.Elasticity(3); math.Abs(up/math.Log(1.0001)-e) > 1e-3 {
				t.Errorf("law %d: elasticity %g, derivative %g", law, e, up/math.Log(1.0001))
			}
		}
	}
}

func TestACapThatIsToldMakesOneSizeEnough(t *testing.T) {
	b := Posterior(Grown, Uniform(), []Point{Measured(1, math.Log(1/math.Hypot(1, 1./3)), 30)})
	b.Tell(math.Log(3), .15)
	if log, sd := b.LogKnee(); math.Abs(log-math.Log(3)) > .3 || !(sd < .7) {
		t.Errorf("knee %.2f (sd %.2f), want 3", math.Exp(log), sd)
	}
	if log, _, ok := b.LogCap(); !ok || math.Abs(log-math.Log(3)) > .3 {
		t.Errorf("cap %.2f, want 3", math.Exp(log))
	}
}

func TestACapThatSpeedsExceedIsNotBelieved(t *testing.T) {
	points := []Point{Measured(1, 2, 30)}
	alone, told := Posterior(Grown, Uniform(), points), Posterior(Grown, Uniform(), points)
	told.Tell(2-3, .15) // a twentieth of what was measured
	for i := range alone.Weights {
		if math.Abs(alone.Weights[i]-told.Weights[i]) > .01 {
			t.Fatalf("knee %g: %.3f with the cap, %.3f without", Knee(i), told.Weights[i], alone.Weights[i])
		}
	}
}

func TestResidualsTellWhereAJobKeepsToNoLaw(t *testing.T) {
	// Twice as fast at 2 units as at 1, a third at 4.
	points := []Point{Measured(1, 0, 30), Measured(2, .7, 30), Measured(4, -1, 30)}
	b := Posterior(Grown, Uniform(), points)
	var at []float64
	for i, r := range b.Residuals(points) {
		mean, _, _ := b.LogSpeed(points[i].Units)
		at = append(at, mean+r)
	}
	if !(at[1] > at[0] && at[0] > at[2]) {
		t.Errorf("log speeds %.2f, measured 0, .7 and -1", at)
	}
}

func TestAround(t *testing.T) {
	for name, w := range map[string]Weights{
		"uniform":        Uniform(),
		"no weight":      Around([]Known{{2, 0}}, .5, .1),
		"no number":      Around([]Known{{math.NaN(), 1}, {math.Inf(1), 1}, {0, 1}, {1, math.NaN()}}, .5, .1),
		"beyond the end": Around([]Known{{1e9, 1}}, .5, .1),
		"two":            Around([]Known{{1, 3}, {30, 1}}, .3, .2),
	} {
		if err := w.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Around(nil, 1, 0) != Uniform() {
		t.Error("nothing known is not uniform")
	}
	bad := Uniform()
	bad[3] = math.NaN()
	if bad.Validate() == nil || (Weights{}).Validate() == nil {
		t.Error("weights that are no probabilities pass")
	}
}

func TestPosteriorIsAlwaysADistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := rapid.SampledFrom([]Law{Grown, Kept}).Draw(t, "law")
		var points []Point
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			points = append(points, Measured(math.Exp(rapid.Float64Range(-3, 9).Draw(t, "u")), rapid.Float64Range(-50, 50).Draw(t, "speed"), rapid.Float64Range(.01, 60).Draw(t, "minutes")))
		}
		b := Posterior(law, Uniform(), points)
		b.Tell(rapid.Float64Range(-50, 50).Draw(t, "cap"), rapid.Float64Range(.01, 3).Draw(t, "sd"))
		if err := b.Weights.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Residuals(points) {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Fatalf("residual %g", r)
			}
		}
		l := NewLadder(law, []float64{.5, 1, 7, 100})
		for i, u := range l.Units {
			if e := b.Elasticity(u); math.Abs(e-l.Elasticity(&b, i)) > 1e-9 || e > 1 || e < -1 {
				t.Fatalf("elasticity %g, on the ladder %g", e, l.Elasticity(&b, i))
			}
			if s, _ := b.LogSpeedup(.5, u); math.Abs(s-(l.LogSpeed(&b, i)-l.LogSpeed(&b, 0))) > 1e-9 {
				t.Fatalf("speed-up %g differs on the ladder", s)
			}
		}
	})
}
