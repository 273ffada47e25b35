package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model/throughput"
)

// faulty is a job in a world where everything goes wrong.
type faulty struct {
	random  *rand.Rand
	job     Job
	c       *Controller
	plan    Plan
	samples float64
	changes []Decision
	resizes []Decision
}

// minute plays one minute: reports that are late, twice, out of order, with NaN or
// without speed; evictions of 30% of the workers, an OOM an hour, a hot server, a master
// that restarts.
func (f *faulty) minute(t testing.TB, m int) {
	now := minutes(float64(m))
	n := f.plan.Workers.Replicas
	if f.random.Float64() < .05 { // evicted
		n -= int(math.Ceil(.3 * float64(n)))
		_ = f.c.Notice(now, Event{Job: "a", Time: now, Kind: Evicted, Pods: f.plan.Workers.Replicas - n})
	}
	pushes := 0.
	if n > 0 {
		pushes = law(n, 2.5) * math.Exp(.3*f.random.NormFloat64())
	}
	f.samples += pushes * 60 * 16
	r := report(float64(m), "a", n, pushes, f.samples)
	if m/30%2 == 0 {
		r.Pods = []PodUsage{{Name: "ps-0", Role: Server, CPU: .97 * 8, CPULimit: 8, Memory: f.random.Float64() * 4 * gibibyte}}
	}
	r.Pods = append(r.Pods, PodUsage{Name: "w-0", Role: Worker, Memory: f.random.Float64() * .9 * f.plan.Workers.Pod.Memory, StepSeconds: 1})
	switch f.random.IntN(12) {
	case 0:
		r.StepsPerSecond = math.NaN()
	case 1:
		r.StepsPerSecond = 0
	case 2:
		r.Time = r.Time.Add(-time.Duration(f.random.IntN(600)) * time.Second)
	case 3:
		r.Samples, r.Step = 0, 0 // a counter that began again
	}
	for range 1 + f.random.IntN(2) {
		if err := f.c.Observe(now, r); err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrLate) && !errors.Is(err, ErrDuplicate) {
			t.Fatal(err)
		}
	}
	if m%60 == 17 {
		_ = f.c.Notice(now, Event{Job: "a", Time: now, Kind: OutOfMemory, Role: Worker, Pod: "w-0", Memory: f.plan.Workers.Pod.Memory})
	}
	if m%97 == 0 {
		_ = f.c.Notice(now, Event{Job: "a", Time: now, Kind: Restarted})
	}
	if f.random.Float64() < .02 {
		_ = f.c.Notice(now, Event{Job: "a", Time: now, Kind: Pending, Pods: 1})
	}
	f.decide(t, m)
}

func (f *faulty) decide(t testing.TB, m int) {
	if m%2 != 0 {
		return
	}
	d, err := f.c.Decide(minutes(float64(m)), "a", Cluster{CPU: 400, Waiting: f.random.IntN(2)})
	if err != nil {
		t.Fatal(err)
	}
	within(t, f.job, d.Plan)
	if d.Reason == "" {
		t.Fatalf("a decision without a reason: %+v", d)
	}
	for _, e := range d.Evidence {
		if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
			t.Fatalf("evidence %q of %q is %g", e.Name, d.Reason, e.Value)
		}
	}
	if d.Changes() {
		f.changes = append(f.changes, d)
		if d.Plan.Workers.Replicas != d.Before.Workers.Replicas {
			f.resizes = append(f.resizes, d)
		}
	}
	f.plan = d.Plan
}

func newFaulty(t testing.TB, seed uint64) *faulty {
	j := training("a")
	j.TotalSamples = 1e9
	c := newController(t)
	d := start(t, c, j, Knowledge{})
	return &faulty{random: rand.New(rand.NewPCG(seed, 3)), job: j, c: c, plan: d.Plan}
}

func TestFaultsDoNotMakeItOscillate(t *testing.T) {
	const days = 10
	for seed := range uint64(3) {
		f := newFaulty(t, seed)
		lastDay := 0
		for m := 1; m < days*24*60; m++ {
			before := len(f.resizes)
			f.minute(t, m)
			if m >= (days-1)*24*60 {
				lastDay += len(f.resizes) - before
			}
		}
		// The same resize follows only after twice the time, so their number grows with the
		// logarithm of the time: a job that swings between two sizes makes 2 log2(10 days /
		// 10 min) = 21 changes, and most sizes are never tried.
		if n := len(f.resizes); n > 60 {
			t.Errorf("seed %d: %d resizes in %d days", seed, n, days)
		}
		if lastDay > 4 {
			t.Errorf("seed %d: %d resizes on the last day", seed, lastDay)
		}
		if n := len(f.changes); n > 250 {
			t.Errorf("seed %d: %d changes in %d days", seed, n, days)
		}
		notTwiceOnTheSame(t, f.resizes)
	}
}

// notTwiceOnTheSame fails where an equal resize comes again too soon.
func notTwiceOnTheSame(t testing.TB, resizes []Decision) {
	type pair struct{ from, to int }
	last, times := map[pair]time.Time{}, map[pair]int{}
	for _, d := range resizes {
		if d.Kind == AskLess {
			continue
		}
		p := pair{d.Before.Workers.Replicas, d.Plan.Workers.Replicas}
		if at, ok := last[p]; ok && d.Time.Sub(at) < DefaultPolicy().Cooldown<<times[p] {
			t.Errorf("from %d to %d again after %s, for the time number %d", p.from, p.to, d.Time.Sub(at), times[p]+1)
		}
		last[p] = d.Time
		times[p]++
	}
}

