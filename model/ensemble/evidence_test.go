package ensemble

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

func machine(family string, cores, nodes float64) Point {
	perCore := map[string]float64{"c": 1.875, "m": 4, "r": 7.625}[family]
	return Point{Nodes: nodes, CoresPerNode: cores, GiBPerNode: perCore * cores}
}

func logs(seconds ...float64) []float64 {
	for i, s := range seconds {
		seconds[i] = math.Log(s)
	}
	return seconds
}

// scoutPoints are the 69 configurations of the scout table.
func scoutPoints() []Point {
	var all []Point
	for _, size := range []struct {
		cores  float64
		counts []float64
	}{{2, []float64{4, 6, 8, 10, 12, 16, 24, 32, 40, 48}}, {4, []float64{4, 6, 8, 10, 12, 16, 20, 24}}, {8, []float64{4, 6, 8, 10, 12}}} {
		for _, family := range []string{"c", "m", "r"} {
			for _, n := range size.counts {
				all = append(all, machine(family, size.cores, n))
			}
		}
	}
	return all
}

func vectorTraces() (t1, t2, t3 Trace) {
	t1 = Trace{Class: Same, Workload: "w", Points: []Point{machine("m", 4, 8), machine("c", 8, 4), machine("r", 2, 16), machine("m", 2, 4)}, LogRuntime: logs(600, 700, 620, 2300)}
	at := []Point{machine("m", 4, 8), machine("c", 4, 16), machine("r", 4, 4)}
	t2 = Trace{Class: Same, Workload: "w", Points: at, LogRuntime: logs(640, 420, 900)}
	t3 = Trace{Class: Same, Workload: "w", Points: at, LogRuntime: logs(1920, 1260, 2700)}
	return t1, t2, t3
}

func TestPlausibilityAndAgreementVectors(t *testing.T) {
	p := Base()
	s, err := newSpace(&p, scoutPoints(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newEvaluator(&p, s)
	var series []*series
	t1, t2, t3 := vectorTraces()
	for _, tr := range []Trace{t1, t2, t3} {
		series = append(series, e.newSeries(&tr, s.center))
	}
	e.table.fill()
	for _, one := range series {
		if err := e.fit(one); err != nil {
			t.Fatal(err)
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 5e-7 {
			t.Errorf("%s: %.6f, want %.6f", what, got, want)
		}
	}
	near("plausibility of t1", e.plausibility(series[0]), .998564)
	near("plausibility of t2", e.plausibility(series[1]), .973715)
	for _, tc := range []struct {
		name   string
		b      int
		shared bool
		want   float64
	}{
		{"t1 and t2, shared level", 1, true, 3.969427},
		{"t1 and t3, shared level", 2, true, -36.805568},
		{"t1 and t2, own levels", 1, false, .578460},
		{"t1 and t3, own levels", 2, false, .578460},
	} {
		a := e.newPartner(series[0])
		got, err := a.bayesFactor(series[tc.b], tc.shared)
		if err != nil {
			t.Fatal(err)
		}
		near(tc.name, got, tc.want)
		if agrees, err := a.agrees(series[tc.b], tc.shared, p.MinAgreement); err != nil || agrees != (tc.want > p.MinAgreement) {
			t.Errorf("%s: agreement %v, %v", tc.name, agrees, err)
		}
	}
}

func genPoint(t *rapid.T) Point {
	return Point{
		Nodes:        float64(rapid.IntRange(1, 64).Draw(t, "nodes")),
		CoresPerNode: float64(rapid.SampledFrom([]int{1, 2, 4, 8, 64}).Draw(t, "cores")),
		GiBPerNode:   rapid.SampledFrom([]float64{1, 3.75, 16, 61, 512}).Draw(t, "gib"),
	}
}

func genTrace(t *rapid.T, space []Point) Trace {
	tr := Trace{
		Class: rapid.SampledFrom([]Class{Unrelated, Related, Same}).Draw(t, "class"), Workload: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "workload"),
		Centred: rapid.Bool().Draw(t, "centred"),
	}
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		tr.Points = append(tr.Points, rapid.SampledFrom(space).Draw(t, "point"))
		tr.LogRuntime = append(tr.LogRuntime, rapid.Float64Range(-12, 12).Draw(t, "y"))
	}
	return tr
}

func TestMixtureIsProper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Candidates: rapid.SliceOfN(rapid.Custom(genPoint), 1, 8).Draw(t, "candidates"), LevelMean: rapid.Float64Range(-5, 18).Draw(t, "level")}
		for range rapid.IntRange(0, 4).Draw(t, "supports") {
			c.Supports = append(c.Supports, genTrace(t, c.Candidates))
		}
		e, err := New(Base(), c)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			if err := e.Observe(rapid.IntRange(0, len(c.Candidates)-1).Draw(t, "at"), rapid.Float64Range(-20, 20).Draw(t, "y"), 0); err != nil {
				t.Fatal(err)
			}
		}
		m := predict(t, e)
		total := 0.
		for h, w := range m.Weight {
			total += w
			for i := range c.Candidates {
				if !(w >= 0) || math.IsNaN(m.Mean[h][i]) || math.IsInf(m.Mean[h][i], 0) || !(m.Variance[h][i] > 0) {
					t.Fatalf("hypothesis %d: weight %g mean %g variance %g", h, w, m.Mean[h][i], m.Variance[h][i])
				}
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("weights add up to %g", total)
		}
	})
}

