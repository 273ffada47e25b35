package search

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
)

// grid is two machine types by scale-outs 1, 2, 4.
func grid() []Candidate {
	var c []Candidate
	for _, m := range []struct {
		name       string
		cores, gib float64
		usd        float64
	}{{"small", 2, 8, 0.1}, {"large", 2, 32, 0.2}} {
		for _, n := range []int{1, 2, 4} {
			c = append(c, Candidate{
				Configuration: model.Configuration{MachineType: m.name, ScaleOut: n},
				Resources:     model.Resources{VCPUs: m.cores, MemoryGiB: m.gib}, USDPerHour: m.usd,
				IdleWatts: 10, FullWatts: 30,
			})
		}
	}
	return c
}

func ran(c Candidate, seconds float64, outcome model.Outcome) Observation {
	return Observation{Configuration: c.Configuration, Resources: c.Resources, Outcome: outcome, RuntimeSeconds: seconds}
}

func TestHistoryCombinesRuns(t *testing.T) {
	c := grid()
	p := &Problem{Candidates: c, Objective: Cost}
	var ten []Observation
	for range 10 {
		ten = append(ten, ran(c[0], 100, model.OK))
	}
	h, err := newHistory(p, ten)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.points) != 1 || h.points[0].runs != 10 || h.points[0].candidate != 0 {
		t.Fatalf("ten runs of one configuration: %+v", h.points)
	}
	if got := h.points[0].noiseVar; !(got < 0.001) {
		t.Errorf("ten equal runs leave variance %g, want below a tenth of one run's", got)
	}

	h, err = newHistory(p, []Observation{ran(c[0], 50, model.OK), ran(c[0], 200, model.OK)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.points[0].logRuntime, math.Log(100); math.Abs(got-want) > 1e-12 {
		t.Errorf("log runtime %g, want %g", got, want)
	}
	if got := h.points[0].noiseVar; !(got > 0.05) {
		t.Errorf("two runs a factor of 4 apart leave variance %g: their spread is ignored", got)
	}
}

func TestHistoryFailures(t *testing.T) {
	c := grid() // 0..2 small x 1, 2, 4; 3..5 large x 1, 2, 4
	p := &Problem{Candidates: c, Objective: Cost}
	h, err := newHistory(p, []Observation{ran(c[1], 0, model.Failed)})
	if err != nil {
		t.Fatal(err)
	}
	if !h.tried[1] || len(h.points) != 0 {
		t.Errorf("a failed run: tried %v, points %v", h.tried[1], h.points)
	}
	for i, want := range []float64{failureFactor, failureFactor, 1, 1, 1, 1} {
		if h.success[i] != want {
			t.Errorf("%s: success factor %g, want %g", c[i].Configuration, h.success[i], want)
		}
	}
	// The same memory works on one node of it: the failure was not for memory.
	h, err = newHistory(p, []Observation{ran(c[1], 0, model.Failed), ran(c[0], 80, model.OK)})
	if err != nil {
		t.Fatal(err)
	}
	if h.success[1] != 1 {
		t.Errorf("success factor %g after less memory was enough, want 1", h.success[1])
	}
	// One failure among results does not exclude.
	h, err = newHistory(p, []Observation{ran(c[1], 0, model.Failed), ran(c[1], 80, model.OK)})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.points) != 1 || h.points[0].timedOut {
		t.Errorf("failed once, completed once: %+v", h.points)
	}
}

func TestHistoryTimeoutIsNotValid(t *testing.T) {
	c := grid()
	h, err := newHistory(&Problem{Candidates: c}, []Observation{ran(c[0], 100, model.Timeout)})
	if err != nil {
		t.Fatal(err)
	}
	if h.points[0].meets(math.Inf(1)) {
		t.Error("a timed-out run counts as a valid answer")
	}
}

func TestHistoryOutsideCandidates(t *testing.T) {
	c := grid()
	out := Candidate{Configuration: model.Configuration{MachineType: "gone", ScaleOut: 3}, Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}}
	h, err := newHistory(&Problem{Candidates: c}, []Observation{ran(out, 100, model.OK)})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.points) != 1 || h.points[0].candidate != -1 || h.points[0].resources != out.Resources {
		t.Errorf("a run outside the candidates: %+v", h.points)
	}
	if _, err := newHistory(&Problem{Candidates: c}, []Observation{{Configuration: out.Configuration, Outcome: model.OK, RuntimeSeconds: 1}}); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("unknown resources outside the candidates: error %v", err)
	}
}

func TestHistoryRefuses(t *testing.T) {
	c := grid()
	for _, s := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300} {
		if _, err := newHistory(&Problem{Candidates: c}, []Observation{ran(c[0], s, model.OK)}); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("runtime %g: error %v, want model.ErrInvalid", s, err)
		}
	}
}

func TestHistoryBoundsOutliers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := grid()
		n := rapid.IntRange(3, len(c)).Draw(t, "n")
		var obs []Observation
		for i := range n {
			obs = append(obs, ran(c[i], math.Exp(rapid.Float64Range(-6, 19).Draw(t, "y")), model.OK))
		}
		h, err := newHistory(&Problem{Candidates: c}, obs)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for i, q := range h.points {
			lo, hi = min(lo, q.logRuntime), max(hi, q.logRuntime)
			if raw := math.Log(obs[i].RuntimeSeconds); q.logRuntime != raw && !(q.noiseVar > runNoiseSD*runNoiseSD) {
				t.Fatalf("cut from %g to %g without wider noise", raw, q.logRuntime)
			}
		}
		if hi-lo > 2*outlierBound+1e-9 {
			t.Fatalf("log runtimes spread over %g", hi-lo)
		}
	})
}
