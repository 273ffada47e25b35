package search

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
)

func TestUsableSupportsByClass(t *testing.T) {
	c := space(40)
	other := func(framework, algorithm string) model.Topic {
		return model.Topic{Infrastructure: "gcp", Framework: framework, Algorithm: algorithm}
	}
	same, framework := supportOf(c, other("spark", "sort"), 1, 4, 1), supportOf(c, other("spark", "join"), 2, 4, 1)
	algorithm, neither := supportOf(c, other("flink", "sort"), 3, 4, 1), supportOf(c, other("flink", "join"), 4, 4, 1)
	var many []Support
	for i := range MaxKarasuSupports + 5 {
		many = append(many, supportOf(c, spark, i, 4, 1))
	}
	for name, tc := range map[string]struct {
		supports []Support
		want     int
		first    int
	}{
		"same only":  {[]Support{neither, framework, same, algorithm}, 1, 2},
		"related":    {[]Support{neither, framework, algorithm}, 2, 1},
		"none":       {[]Support{neither}, 0, 0},
		"bounded":    {many, MaxKarasuSupports, 0},
		"no support": {nil, 0, 0},
	} {
		used, index := newSupportCache().usable(&Problem{Topic: spark, Supports: tc.supports})
		if len(used) != tc.want || len(index) != tc.want || tc.want > 0 && index[0] != tc.first {
			t.Errorf("%s: %d supports, indices %v; want %d from %d on", name, len(used), index, tc.want, tc.first)
		}
	}
}

// TestSharedModelIsUsed: weights that came with the support count, not the summary;
// bad ones fall back to it.
func TestSharedModelIsUsed(t *testing.T) {
	c := space(40)
	s := supportOf(c, spark, 1, 4, 1)
	fitted := supportModel(&s)
	if fitted.Model == nil || !(fitted.Scale > 0) {
		t.Fatalf("no model from the summary: %+v", fitted)
	}
	opposite := supportOf(c, spark, 1, 4, -1)
	w, err := gp.TrainSupport(opposite.Summary.Points)
	if err != nil {
		t.Fatal(err)
	}
	s.Model = w
	x := gp.AppendFeatures(nil, c[0].Configuration, c[0].Resources)
	shared := supportModel(&s)
	a, _, _ := fitted.Model.Posterior(x)
	b, _, _ := shared.Model.Posterior(x)
	if math.Abs(a[0]+b[0]) > 1e-6 || math.Abs(a[0]) < 0.1 {
		t.Errorf("posterior %g of the upside-down model, %g of the summary", b[0], a[0])
	}
	if shared.Scale != fitted.Scale {
		t.Errorf("scale %g, want the summary's %g", shared.Scale, fitted.Scale)
	}

	alone := Support{Summary: model.Summary{Topic: spark}, Model: w}
	if m := supportModel(&alone); m.Model == nil || m.Scale != 0 {
		t.Errorf("a model without a summary: %+v", m)
	}
	wide := *w
	wide.Dimensions = 1
	s.Model = &wide
	back := supportModel(&s)
	c0, _, _ := back.Model.Posterior(x)
	if c0[0] != a[0] {
		t.Errorf("bad weights: posterior %g, want the summary's %g", c0[0], a[0])
	}
}