// TestConditioningIsExact compares the incremental conditioning with conditioning
// in another order: the posterior does not depend on it.
func TestConditioningIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		t1, t2, _ := vectorTraces()
		c := Config{Candidates: scoutPoints()[:20], LevelMean: 6, Supports: []Trace{t1, t2}}
		n := rapid.IntRange(1, 6).Draw(t, "n")
		at, y := make([]int, n), make([]float64, n)
		for i := range n {
			at[i], y[i] = rapid.IntRange(0, 19).Draw(t, "at"), rapid.Float64Range(3, 9).Draw(t, "y")
		}
		run := func(order []int) *Mixture {
			e, err := New(Base(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range order {
				if err := e.Observe(at[k], y[k], .02); err != nil {
					t.Fatal(err)
				}
			}
			return predict(t, e)
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		a, b := run(order), run(rapid.Permutation(order).Draw(t, "order"))
		for i := range c.Candidates {
			m1, v1 := a.Moments(i)
			m2, v2 := b.Moments(i)
			if math.Abs(m1-m2) > 1e-7 || math.Abs(v1-v2) > 1e-7 {
				t.Fatalf("candidate %d: %g ± %g in one order, %g ± %g in another", i, m1, v1, m2, v2)
			}
		}
	})
}

func TestResetForgets(t *testing.T) {
	t1, _, _ := vectorTraces()
	e, err := New(Base(), Config{Candidates: scoutPoints(), LevelMean: 6, Supports: []Trace{t1}})
	if err != nil {
		t.Fatal(err)
	}
	before := mixtureMeans(t, e)
	for k := range 15 {
		if err := e.Observe(k, 5, 0); err != nil {
			t.Fatal(err)
		}
	}
	after := mixtureMeans(t, e)
	if cmp.Equal(before, after) {
		t.Error("observations change nothing")
	}
	e.Reset()
	if diff := cmp.Diff(before, mixtureMeans(t, e)); diff != "" {
		t.Errorf("after Reset:\n%s", diff)
	}
}

// TestCentredTracesHaveToAgree: without levels, two short traces that merely do not
// contradict each other are pooled by the base form only; two that show one shape are
// by both.
func TestCentredTracesHaveToAgree(t *testing.T) {
	t1, t2, _ := vectorTraces()
	long := func(seed int) Trace {
		tr := Trace{Class: Same, Workload: "w"}
		for i, p := range scoutPoints() {
			if i%6 == seed {
				y := 9 - .7*math.Log2(p.Nodes*p.CoresPerNode)
				if p.GiBPerNode/p.CoresPerNode < 3 {
					y += .8
				}
				tr.Points, tr.LogRuntime = append(tr.Points, p), append(tr.LogRuntime, y)
			}
		}
		return tr
	}
	for _, tc := range []struct {
		name          string
		params        Params
		short, longer int
	}{{"base", Base(), 2, 2}, {"default", Default(), 0, 2}} {
		for k, pair := range [][]Trace{{t1, t2}, {long(0), long(3)}} {
			for i := range pair {
				pair[i].Centred = true
			}
			e, err := New(tc.params, Config{Candidates: scoutPoints(), LevelMean: 6, Supports: pair})
			if err != nil {
				t.Fatal(err)
			}
			pooled := 0
			for _, f := range e.families {
				pooled = max(pooled, len(f.origin))
			}
			if want := []int{tc.short, tc.longer}[k]; pooled != want {
				t.Errorf("%s: %d traces pooled of pair %d, want %d", tc.name, pooled, k, want)
			}
		}
	}
}

