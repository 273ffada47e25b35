package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
)

func TestNew(t *testing.T) {
	for _, name := range Names() {
		m, err := New(name)
		if err != nil || m.Name() != name {
			t.Errorf("New(%q) is %v, %v", name, m, err)
		}
	}
	if m, err := New(""); err != nil || m.Name() != Names()[0] {
		t.Errorf("the default is %v, %v; want %s", m, err, Names()[0])
	}
	if _, err := New("tea-leaves"); !errors.Is(err, ErrUnknownMethod) {
		t.Errorf("unknown: %v, want ErrUnknownMethod", err)
	}
}

// space is a grid of n configurations of machine types with 2 to 8 vCPUs and 2, 4 or
// 8 GiB each.
func space(n int) []Candidate {
	var c []Candidate
	for i := range n {
		cores, per := math.Exp2(float64(1+i%3)), math.Exp2(float64(1+i/3%3))
		c = append(c, Candidate{
			Configuration: model.Configuration{MachineType: fmt.Sprintf("m%g-%g", cores, per), ScaleOut: 2 + 2*(i/9)},
			Resources:     model.Resources{VCPUs: cores, MemoryGiB: cores * per},
			USDPerHour:    cores * (0.03 + 0.005*per), IdleWatts: 10, FullWatts: 40,
		})
	}
	return c
}

// runtime is a made-up job with overhead, a parallel part and too little memory.
func runtime(c Candidate, level float64) float64 {
	nodes := float64(c.Configuration.ScaleOut)
	s := level * (0.1 + 20/(nodes*c.Resources.VCPUs) + 0.004*nodes)
	if nodes*c.Resources.MemoryGiB < 60 {
		s *= 3
	}
	return s
}

var spark = model.Topic{Infrastructure: "aws", Framework: "spark", Algorithm: "sort"}

// supportOf is a workload like the made-up job, observed on every step-th candidate.
func supportOf(c []Candidate, topic model.Topic, id, step int, sign float64) Support {
	s := model.Summary{Topic: topic, Pseudonym: fmt.Sprintf("%032x", id)}
	var mean, n float64
	for i := id % step; i < len(c); i += step {
		y := sign * math.Log(runtime(c[i], 300))
		mean, n = mean+y, n+1
		s.Points = append(s.Points, model.Point{Configuration: c[i].Configuration, Resources: c[i].Resources, LogRuntime: y, OK: 1})
	}
	for i := range s.Points {
		s.Points[i].LogRuntime -= mean / n
	}
	return Support{Organisation: fmt.Sprint("org ", id), Summary: s}
}

func surrogateMethods() []Method {
	return []Method{NewKarasu(), NewKarasuTrees(), NewCherryPick(), NewArrow()}
}

func modelMethods() []Method { return append(surrogateMethods(), NewRandom()) }

// checkEvaluation holds for every method, problem and history.
func checkEvaluation(p *Problem, observed []Observation, e *Evaluation) error {
	if len(e.Predictions) != len(p.Candidates) {
		return fmt.Errorf("%d predictions, want %d", len(e.Predictions), len(p.Candidates))
	}
	for i, q := range e.Predictions {
		for _, v := range []float64{q.LogMean, q.LogSD, q.RuntimeSeconds, q.LowSeconds, q.HighSeconds, q.MeetsTarget, q.Acquisition} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("prediction %d: %+v", i, q)
			}
		}
		if q.LogSD <= 0 || q.LowSeconds > q.RuntimeSeconds || q.RuntimeSeconds > q.HighSeconds || q.MeetsTarget < 0 || q.MeetsTarget > 1 || q.Acquisition < 0 {
			return fmt.Errorf("prediction %d: %+v", i, q)
		}
	}
	share := 0.0
	for i, w := range e.Weights {
		share += w.Share
		if w.Support < -1 || w.Support >= len(p.Supports) || i > 0 && w.Share > e.Weights[i-1].Share {
			return fmt.Errorf("weights %v", e.Weights)
		}
	}
	if math.Abs(share-1) > 1e-9 {
		return fmt.Errorf("shares sum to %g", share)
	}
	tried := map[model.Configuration]bool{}
	for _, o := range observed {
		tried[o.Configuration] = true
	}
	left := slices.ContainsFunc(p.Candidates, func(c Candidate) bool {
		_, known := c.LogOffset(p.Objective)
		return known && !tried[c.Configuration]
	})
	switch {
	case e.Next == -1:
		if left || !e.Stop || e.Reason == "" {
			return fmt.Errorf("nothing to try, stop %v %q, although candidates are left: %v", e.Stop, e.Reason, left)
		}
	case e.Next < 0 || e.Next >= len(p.Candidates):
		return fmt.Errorf("next is %d", e.Next)
	case tried[p.Candidates[e.Next].Configuration]:
		return fmt.Errorf("%s suggested again", p.Candidates[e.Next].Configuration)
	default:
		if _, known := p.Candidates[e.Next].LogOffset(p.Objective); !known {
			return fmt.Errorf("%s of unknown %s suggested", p.Candidates[e.Next].Configuration, p.Objective)
		}
	}
	return nil
}

