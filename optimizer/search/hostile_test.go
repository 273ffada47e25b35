package search

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
)

// hostileSupport draws a support that passes validation and holds the extremes that
// validation allows.
func hostileSupport(t *rapid.T, candidates []Candidate, k int) Support {
	one := func(label string, values ...float64) float64 { return rapid.SampledFrom(values).Draw(t, label) }
	s := model.Summary{
		Topic: spark, Pseudonym: fmt.Sprintf("%032x", k),
		InputSizeLog2: rapid.IntRange(0, 60).Draw(t, "input"), NoiseScale: one("noise", 0, 10, 5e-324),
	}
	if rapid.Bool().Draw(t, "absolute") {
		s.Absolute, s.Level = true, one("level", -25, 0, 25)
	}
	for j := range rapid.IntRange(1, 8).Draw(t, "points") {
		p := model.Point{
			Configuration: model.Configuration{MachineType: fmt.Sprint("z", j), ScaleOut: rapid.SampledFrom([]int{1, 4, model.MaxScaleOut}).Draw(t, "nodes")},
			Resources:     model.Resources{VCPUs: one("vcpus", 1./1024, 1, 4, 65536), MemoryGiB: one("memory", 1./1024, 1, 16, 1<<20)},
			LogRuntime:    one("log runtime", -12, -5e-324, 0, 12), OK: rapid.SampledFrom([]int{0, 1, 1_000_000}).Draw(t, "ok"), Failed: 1,
		}
		if rapid.Bool().Draw(t, "candidate") && j < len(candidates) {
			p.Configuration, p.Resources = candidates[j].Configuration, candidates[j].Resources
		}
		s.Points = append(s.Points, p)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("the summary is not valid, so this proves nothing: %v", err)
	}
	out := Support{Organisation: "x", Author: fmt.Sprint(k), Summary: s}
	if rapid.Bool().Draw(t, "model") {
		w := &gp.Weights{
			Dimensions: 3, LengthScales: []float64{one("scale", 1e-3, 1, 1e4), 1, 1e4},
			SignalSD: one("signal", 1e-3, 1e2), NoiseSD: one("noise sd", 1e-4, 1e2),
		}
		for range rapid.IntRange(1, 5).Draw(t, "inputs") {
			w.Inputs = append(w.Inputs, one("input", -1e3, 0, 1e3), one("input", -1e3, 0, 1e3), 1)
			w.Targets = append(w.Targets, one("target", -50, 0, 50))
		}
		out.Model = w
	}
	return out
}

// TestNoValidSupportStopsASearch: whatever a peer sends that passes validation, every
// method answers, with finite numbers that a duration can hold.
func TestNoValidSupportStopsASearch(t *testing.T) {
	candidates := space(9)
	methods := map[string]Method{}
	for _, name := range Names() {
		m, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		methods[name] = m
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &Problem{
			Topic: spark, Candidates: candidates, Objective: rapid.SampledFrom([]Objective{Cost, Runtime, Energy}).Draw(t, "objective"),
			Target: rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Minute, 24 * time.Hour}).Draw(t, "target"), Seed: 1,
		}
		for k := range rapid.IntRange(1, 5).Draw(t, "supports") {
			p.Supports = append(p.Supports, hostileSupport(t, candidates, k))
		}
		var observed []Observation
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			c := candidates[rapid.IntRange(0, len(candidates)-1).Draw(t, "ran")]
			observed = append(observed, ran(c, rapid.SampledFrom([]float64{0.01, 1, 100, 1e5, 1e8}).Draw(t, "seconds"),
				rapid.SampledFrom([]model.Outcome{model.OK, model.Timeout, model.Failed}).Draw(t, "outcome")))
		}
		for name, m := range methods {
			e, err := m.Evaluate(p, observed)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, q := range e.Predictions {
				for _, v := range []float64{q.LogMean, q.LogSD, q.RuntimeSeconds, q.LowSeconds, q.HighSeconds, q.MeetsTarget, q.Acquisition} {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s, candidate %d: %+v", name, i, q)
					}
				}
				if q.HighSeconds > time.Duration(math.MaxInt64).Seconds() {
					t.Fatalf("%s, candidate %d: %g s do not fit a duration", name, i, q.HighSeconds)
				}
			}
			for _, w := range e.Weights {
				if !(w.Share >= 0 && w.Share <= 1) {
					t.Fatalf("%s: a weight of %g", name, w.Share)
				}
			}
		}
	})
}