// TestCoresChangeNothing: to the last bit, with supports that need every step.
func TestCoresChangeNothing(t *testing.T) {
	t1, t2, t3 := vectorTraces()
	c := Config{Candidates: scoutPoints(), LevelMean: 6}
	for i := range 12 {
		tr := []Trace{t1, t2, t3}[i%3]
		tr.Workload = string(rune('a' + i%5))
		c.Supports = append(c.Supports, tr)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var got [2]*Mixture
	for i := range got {
		runtime.GOMAXPROCS(1 + 3*i)
		e, err := New(Default(), c)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if err := e.Observe(10*k, 6, 0); err != nil {
				t.Fatal(err)
			}
		}
		got[i] = predict(t, e)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("one core, four:\n%s", diff)
	}
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func predict(t fataler, e *Ensemble) *Mixture {
	t.Helper()
	m, err := e.Predict()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mixtureMeans(t testing.TB, e *Ensemble) []float64 {
	m := predict(t, e)
	out := make([]float64, e.s.n)
	for i := range out {
		out[i] = m.MeanAt(i)
	}
	return out
}

// TestCentredTracesDifferOnlyInLevels: a support enters without its level, so one
// trace with and without it is the same support.
func TestCentredTraceIsTheSameSupport(t *testing.T) {
	t1, _, _ := vectorTraces()
	centred := t1
	centred.Centred = true
	centred.LogRuntime = append([]float64(nil), t1.LogRuntime...)
	for i := range centred.LogRuntime {
		centred.LogRuntime[i] -= stat.Mean(t1.LogRuntime, nil)
	}
	var got [2][]float64
	for i, tr := range []Trace{t1, centred} {
		e, err := New(Base(), Config{Candidates: scoutPoints(), LevelMean: 6, Supports: []Trace{tr}})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = mixtureMeans(t, e)
	}
	for i := range got[0] {
		if math.Abs(got[0][i]-got[1][i]) > 1e-9 {
			t.Fatalf("candidate %d: %g with a level, %g without", i, got[0][i], got[1][i])
		}
	}
}

func TestDistinctRunsAreEquivalent(t *testing.T) {
	p := Base()
	s, err := newSpace(&p, scoutPoints(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newEvaluator(&p, s)
	t1, _, _ := vectorTraces()
	t1.Points = append(t1.Points, t1.Points[0], t1.Points[0])
	t1.LogRuntime = append(t1.LogRuntime, 6.1, 6.9)
	one := e.newSeries(&t1, s.center)
	d := one.distinct()
	if len(d.at) != 4 {
		t.Fatalf("%d distinct configurations, want 4", len(d.at))
	}
	if got, want := d.noise[0], .01/3; math.Abs(got-want) > 1e-15 {
		t.Errorf("noise of three runs %g, want %g", got, want)
	}
	if got, want := d.y[0], (one.y[0]+6.1+6.9)/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("log runtime of three runs %g, want %g", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{Candidates: scoutPoints()[:3]}
	for name, change := range map[string]func(*Params, *Config){
		"no candidates":   func(_ *Params, c *Config) { c.Candidates = nil },
		"zero nodes":      func(_ *Params, c *Config) { c.Candidates = []Point{{CoresPerNode: 1, GiBPerNode: 1}} },
		"level NaN":       func(_ *Params, c *Config) { c.LevelMean = math.NaN() },
		"noise zero":      func(p *Params, _ *Config) { p.NoiseSD = 0 },
		"no scales":       func(p *Params, _ *Config) { p.ShapeSDs = nil },
		"support unequal": func(_ *Params, c *Config) { c.Supports = []Trace{{Points: c.Candidates}} },
		"support not finite": func(_ *Params, c *Config) {
			c.Supports = []Trace{{Points: c.Candidates[:1], LogRuntime: []float64{math.Inf(1)}}}
		},
		"extra differs": func(_ *Params, c *Config) { c.Outside = []Point{{1, 1, 1, []float64{0}}} },
	} {
		p, c := Base(), good
		change(&p, &c)
		if _, err := New(p, c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func TestQuantileInvertsCDF(t *testing.T) {
	m := &Mixture{Weight: []float64{.3, .7}, Mean: [][]float64{{1}, {4}}, Variance: [][]float64{{.1}, {2}}}
	for _, q := range []float64{.01, .1, .5, .9, .99} {
		if got := m.CDF(0, m.Quantile(0, q)); math.Abs(got-q) > 1e-8 {
			t.Errorf("CDF of the %g quantile is %g", q, got)
		}
	}
}

// TestLongHistoriesStillAgree: two workloads of one class whose shapes differ a
// little, as siblings' do, each run on all configurations. The base form takes them
// for strangers and gives both no weight; the default form does not.
func TestLongHistoriesStillAgree(t *testing.T) {
	var points []Point
	for nodes := 4.; nodes <= 48; nodes += 4 {
		for _, cores := range []float64{2, 4, 8} {
			for _, perCore := range []float64{2, 4, 8} {
				points = append(points, Point{Nodes: nodes, CoresPerNode: cores, GiBPerNode: cores * perCore})
			}
		}
	}
	sibling := func(name string, slope, overhead float64) Trace {
		tr := Trace{Class: Same, Workload: name, Points: points, Centred: true}
		for _, p := range points {
			total := p.Nodes * p.CoresPerNode
			tr.LogRuntime = append(tr.LogRuntime, math.Log(1000*math.Pow(total, -slope)+overhead*p.Nodes))
		}
		return tr
	}
	traces := []Trace{sibling("a", .75, .10), sibling("b", .70, .25)}
	for _, c := range []struct {
		name   string
		params Params
		want   bool
	}{{"base", Base(), false}, {"default", Default(), true}} {
		e, err := New(c.params, Config{Candidates: points, LevelMean: math.Log(300), Supports: traces})
		if err != nil {
			t.Fatal(err)
		}
		supported := false
		for _, origin := range predict(t, e).Origin {
			supported = supported || origin != nil
		}
		if supported != c.want {
			t.Errorf("%s: hypotheses of supports: %t, want %t", c.name, supported, c.want)
		}
	}
}