// TestMethodsUntilExhausted searches small random spaces to their end, with
// failures, timeouts, unknown prices and supports of any kind.
func TestMethodsUntilExhausted(t *testing.T) {
	methods := modelMethods()
	rapid.Check(t, func(rt *rapid.T) {
		c := space(rapid.IntRange(1, 12).Draw(rt, "candidates"))
		p := &Problem{
			Topic: spark, Candidates: c, Seed: rapid.Uint64().Draw(rt, "seed"),
			Objective: rapid.SampledFrom([]Objective{Cost, Runtime, Energy}).Draw(rt, "objective"),
			Target:    rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute, 300 * time.Hour}).Draw(rt, "target"),
		}
		if len(c) > 2 && rapid.Bool().Draw(rt, "unknown") {
			c[1].USDPerHour, c[1].FullWatts = 0, 0
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "supports") {
			sign := rapid.SampledFrom([]float64{1, -1}).Draw(rt, "sign")
			p.Supports = append(p.Supports, supportOf(c, spark, i, 2, sign))
		}
		level := rapid.SampledFrom([]float64{0.1, 100, 1e6}).Draw(rt, "level")
		for _, m := range methods {
			var observed []Observation
			for range len(c) + 1 {
				e, err := m.Evaluate(p, observed)
				if err != nil {
					rt.Fatalf("%s after %d runs: %v", m.Name(), len(observed), err)
				}
				if err := checkEvaluation(p, observed, e); err != nil {
					rt.Fatalf("%s after %d runs: %v", m.Name(), len(observed), err)
				}
				if e.Next < 0 {
					break
				}
				outcome := rapid.SampledFrom([]model.Outcome{model.OK, model.OK, model.OK, model.Timeout, model.Failed}).Draw(rt, "outcome")
				observed = append(observed, ran(c[e.Next], runtime(c[e.Next], level), outcome))
			}
		}
	})
}

// search runs n evaluations and returns the candidates tried.
func search(t testing.TB, m Method, p *Problem, n int) (tried []int, last *Evaluation) {
	t.Helper()
	var observed []Observation
	for range n {
		e, err := m.Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		last = e
		if e.Next < 0 {
			break
		}
		tried = append(tried, e.Next)
		observed = append(observed, ran(p.Candidates[e.Next], runtime(p.Candidates[e.Next], 500), model.OK))
	}
	return tried, last
}

func TestMethodsAreDeterministic(t *testing.T) {
	c := space(40)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, Seed: 4}
	for i := range 5 {
		p.Supports = append(p.Supports, supportOf(c, spark, i, 5, 1))
	}
	for _, name := range []string{"karasu", "karasu-trees", "cherrypick", "arrow", "random"} {
		t.Run(name, func(t *testing.T) {
			used, err := New(name)
			if err != nil {
				t.Fatal(err)
			}
			wantTried, wantLast := search(t, used, p, 8)
			var wg sync.WaitGroup
			for range 4 { // one value, warm, from several goroutines
				wg.Go(func() {
					tried, last := search(t, used, p, 8)
					if diff := cmp.Diff(wantTried, tried) + cmp.Diff(wantLast, last); diff != "" {
						t.Error(diff)
					}
				})
			}
			wg.Wait()
			fresh, _ := New(name)
			tried, last := search(t, fresh, p, 8)
			if diff := cmp.Diff(wantTried, tried) + cmp.Diff(wantLast, last); diff != "" {
				t.Errorf("a fresh method differs from a warm one:\n%s", diff)
			}
			other := *p
			other.Seed++
			if tried, last := search(t, fresh, &other, 8); slices.Equal(tried, wantTried) && cmp.Equal(last, wantLast) {
				t.Error("the seed changes nothing")
			}
		})
	}
}