func TestFaultsAndRestartsLoseNothing(t *testing.T) {
	whole, broken := newFaulty(t, 7), newFaulty(t, 7)
	for m := 1; m < 600; m++ {
		whole.minute(t, m)
		broken.minute(t, m)
		if m%10 == 0 {
			data, err := json.Marshal(broken.c.State())
			if err != nil {
				t.Fatal(err)
			}
			var s State
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			if broken.c, err = Restore(DefaultPolicy(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(whole.changes, broken.changes); diff != "" {
		t.Errorf("decisions differ after restarts:\n%s", diff)
	}
}

// TestAnyReportsKeepPlansWithinBounds gives random jobs random reports and events.
func TestAnyReportsKeepPlansWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := training("a")
		j.Mode = rapid.SampledFrom([]throughput.Mode{Sync, Async}).Draw(t, "mode")
		j.Bounds = Bounds{
			WorkerMultiple: rapid.IntRange(0, 3).Draw(t, "multiple"), MaxWorkers: rapid.IntRange(6, 40).Draw(t, "max"),
			MinWorkers: rapid.IntRange(0, 6).Draw(t, "min"), MaxServers: rapid.IntRange(1, 3).Draw(t, "servers"), MaxPodMemory: 64 * gibibyte, MaxPodCPU: 16,
		}
		j.Current.Workers.Replicas = rapid.IntRange(0, 50).Draw(t, "current")
		c, err := New(DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Start(begin, j, Knowledge{}, Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, j, d.Plan)
		for m := 1.; m < 60; m += rapid.Float64Range(.1, 5).Draw(t, "gap") {
			value := rapid.SampledFrom([]float64{0, 1e-9, .5, 3, 1e8, math.NaN(), math.Inf(1), -1})
			r := report(m, "a", rapid.IntRange(0, 60).Draw(t, "workers"), value.Draw(t, "speed"), value.Draw(t, "samples"),
				PodUsage{Name: "w", Role: Worker, Memory: value.Draw(t, "memory") * gibibyte, StepSeconds: value.Draw(t, "step")})
			_ = c.Observe(minutes(m), r) // may be refused
			kind := rapid.SampledFrom([]EventKind{OutOfMemory, Evicted, Pending, Restarted, "none"}).Draw(t, "event")
			_ = c.Notice(minutes(m), Event{Job: "a", Time: minutes(m), Kind: kind, Role: Worker, Memory: value.Draw(t, "limit") * gibibyte})
			all, err := c.Allocate(minutes(m), Cluster{CPU: float64(rapid.IntRange(0, 500).Draw(t, "cluster")), Waiting: rapid.IntRange(0, 2).Draw(t, "waiting")})
			if err != nil {
				t.Fatal(err)
			}
			check(t, j, all[0].Plan)
			if _, err := json.Marshal(c.State()); err != nil {
				t.Fatalf("state is not to be stored: %v", err)
			}
		}
		if _, err := Restore(DefaultPolicy(), c.State()); err != nil {
			t.Fatalf("own state is refused: %v", err)
		}
	})
}

func check(t *rapid.T, j Job, p Plan) {
	b := j.Bounds.withDefaults(j.Mode)
	n := p.Workers.Replicas
	if err := p.Validate(); err != nil || n < b.MinWorkers || n > b.MaxWorkers || n%b.WorkerMultiple != 0 ||
		p.Servers.Replicas > b.MaxServers || p.Workers.Pod.Memory > b.MaxPodMemory || p.Servers.Pod.CPU > b.MaxPodCPU {
		t.Fatalf("%+v is out of %+v: %v", p, b, err)
	}
}

func FuzzRestore(f *testing.F) {
	c, err := New(DefaultPolicy())
	if err != nil {
		f.Fatal(err)
	}
	if _, err := c.Start(begin, training("a"), Knowledge{}, Cluster{}); err != nil {
		f.Fatal(err)
	}
	play(f, c, "a", 1, 7, func(n int) float64 { return law(n, 3) }, func(int, Plan) []PodUsage {
		return []PodUsage{{Name: "w", Role: Worker, Memory: gibibyte}}
	})
	data, err := json.Marshal(c.State())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"jobs":[{"job":{"id":"a"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if json.Unmarshal(data, &s) != nil {
			return
		}
		c, err := Restore(DefaultPolicy(), s)
		if err != nil {
			return
		}
		decisions, err := c.Allocate(minutes(60), Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			if err := d.Plan.Validate(); err != nil {
				t.Fatalf("%+v: %v", d.Plan, err)
			}
		}
	})
}

func FuzzObserve(f *testing.F) {
	for _, r := range []Report{report(1, "a", 2, 3, 100), report(2, "a", 1, 0, 0, PodUsage{Name: "w", Role: Worker, Memory: 1e9})} {
		data, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Report
		if json.Unmarshal(data, &r) != nil {
			return
		}
		c := newController(t)
		j := training("a")
		start(t, c, j, Knowledge{})
		if c.Observe(minutes(10), r) != nil {
			return
		}
		d, err := c.Decide(minutes(10), "a", Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		within(t, j, d.Plan)
		if _, err := json.Marshal(c.State()); err != nil {
			t.Fatal(fmt.Errorf("after %s: %w", data, err))
		}
	})
}
