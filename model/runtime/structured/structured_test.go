package structured

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

var machines = []struct {
	name string
	model.Resources
}{
	{"small", model.Resources{VCPUs: 4, MemoryGiB: 16}},
	{"large", model.Resources{VCPUs: 8, MemoryGiB: 32}},
	{"memory", model.Resources{VCPUs: 8, MemoryGiB: 61}},
}

// madeUp returns contexts of a job whose runtime is known: serial and parallel work
// by input size and iterations.
func madeUp(contexts int) []predict.History {
	r := rand.New(rand.NewPCG(11, 12))
	var out []predict.History
	for i := range contexts {
		m := machines[i%len(machines)]
		size, iterations := 5e9+25e9*r.Float64(), float64(1+r.IntN(20))
		h := predict.History{Context: predict.Context{
			Environment: "here", MachineType: m.name, Resources: m.Resources, InputBytes: size,
			Arguments: []predict.Argument{{Name: "iterations", Number: iterations}, {Name: "mode", Text: []string{"a", "b"}[i%2]}},
		}}
		for _, x := range []int{2, 4, 6, 8, 10, 12} {
			seconds := 20 + size/1e9*(5+3*iterations)*8/m.VCPUs/float64(x)
			h.Runs = append(h.Runs, predict.Observation{ScaleOut: x, RuntimeSeconds: seconds * math.Exp(.02*r.NormFloat64())})
		}
		out = append(out, h)
	}
	return out
}

func TestPosteriorGradientIsNumeric(t *testing.T) {
	all := blocks(madeUp(5))
	all[1].runs[0].Repeats = 5 // both noises
	all = append(all, block{all[0].context, all[0].runs[:2]})
	all[5].context.InputBytes *= 1.1 // a machine and arguments in common
	r := newRows(newEncoder(contextsOf(all)), all)
	p := defaults
	for i := range p {
		p[i] *= 1 + .1*float64(i%3)
	}
	var g, scratch Params
	r.posterior(&p, &g)
	for i := range p {
		const h = 1e-5
		up, down := p, p
		up[i] *= math.Exp(h)
		down[i] *= math.Exp(-h)
		numeric := (r.posterior(&up, &scratch) - r.posterior(&down, &scratch)) / (2 * h)
		if math.Abs(numeric-g[i]) > 1e-4*(1+math.Abs(numeric)) {
			t.Errorf("constant %d: gradient %g, numeric %g", i, g[i], numeric)
		}
	}
}

// mre of a predictor on runs.
func mre(tb testing.TB, g predict.General, h predict.History, known int) float64 {
	tb.Helper()
	p, err := g.Condition(h.Context, h.Runs[:known])
	if err != nil {
		tb.Fatal(err)
	}
	var e float64
	test := h.Runs[known:]
	for _, r := range test {
		d, err := p.Predict(r.ScaleOut)
		if err != nil {
			tb.Fatal(err)
		}
		e += math.Abs(d.Median()-r.RuntimeSeconds) / r.RuntimeSeconds / float64(len(test))
	}
	return e
}

func TestPredictsAContextNeverSeen(t *testing.T) {
	all := madeUp(25)
	g, err := New("x", Options{}).Fit(context.Background(), all[:20])
	if err != nil {
		t.Fatal(err)
	}
	for n, limit := range map[int]float64{0: .12, 2: .06} {
		var e float64
		for _, h := range all[20:] {
			e += mre(t, g, h, n) / 5
		}
		if e > limit {
			t.Errorf("with %d runs: error %.3f, want at most %.3f", n, e, limit)
		}
	}
}

func TestAnotherEnvironmentDoesNotTransferLevels(t *testing.T) {
	all := madeUp(12)
	g, err := New("x", Options{}).Fit(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	h := all[0]
	h.Context.Environment = "elsewhere"
	local, err := New("y", Options{LocalOnly: true}).Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 4; n++ {
		if a, b := mre(t, g, h, n), mre(t, local, h, n); math.Abs(a-b) > 1e-9 {
			t.Errorf("with %d runs: %g, without any history %g", n, a, b)
		}
	}
}

// A context that contradicts all others is predicted by the family.
func TestGateOpensForOddContexts(t *testing.T) {
	all := madeUp(12)
	odd := all[11]
	usual := append([]predict.Observation(nil), odd.Runs...)
	for i := range odd.Runs {
		odd.Runs[i].RuntimeSeconds = 1000 * float64(odd.Runs[i].ScaleOut)
	}
	g, err := New("x", Options{}).Fit(context.Background(), all[:11])
	if err != nil {
		t.Fatal(err)
	}
	view, err := g.(*General).Target(odd.Context)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		runs     []predict.Observation
		min, max float64
	}{{odd.Runs[:1], 0, 0}, {odd.Runs[:3], .5, 1}, {usual[:3], 0, .06}} {
		p, err := view.Condition(c.runs)
		if err != nil {
			t.Fatal(err)
		}
		if share := p.(*predictor).share; share < c.min || share > c.max {
			t.Errorf("after %d runs the family's share is %.3f, want %.2f to %.2f", len(c.runs), share, c.min, c.max)
		}
	}
}