func TestMethodsRefuse(t *testing.T) {
	c := grid()
	free := grid()
	for i := range free {
		free[i].USDPerHour = 0
	}
	for _, m := range modelMethods() {
		for name, want := range map[string]struct {
			p        *Problem
			observed []Observation
			err      error
		}{
			"no candidates": {&Problem{Objective: Cost}, nil, ErrNoCandidates},
			"no price":      {&Problem{Candidates: free, Objective: Cost}, nil, ErrUnknownPrice},
			"NaN runtime":   {&Problem{Candidates: c, Objective: Cost}, []Observation{ran(c[0], math.NaN(), model.OK)}, model.ErrInvalid},
			"zero runtime":  {&Problem{Candidates: c, Objective: Cost}, []Observation{ran(c[0], 0, model.OK)}, model.ErrInvalid},
		} {
			if _, err := m.Evaluate(want.p, want.observed); !errors.Is(err, want.err) {
				t.Errorf("%s, %s: %v, want %v", m.Name(), name, err, want.err)
			}
		}
	}
}

// TestSearchFindsTheOptimum: on a smooth job, the model methods come within 10% of the
// cheapest valid configuration in ten of 60 runs, on average.
func TestSearchFindsTheOptimum(t *testing.T) {
	c := space(60)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 5 * time.Minute}
	cost := func(i int) float64 {
		s := runtime(c[i], 500)
		if s > p.Target.Seconds() {
			return math.Inf(1)
		}
		return s * c[i].USDPerHour * float64(c[i].Configuration.ScaleOut)
	}
	optimum := math.Inf(1)
	for i := range c {
		optimum = min(optimum, cost(i))
	}
	for i := range 3 {
		p.Supports = append(p.Supports, supportOf(c, spark, i, 6, 1))
	}
	for _, m := range surrogateMethods() {
		var excess float64
		for seed := range uint64(10) {
			p.Seed = seed
			tried, last := search(t, m, p, 11)
			best := math.Inf(1)
			for _, i := range tried[:10] {
				best = min(best, cost(i))
			}
			excess += (best/optimum - 1) / 10
			if last.Incumbent < 0 || cost(last.Incumbent) != best {
				t.Errorf("%s, seed %d: incumbent %d is not the best one tried", m.Name(), seed, last.Incumbent)
			}
		}
		if excess > 0.1 {
			t.Errorf("%s: %.0f%% above the optimum after 10 runs, on average", m.Name(), 100*excess)
		}
	}
}

func TestFailuresLowerTheOdds(t *testing.T) {
	c := grid()
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Hour, Seed: 1}
	for _, m := range surrogateMethods() {
		observed := []Observation{ran(c[5], 100, model.OK)}
		before, err := m.Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		after, err := m.Evaluate(p, append(observed, ran(c[1], 0, model.Failed))) // 2 x small
		if err != nil {
			t.Fatal(err)
		}
		if after.Predictions[0].Acquisition >= before.Predictions[0].Acquisition {
			t.Errorf("%s: 1 x small is as attractive after 2 x small failed", m.Name())
		}
		if after.Predictions[4].Acquisition != before.Predictions[4].Acquisition {
			t.Errorf("%s: 2 x large suffers from the failure of 2 x small", m.Name())
		}
	}
}

// TestNothingValidGoesOn: a hopeless search says so, and still suggests what is left.
func TestNothingValidGoesOn(t *testing.T) {
	c := space(20)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Millisecond}
	for _, m := range surrogateMethods() {
		tried, e := search(t, m, p, 10)
		if e.Incumbent != -1 || e.Next < 0 || !e.Stop || !strings.HasPrefix(e.Reason, "probably no candidate") || len(tried) != 10 {
			t.Errorf("%s: incumbent %d, next %d, stop %v (%s) after %d runs over the target", m.Name(), e.Incumbent, e.Next, e.Stop, e.Reason, len(tried))
		}
	}
}

