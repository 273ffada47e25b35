package simulator

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
)

func candidates(t *testing.T) []search.Candidate {
	t.Helper()
	space, err := catalog.Builtin().DefaultSpace("aws-ec2", false)
	if err != nil {
		t.Fatal(err)
	}
	return search.FromCatalog(space)
}

func TestRunsAreValid(t *testing.T) {
	runs := Runs(Workloads("aws-ec2", 27, 1), candidates(t), 0, 1)
	if len(runs) != 27*90 {
		t.Fatalf("%d runs, want %d", len(runs), 27*90)
	}
	short, long, failed := math.Inf(1), 0.0, 0
	for _, r := range runs {
		if err := r.Validate(); err != nil {
			t.Fatalf("%s on %s: %v", r.Workload.Job, r.Configuration, err)
		}
		if r.Outcome == model.Failed {
			failed++
			continue
		}
		short, long = min(short, r.RuntimeSeconds), max(long, r.RuntimeSeconds)
	}
	if short < 20 || long > 100*3600 {
		t.Errorf("runtimes from %.0f s to %.0f s", short, long)
	}
	if failed == 0 || failed > len(runs)/10 {
		t.Errorf("%d of %d runs failed, want a few", failed, len(runs))
	}
}

func TestRunsAreDeterministic(t *testing.T) {
	cs := candidates(t)
	a := Runs(Workloads("aws-ec2", 9, 3), cs, 12, 3)
	b := Runs(Workloads("aws-ec2", 20, 3)[:9], cs, 12, 3)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the same seed differs: %s", d)
	}
	if cmp.Equal(a, Runs(Workloads("aws-ec2", 9, 4), cs, 12, 4)) {
		t.Error("another seed makes the same runs")
	}
	seen := map[string]bool{}
	for _, r := range a {
		seen[r.Workload.Job+r.Configuration.String()] = true
	}
	if len(seen) != 9*12 {
		t.Errorf("%d different runs of %d: drawn with replacement", len(seen), 9*12)
	}
}

func TestRuntimeFollowsTheFormula(t *testing.T) {
	w := Workload{SerialSeconds: 10, CoreSeconds: 6400, ShuffleSeconds: 80, SyncSeconds: 2, WorkingSetGiB: 96, SpillPenalty: 3}
	at := func(machine string, nodes int, gib float64) search.Candidate {
		return search.Candidate{
			Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes},
			Resources:     model.Resources{VCPUs: 4, MemoryGiB: gib},
		}
	}
	for _, tt := range []struct {
		name string
		c    search.Candidate
		want float64
		ok   bool
	}{
		{"fits", at("m", 8, 32), 10 + 200 + 10 + 6, true},
		{"fits just", at("m", 8, 20), 10 + 200 + 10 + 6, true},
		{"half fits", at("m", 8, 10), 10 + 200 + 10 + 6 + 3*.5*200, true},
		{"does not run", at("m", 8, 1.9), 10 + 200 + 10 + 6 + 3*.905*200, false},
		{"faster cores", at("c", 8, 32), 10 + 200/1.15 + 10 + 6, true},
		{"one node", at("m", 1, 320), 10 + 1600 + 80, true},
	} {
		if got, ok := w.Runtime(tt.c); math.Abs(got-tt.want) > 1e-9 || ok != tt.ok {
			t.Errorf("%s: %g s, %v; want %g, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestNoiseIsSmallAndCentred(t *testing.T) {
	w, c := Workloads("aws-ec2", 1, 1)[0], candidates(t)[40]
	exact, _ := w.Runtime(c)
	sum, squares := 0.0, 0.0
	const n = 4000
	for seed := range uint64(n) {
		z := math.Log(w.Run(c, seed).RuntimeSeconds / exact)
		sum, squares = sum+z, squares+z*z
	}
	if mean, sd := sum/n, math.Sqrt(squares/n); math.Abs(mean) > .005 || math.Abs(sd-noiseSD) > .005 {
		t.Errorf("log noise has mean %.4f and sd %.4f, want 0 and %.2f", mean, sd, noiseSD)
	}
}

// Workloads of one algorithm must resemble each other more than those of others,
// or a demonstration of sharing shows nothing.
func TestAlgorithmsAreAlike(t *testing.T) {
	cs, profiles := candidates(t), Profiles()
	shape := func(w Workload) []float64 {
		out, mean := make([]float64, len(cs)), 0.0
		for i, c := range cs {
			s, _ := w.Runtime(c)
			out[i] = math.Log(s)
			mean += out[i] / float64(len(cs))
		}
		for i := range out {
			out[i] -= mean
		}
		return out
	}
	distance := func(a, b []float64) float64 {
		d := 0.0
		for i := range a {
			d += (a[i] - b[i]) * (a[i] - b[i])
		}
		return d
	}
	ws := Workloads("aws-ec2", 5*len(profiles), 1)
	same, other, nSame, nOther := 0.0, 0.0, 0.0, 0.0
	for i, a := range ws {
		for _, b := range ws[:i] {
			d := distance(shape(a), shape(b))
			if a.Topic() == b.Topic() {
				same, nSame = same+d, nSame+1
			} else {
				other, nOther = other+d, nOther+1
			}
		}
	}
	if same/nSame > .8*other/nOther {
		t.Errorf("mean distance within an algorithm %.2f, between algorithms %.2f", same/nSame, other/nOther)
	}
}