func TestConditionNamesWhatIsWrong(t *testing.T) {
	g := fitted(t, 9)
	for name, c := range map[string]struct {
		spoil func(c *predict.Context)
		want  string
	}{
		"argument missing": {func(c *predict.Context) { c.Arguments = c.Arguments[1:] }, "arguments lack iterations"},
		"text for number":  {func(c *predict.Context) { c.Arguments[0].Text = "many" }, "argument iterations must be a number"},
		"no resources":     {func(c *predict.Context) { c.Resources = model.Resources{} }, "is unknown"},
		"no input":         {func(c *predict.Context) { c.InputBytes = 0 }, "input size must be"},
	} {
		t.Run(name, func(t *testing.T) {
			target := madeUp(1)[0].Context
			target.Arguments = append([]predict.Argument(nil), target.Arguments...)
			c.spoil(&target)
			_, err := g.Condition(target, nil)
			if !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
		})
	}
	p, err := g.Condition(madeUp(1)[0].Context, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []int{0, -3, model.MaxScaleOut + 1} {
		if _, err := p.Predict(x); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("scale-out %d: error %v", x, err)
		}
	}
}

func TestOptionalArgumentsDefault(t *testing.T) {
	all := madeUp(9)
	for i := range all {
		all[i].Context.Arguments[0].Optional = true
	}
	g, err := New("x", Options{}).Fit(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	target := all[0].Context
	target.Arguments = target.Arguments[1:]
	if _, err := g.Condition(target, nil); err != nil {
		t.Error(err)
	}
}

// Order of contexts, runs and arguments does not matter, and what comes out is finite
// whatever the runs.
func TestPredictionsAreFiniteAndRepeat(t *testing.T) {
	history := madeUp(6)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		var runs []predict.Observation
		for range n {
			runs = append(runs, predict.Observation{
				ScaleOut:       rapid.IntRange(1, 1000).Draw(t, "x"),
				RuntimeSeconds: math.Exp(rapid.Float64Range(-5, 15).Draw(t, "ln")),
			})
		}
		target := history[0].Context
		target.InputBytes = math.Exp(rapid.Float64Range(5, 40).Draw(t, "input"))
		at := rapid.IntRange(1, 64).Draw(t, "at")
		var first predict.Distribution
		for i := range 2 {
			shuffled := append([]predict.History(nil), history[1:]...)
			mine := append([]predict.Observation(nil), runs...)
			if i == 1 {
				shuffled[0], shuffled[3] = shuffled[3], shuffled[0]
				for a, b := 0, len(mine)-1; a < b; a, b = a+1, b-1 {
					mine[a], mine[b] = mine[b], mine[a]
				}
			}
			g, err := New("x", Options{}).Fit(context.Background(), shuffled)
			if err != nil {
				t.Fatal(err)
			}
			p, err := g.Condition(target, mine)
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.Predict(at)
			if err != nil {
				t.Fatal(err)
			}
			if math.IsNaN(d.LogMedian) || math.IsInf(d.Quantile(.99), 0) || !(d.Scale > 0) {
				t.Fatalf("prediction %+v", d)
			}
			if i == 0 {
				first = d
			} else if math.Abs(d.LogMedian-first.LogMedian) > 1e-6*(1+math.Abs(first.LogMedian)) {
				t.Fatalf("in another order: %+v, first %+v", d, first)
			}
		}
	})
}

// What is stated of a job whose runs vary much is wider than of one whose runs do not,
// in an environment that the history knows and in another.
func TestIntervalsFollowTheRuns(t *testing.T) {
	all := madeUp(12)
	g, err := New("x", Options{}).Fit(context.Background(), all[:11])
	if err != nil {
		t.Fatal(err)
	}
	for _, environment := range []string{all[0].Context.Environment, "elsewhere"} {
		var scale [2]float64
		for noisy := range 2 {
			h := all[11]
			h.Context.Environment = environment
			var runs []predict.Observation
			for i, x := range []int{2, 4, 6, 8, 10, 12} {
				for _, r := range h.Runs {
					if r.ScaleOut == x {
						r.RuntimeSeconds *= 1 + .8*float64(noisy*(i%2))
						runs = append(runs, r)
						break
					}
				}
			}
			p, err := g.Condition(h.Context, runs)
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.Predict(7)
			if err != nil {
				t.Fatal(err)
			}
			if d.Freedom <= intervalFreedom {
				t.Errorf("%d runs: %g degrees of freedom", len(runs), d.Freedom)
			}
			scale[noisy] = d.Scale
		}
		if !(scale[1] > 2*scale[0]) {
			t.Errorf("%s: scale %.3f of a quiet job, %.3f of a noisy one", environment, scale[0], scale[1])
		}
	}
}

// Repeats that differ are told from repeats that do not, although their medians are
// equal.
func TestIntervalsHoldTheRepeats(t *testing.T) {
	all := madeUp(12)
	g, err := New("x", Options{}).Fit(context.Background(), all[:11])
	if err != nil {
		t.Fatal(err)
	}
	h := all[11]
	for _, spread := range []float64{.01, .5} {
		var runs []predict.Observation
		for _, e := range []float64{-1, -.6, -.3, 0, 0, .3, .6, 1} {
			r := h.Runs[0]
			r.RuntimeSeconds *= math.Exp(spread * e)
			runs = append(runs, r)
		}
		p, err := g.Condition(h.Context, runs)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Predict(h.Runs[0].ScaleOut)
		if err != nil {
			t.Fatal(err)
		}
		low, high := d.Interval(.8)
		in := 0
		for _, r := range runs {
			if low <= r.RuntimeSeconds && r.RuntimeSeconds <= high {
				in++
			}
		}
		if in < 6 || high/low > math.Exp(3*spread+.2) {
			t.Errorf("spread %g: %d of 8 runs from %.0f to %.0f s", spread, in, low, high)
		}
	}
}