func TestRuntimeOutsideCandidatesCounts(t *testing.T) {
	c := space(30)
	gone := Candidate{Configuration: model.Configuration{MachineType: "gone", ScaleOut: 4}, Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}}
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Hour}
	without := []Observation{ran(c[3], 400, model.OK), ran(c[20], 300, model.OK)}
	for _, m := range surrogateMethods() {
		a, err := m.Evaluate(p, without)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Evaluate(p, append(without, ran(gone, 50, model.OK)))
		if err != nil {
			t.Fatal(err)
		}
		if b.Incumbent != a.Incumbent {
			t.Errorf("%s: the incumbent is no candidate", m.Name())
		}
		if b.Predictions[9].LogMean >= a.Predictions[9].LogMean {
			t.Errorf("%s: a fast run elsewhere changes no prediction", m.Name())
		}
	}
}

// TestLimitsOfSurrogateMethods: a budget and a confidence hold for what these methods
// suggest and answer with.
func TestLimitsOfSurrogateMethods(t *testing.T) {
	c := space(40)
	p := &Problem{Topic: spark, Candidates: c, Objective: Runtime, Seed: 2}
	usd := func(i int) float64 {
		return runtime(c[i], 500) / 3600 * c[i].USDPerHour * float64(c[i].Configuration.ScaleOut)
	}
	var all []float64
	for i := range c {
		all = append(all, usd(i))
	}
	p.BudgetUSD = median(all)
	for _, m := range surrogateMethods() {
		tried, e := search(t, m, p, 10)
		kept := 0
		for _, i := range tried[4:] {
			if usd(i) <= p.BudgetUSD {
				kept++
			}
		}
		if e.Incumbent < 0 || usd(e.Incumbent) > p.BudgetUSD || kept < 4 {
			t.Errorf("%s: the incumbent is %d, %d of the last 6 runs keep to the budget", m.Name(), e.Incumbent, kept)
		}
		sure := *p
		sure.Confidence = .95
		last := ran(c[e.Incumbent], runtime(c[e.Incumbent], 500)*p.BudgetUSD/usd(e.Incumbent)*.999, model.OK)
		answer, err := m.Evaluate(&sure, []Observation{last})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Incumbent >= 0 {
			t.Errorf("%s: sure of a run that barely kept to the budget", m.Name())
		}
	}
}

// TestKarasuTreesAloneIsArrow: without usable supports the two agree exactly.
func TestKarasuTreesAloneIsArrow(t *testing.T) {
	c := space(40)
	broken := supportOf(c, spark, 1, 4, 1)
	broken.Summary.Points[2].LogRuntime = math.NaN()
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, Seed: 7}
	want, wantLast := search(t, NewArrow(), p, 9)
	p.Supports = []Support{broken, supportOf(c[:4], spark, 2, 2, 1), {}}
	got, gotLast := search(t, NewKarasuTrees(), p, 9)
	if diff := cmp.Diff(want, got) + cmp.Diff(wantLast, gotLast); diff != "" {
		t.Error(diff)
	}
}

// TestKarasuTreesTellGoodFromBad: a support that is upside down loses its weight.
func TestKarasuTreesTellGoodFromBad(t *testing.T) {
	c := space(40)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, Seed: 7}
	p.Supports = []Support{supportOf(c, spark, 1, 4, -1), supportOf(c, spark, 2, 4, 1)}
	_, e := search(t, NewKarasuTrees(), p, 8)
	share := map[int]float64{}
	for _, w := range e.Weights {
		share[w.Support] = w.Share
	}
	if share[0] > .05 || share[1] < .3 {
		t.Errorf("shares %v: want none for the first support, some for the second", share)
	}
}

// TestKarasuAloneIsCherryPick: without usable supports the two agree exactly.
func TestKarasuAloneIsCherryPick(t *testing.T) {
	c := space(40)
	unrelated := model.Topic{Infrastructure: "aws", Framework: "flink", Algorithm: "grep"}
	broken := supportOf(c, spark, 1, 4, 1)
	broken.Summary.Points[2].LogRuntime = math.NaN()
	broken.Model = &gp.Weights{Dimensions: 3, SignalSD: math.NaN()}
	thin := supportOf(c[:4], spark, 2, 2, 1)
	for name, supports := range map[string][]Support{
		"none":      nil,
		"unrelated": {supportOf(c, unrelated, 1, 4, 1)},
		"unusable":  {broken, thin, {}},
	} {
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, Seed: 7, Supports: supports}
		want, wantLast := search(t, NewCherryPick(), p, 9)
		got, gotLast := search(t, NewKarasu(), p, 9)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantLast, gotLast); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