// TestSupportCache: equal content is one entry, other content another, and the
// cache stays bounded.
func TestSupportCache(t *testing.T) {
	c := space(40)
	cache := newSupportCache()
	a, b := supportOf(c, spark, 1, 4, 1), supportOf(c, spark, 1, 4, 1)
	if cache.get(&a) != cache.get(&b) {
		t.Error("equal supports have two entries")
	}
	b.Summary.Points[1].LogRuntime += 1e-9
	if cache.get(&a) == cache.get(&b) {
		t.Error("different supports share an entry")
	}
	for i := range 3 * cachedSupports {
		s := supportOf(c[:6], spark, i, 2, 1)
		cache.get(&s)
	}
	if len(cache.entries) > cachedSupports {
		t.Errorf("%d entries, want at most %d", len(cache.entries), cachedSupports)
	}
	entry := cache.get(&a)
	for _, n := range []int{3, 7, 3} { // other candidates, other answers
		x := (&state{problem: &Problem{Candidates: c[:n]}}).features()
		got, _, err := entry.posterior(x, hashPoints(x))
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ := entry.Model.Posterior(x)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestKarasuUsesGoodSupports: the wrong way round costs, the right way round pays.
func TestKarasuUsesGoodSupports(t *testing.T) {
	c := space(60)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 5 * time.Minute, Seed: 3}
	p.Supports = []Support{supportOf(c, spark, 1, 6, -1), supportOf(c, spark, 2, 6, 1)}
	_, e := search(t, NewKarasu(), p, 7)
	if e.Weights[0].Support != 1 || e.Weights[0].Share < 0.5 {
		t.Errorf("weights %v: support 1 is the same job, 0 is upside down", e.Weights)
	}
	for _, w := range e.Weights {
		if w.Support == 0 && w.Share > 0.05 {
			t.Errorf("the upside-down support has %g", w.Share)
		}
	}
}

// TestFirstRunFollowsTheConsensus: two of three supports are enough for a first run
// that a blind one hardly finds.
func TestFirstRunFollowsTheConsensus(t *testing.T) {
	c := space(60)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 3 * time.Minute}
	p.Supports = []Support{supportOf(c, spark, 1, 6, -1), supportOf(c, spark, 2, 6, 1), supportOf(c, spark, 3, 6, 1)}
	e, err := NewKarasu().Evaluate(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEvaluation(p, nil, e); err != nil {
		t.Fatal(err)
	}
	rank := 0 // by true runtime
	for i := range c {
		if runtime(c[i], 1) < runtime(c[e.Next], 1) {
			rank++
		}
	}
	if rank > len(c)/3 {
		t.Errorf("the first run is on %s, %d candidates are faster", c[e.Next].Configuration, rank)
	}
	if w := e.Weights[len(e.Weights)-1]; w.Support != -1 || w.Share != 0 || len(e.Weights) != 4 {
		t.Errorf("weights %v, want equal ones of the supports", e.Weights)
	}
	failed, err := NewKarasu().Evaluate(p, []Observation{ran(c[e.Next], 0, model.Failed)})
	if err != nil {
		t.Fatal(err)
	}
	if failed.Next == e.Next || failed.Next < 0 {
		t.Errorf("after a failure the next one is %d", failed.Next)
	}
}

func TestLevelsDoNotMatter(t *testing.T) {
	c := space(40)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 5 * time.Minute, Seed: 3, Supports: []Support{supportOf(c, spark, 1, 5, 1)}}
	want, _ := search(t, NewKarasu(), p, 8)
	s := p.Supports[0]
	s.Summary.Absolute, s.Summary.Level = true, 9
	p.Supports = []Support{s}
	got, _ := search(t, NewKarasu(), p, 8)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkKarasu is one suggestion after nine runs: 69 candidates and supports with
// shared models of ten inputs. cold is with a method that has not seen them.
func BenchmarkKarasu(b *testing.B) {
	for _, supports := range []int{0, 3, 50} {
		c := space(69)
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 5 * time.Minute, Seed: 3}
		for i := range supports {
			s := supportOf(c, spark, i, 7, 1)
			w, err := gp.TrainSupport(s.Summary.Points)
			if err != nil {
				b.Fatal(err)
			}
			s.Model = w
			p.Supports = append(p.Supports, s)
		}
		var observed []Observation
		for i := range 9 {
			k := (i * 23) % len(c)
			observed = append(observed, ran(c[k], runtime(c[k], 500), model.OK))
		}
		run := func(b *testing.B, method func() Method) {
			for b.Loop() {
				if _, err := method().Evaluate(p, observed); err != nil {
					b.Fatal(err)
				}
			}
		}
		warm := NewKarasu()
		b.Run(fmt.Sprintf("supports=%d/warm", supports), func(b *testing.B) { run(b, func() Method { return warm }) })
		b.Run(fmt.Sprintf("supports=%d/cold", supports), func(b *testing.B) { run(b, func() Method { return NewKarasu() }) })
	}
}
