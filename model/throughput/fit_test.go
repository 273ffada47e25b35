package throughput

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// steps are samples of known coefficients.
func steps(mode Mode, c [Terms]float64, settings []Setting) []Sample {
	var out []Sample
	for _, s := range settings {
		out = append(out, Sample{Setting: s, StepSeconds: stepSeconds(c, mode.features(s)), Minutes: 10})
	}
	return out
}

// grid of settings that tells all terms apart.
func settings(mode Mode) []Setting {
	var out []Setting
	for _, w := range []int{1, 2, 5, 12} {
		for _, batch := range []float64{16, 256} {
			for _, p := range []int{1, 3} {
				for _, cores := range []float64{2, 8} {
					s := Setting{Workers: w, Servers: p, WorkerCores: cores, ServerCores: 10 - cores, Batch: batch, ModelBytes: 1e8, EmbeddingBytes: 1e3, Bandwidth: 1e8 * cores}
					if !mode.Servers() {
						s.Servers = 0
					}
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func TestFitFindsTheTerms(t *testing.T) {
	for _, mode := range []Mode{Sync, Async, AllReduce} {
		c := [Terms]float64{.01, 2e-5, .004, .02, 3e-4}
		if mode == AllReduce {
			c[Embedding] = 0
		}
		m, err := Fit(mode, steps(mode, c, settings(mode)), Prior{})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c {
			if math.Abs(m.Coefficients[i]-want) > 1e-3*want+1e-12 {
				t.Errorf("%s: %s is %g, want %g", mode, Term(i), m.Coefficients[i], want)
			}
		}
		s := Setting{Workers: 7, Servers: 2, WorkerCores: 4, ServerCores: 4, Batch: 64, ModelBytes: 1e8, EmbeddingBytes: 1e3, Bandwidth: 1e8}
		seconds, sd := m.StepSeconds(s)
		if want := stepSeconds(c, mode.features(s)); math.Abs(seconds/want-1) > 1e-3 || !(sd >= MisfitSD && sd < .2) {
			t.Errorf("%s: predicts %g s (sd %g), want %g", mode, seconds, sd, want)
		}
		if speed, _ := m.SamplesPerSecond(s); math.Abs(speed*seconds/7/64-1) > 1e-9 {
			t.Errorf("%s: %g samples a second do not fit a step of %g s", mode, speed, seconds)
		}
	}
}

func TestTermsThatReportsDoNotTellApartAreLeftOut(t *testing.T) {
	var samples []Sample
	for _, w := range []int{1, 2, 4, 8} {
		samples = append(samples, Sample{Setting: Setting{Workers: w, Servers: 1, Batch: 32}, StepSeconds: math.Hypot(1, .2*float64(w))})
	}
	m, err := Fit(Async, samples, Prior{})
	if err != nil {
		t.Fatal(err)
	}
	if want := [Terms]bool{Constant: true, Update: true}; m.Used != want {
		t.Errorf("used %v, want constant and update", m.Used)
	}
	log, sd, ok := m.LogCap(samples[0].Setting)
	if !ok || math.Abs(log-math.Log(5)) > .01 || !(sd > 0) {
		t.Errorf("cap exp(%g) with sd %g, want 5 pushes a second", log, sd)
	}
	if _, _, ok := (&Model{Mode: AllReduce}).LogCap(samples[0].Setting); ok {
		t.Error("all-reduce has no cap")
	}
}

func TestACapFromElsewhereTellsTheRestFromOneSample(t *testing.T) {
	one := []Sample{{Setting: Setting{Workers: 2, Servers: 1}, StepSeconds: math.Hypot(1, .4), Minutes: 5}}
	m, err := Fit(Async, one, CapPrior(math.Log(5), .15, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{1, 4, 8, 16} {
		got, sd := m.StepSeconds(Setting{Workers: w, Servers: 1})
		if want := math.Hypot(1, .2*float64(w)); math.Abs(got/want-1) > .02 || !(sd < .4) {
			t.Errorf("%d workers: %.3f s (sd %.2f), want %.3f", w, got, sd, want)
		}
	}
	// Two servers take twice the pushes.
	p := CapPrior(math.Log(5), .15, 2, 0)
	if want := 4. / 25; math.Abs(p[Update].Value-want) > 1e-9 {
		t.Errorf("coefficient %g of a cap of 5 pushes with two servers, want %g", p[Update].Value, want)
	}
}

func TestUncertaintyGrowsAwayFromTheSamples(t *testing.T) {
	var samples []Sample
	for _, w := range []int{1, 2, 3} {
		samples = append(samples, Sample{Setting: Setting{Workers: w, Servers: 1}, StepSeconds: math.Hypot(1, .2*float64(w))})
	}
	m, err := Fit(Sync, samples, Prior{})
	if err != nil {
		t.Fatal(err)
	}
	_, near := m.StepSeconds(Setting{Workers: 2, Servers: 1})
	_, far := m.StepSeconds(Setting{Workers: 30, Servers: 1})
	if !(far > 1.5*near) {
		t.Errorf("sd %.3f at 2 workers and %.3f at 30", near, far)
	}
}

func TestFitRefusesWhatCannotBe(t *testing.T) {
	good := Sample{Setting: Setting{Workers: 1, Servers: 1}, StepSeconds: 1}
	for name, change := range map[string]func(*Sample){
		"no step":      func(s *Sample) { s.StepSeconds = 0 },
		"NaN":          func(s *Sample) { s.StepSeconds = math.NaN() },
		"no workers":   func(s *Sample) { s.Workers = 0 },
		"negative":     func(s *Sample) { s.Batch = -1 },
		"NaN minutes":  func(s *Sample) { s.Minutes = math.NaN() },
		"endless link": func(s *Sample) { s.Bandwidth = math.Inf(1) },
	} {
		bad := good
		change(&bad)
		if _, err := Fit(Sync, []Sample{good, bad}, Prior{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Fit(Sync, nil, Prior{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no samples: %v", err)
	}
	if _, err := Fit("ring", []Sample{good}, Prior{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no mode: %v", err)
	}
}

func TestFitNeverPredictsNoNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]Mode{Sync, Async, AllReduce}).Draw(t, "mode")
		var samples []Sample
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			samples = append(samples, Sample{
				Setting: Setting{
					Workers: rapid.IntRange(1, 1000).Draw(t, "w"), Servers: rapid.IntRange(0, 10).Draw(t, "p"),
					Batch: rapid.SampledFrom([]float64{0, 1, 1e6}).Draw(t, "batch"), Bandwidth: rapid.SampledFrom([]float64{0, 1, 1e12}).Draw(t, "bandwidth"),
				},
				StepSeconds: math.Exp(rapid.Float64Range(-15, 15).Draw(t, "log step")),
			})
		}
		var prior Prior
		if rapid.Bool().Draw(t, "prior") {
			prior = CapPrior(rapid.Float64Range(-15, 15).Draw(t, "cap"), .2, 1, 0)
		}
		m, err := Fit(mode, samples, prior)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		for _, s := range samples {
			if seconds, sd := m.StepSeconds(s.Setting); !(seconds >= 0) || math.IsInf(seconds, 0) || !(sd > 0) || math.IsInf(sd, 0) {
				t.Fatalf("%+v: %g s, sd %g", s.Setting, seconds, sd)
			}
		}
	})
}
