package replay

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// ErrUnknownScenario means that no scenario has the name asked for.
var ErrUnknownScenario = errors.New("unknown scenario")

// Scenario says what a search knows of other workloads.
type Scenario struct {
	// Name is that of the tables: solo, A3, ...
	Name string
	// pool selects the workloads whose traces may be drawn.
	pool func(target, other *workload) bool
	// traces is how many are drawn of the pool's: a number, all, one a workload, or
	// the whole history of each workload in place of traces.
	traces int
	// corrupt is the share of traces whose runtimes are permuted or inverted.
	corrupt float64
	// mislabel is the share of traces that are of a workload outside the pool.
	mislabel float64
	// own draws from the target's own workload at its other runtime targets.
	own bool
	// cut keeps the first [minCut] to [MaxRuns] runtimes of each trace.
	cut bool
	// draw names the random stream, so that variants of one scenario share draws.
	draw string
	// front are the objectives of a Pareto search, of which measured is the one that its
	// ratios are of; nil is a search for [Config.Objective].
	front    []search.Objective
	measured search.Objective
	// alone names the same scenario without supports; "" is solo.
	alone string
}

const (
	allTraces      = -1
	onePerWorkload = -2
	wholeHistory   = -3
)

// Policies of the Karasu evaluation: A shares framework and algorithm (and differs
// in the data), B the framework only, C neither.
func policyA(t, o *workload) bool { return t.Framework == o.Framework && t.Algorithm == o.Algorithm }
func policyB(t, o *workload) bool { return t.Framework == o.Framework && t.Algorithm != o.Algorithm }
func policyC(t, o *workload) bool { return t.Framework != o.Framework && t.Algorithm != o.Algorithm }

// Scenarios lists those of the tables, in their order; [QuestionScenarios] has more.
func Scenarios() []Scenario {
	anyone := func(_, _ *workload) bool { return true }
	return []Scenario{
		{Name: "solo"},
		{Name: "A3", pool: policyA, traces: 3, draw: "A3"},
		{Name: "A-all", pool: policyA, traces: allTraces, draw: "A-all"},
		{Name: "B3", pool: policyB, traces: 3, draw: "B3"},
		{Name: "C3", pool: policyC, traces: 3, draw: "C3"},
		{Name: "real1", pool: anyone, traces: onePerWorkload, draw: "real1"},
		{Name: "hard1", pool: func(t, o *workload) bool { return !policyA(t, o) }, traces: onePerWorkload, draw: "real1"},
		{Name: "A-full", pool: policyA, traces: wholeHistory, draw: "full"},
		{Name: "full", pool: anyone, traces: wholeHistory, draw: "full"},
		{Name: "A3-adv30", pool: policyA, traces: 3, corrupt: .3, draw: "A3"},
		{Name: "real1-adv30", pool: anyone, traces: onePerWorkload, corrupt: .3, draw: "real1"},
		{Name: "mis30", pool: policyA, traces: 3, mislabel: .3, draw: "A3"},
		{Name: "mis100", pool: policyA, traces: 3, mislabel: 1, draw: "A3"},
	}
}

// ScenarioByName returns one of [Scenarios] or [QuestionScenarios].
func ScenarioByName(name string) (Scenario, error) {
	var names []string
	for _, s := range append(Scenarios(), QuestionScenarios()...) {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("%w %q, want one of %s", ErrUnknownScenario, name, strings.Join(names, ", "))
}

// trace is what one search of the solo baseline saw: the candidates of its
// workload in the order tried, failed ones left out.
type trace struct {
	of         *workload
	candidates []int
	logRuntime []float64
}

// history is all that was ever measured of the workload, as an organisation that
// ran it everywhere would share it.
func (w *workload) history() trace {
	t := trace{of: w}
	for i := range w.candidates {
		if w.outcome[i] != model.Failed {
			t.candidates, t.logRuntime = append(t.candidates, i), append(t.logRuntime, w.logRuntime[i])
		}
	}
	return t
}

// supports draws the scenario's supports for one search. traces has, a workload,
// the traces of all its baseline searches.
func (s *Scenario) supports(target *workload, table []*workload, traces [][]trace, seed seed) []search.Support {
	if s.pool == nil {
		return nil
	}
	rng := seed.stream("draw " + s.draw)
	var pool, outside []trace
	for i, other := range table {
		if other == target {
			if s.own {
				pool = append(pool, otherTargets(traces[i], seed.target)...)
			}
			continue
		}
		if !s.pool(target, other) {
			outside = append(outside, traces[i]...)
			continue
		}
		switch s.traces {
		case onePerWorkload:
			pool = append(pool, traces[i][rng.IntN(len(traces[i]))])
		case wholeHistory:
			pool = append(pool, other.history())
		default:
			pool = append(pool, traces[i]...)
		}
	}
	if s.traces >= 0 {
		rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		pool = pool[:min(s.traces, len(pool))]
	}

	spoil, length := seed.stream("spoil "+s.draw), seed.stream("length "+s.draw)
	var out []search.Support
	for _, t := range pool {
		label := t.of
		wrong, corrupt := spoil.Float64() < s.mislabel, spoil.Float64() < s.corrupt
		substitute := spoil.Uint64()
		if wrong && len(outside) > 0 {
			t = outside[substitute%uint64(len(outside))]
		}
		if corrupt {
			t = corrupted(t, spoil)
		}
		if s.cut {
			t = t.first(minCut + length.IntN(MaxRuns-minCut+1))
		}
		if sp, ok := t.support(label); ok {
			out = append(out, sp)
		}
	}
	return out
}

// corrupted permutes the runtimes of a trace, or turns them upside down around
// their mean, at equal odds.
func corrupted(t trace, rng *rand.Rand) trace {
	y := append([]float64(nil), t.logRuntime...)
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
	} else {
		m := mean(y)
		for i := range y {
			y[i] = 2*m - y[i]
		}
	}
	t.logRuntime = y
	return t
}

// support is the trace as its organisation would share it, under the label of a
// workload. It is false for a trace without a single runtime.
func (t trace) support(label *workload) (search.Support, bool) {
	if len(t.logRuntime) == 0 {
		return search.Support{}, false
	}
	level := mean(t.logRuntime)
	s := model.Summary{
		Topic: label.Topic(), Pseudonym: label.pseudonym, InputSizeLog2: label.InputSizeLog2(), Absolute: true, Level: level,
	}
	for k, i := range t.candidates {
		c := t.of.candidates[i]
		p := model.Point{Configuration: c.Configuration, Resources: c.Resources, LogRuntime: t.logRuntime[k] - level}
		if t.of.outcome[i] == model.Timeout {
			p.Timeout = 1
		} else {
			p.OK = 1
		}
		s.Points = append(s.Points, p)
	}
	return search.Support{Organisation: label.Dataset, Author: label.pseudonym, Summary: s}, true
}

// seed identifies one search of one replay, whatever the order of computation.
type seed struct{ base, set, workload, target, repeat uint64 }

// stream returns the generator of one purpose. Purposes do not influence each other.
func (s seed) stream(purpose string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, v := range []uint64{s.base, s.set, s.workload, s.target, s.repeat} {
		for shift := 0; shift < 64; shift += 8 {
			mix(byte(v >> shift))
		}
	}
	for i := range len(purpose) {
		mix(purpose[i])
	}
	return rand.New(rand.NewPCG(h, s.base))
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	if len(v) == 0 {
		return math.NaN()
	}
	return sum / float64(len(v))
}
