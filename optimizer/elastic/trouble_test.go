package elastic

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// steady is a speed that no size changes: nothing to grow for.
func steady(int) float64 { return 1 }

func count(decisions []Decision, k Kind) int {
	n := 0
	for _, d := range decisions {
		if d.Kind == k {
			n++
		}
	}
	return n
}

func TestMemoryIsRaisedBeforeItRunsOut(t *testing.T) {
	c := newController(t)
	j := training("a")
	j.TotalSamples = 16 * 60 * 300 // 300 minutes at 1 push a second
	start(t, c, j, Knowledge{})
	play(t, c, "a", 1, 290, steady, func(m int, p Plan) []PodUsage {
		used := (2 + 30*float64(m)/300) * gibibyte // from 2 to 32 GiB, with a limit of 8
		if used > p.Workers.Pod.Memory {
			t.Fatalf("minute %d: %.1f GiB used, %.1f planned", m, used/gibibyte, p.Workers.Pod.Memory/gibibyte)
		}
		return []PodUsage{{Name: "w", Role: Worker, Memory: used, MemoryLimit: p.Workers.Pod.Memory}}
	})
	s, _ := c.Job("a")
	for _, d := range s.Decisions {
		within(t, j, d.Plan)
	}
	if raised := count(s.Decisions, Memory); raised < 3 || raised > 25 {
		t.Errorf("memory changed %d times", raised)
	}
	if got := s.Plan.Workers.Pod.Memory; got < 32*gibibyte || got > 45*gibibyte {
		t.Errorf("%.1f GiB at the end, 32 are needed", got/gibibyte)
	}
}

func TestMemoryLeftOverIsGivenBack(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	play(t, c, "a", 1, 60, steady, func(int, Plan) []PodUsage {
		return []PodUsage{{Name: "w", Role: Worker, Memory: 2 * gibibyte}, {Name: "s", Role: Server, Memory: gibibyte}}
	})
	s, _ := c.Job("a")
	if w, p := s.Plan.Workers.Pod.Memory, s.Plan.Servers.Pod.Memory; w > 2.5*gibibyte || w < 2*gibibyte || p > 1.25*gibibyte || p < gibibyte {
		t.Errorf("worker %.2f GiB for 2 used, server %.2f for 1", w/gibibyte, p/gibibyte)
	}
	if n := count(s.Decisions, Memory); n != 2 {
		t.Errorf("%d decisions about the constant memory of two roles", n)
	}
}

func TestOutOfMemoryIsRepairedOncePerLimit(t *testing.T) {
	c := newController(t)
	j := training("a")
	start(t, c, j, Knowledge{})
	oom := func(minute float64, limit float64) Event {
		return Event{Job: "a", Time: minutes(minute), Kind: OutOfMemory, Role: Worker, Pod: "w", Memory: limit}
	}
	notice(t, c, oom(10, 8*gibibyte))
	d := decide(t, c, 10, "a")
	if d.Kind != Memory || d.Plan.Workers.Pod.Memory != 12*gibibyte {
		t.Fatalf("%+v, want 12 GiB", d)
	}
	// Others of the same pod set report the same limit late.
	notice(t, c, oom(10.5, 8*gibibyte))
	if d := decide(t, c, 11, "a"); d.Changes() {
		t.Errorf("the same limit was exceeded twice: %+v", d)
	}
	for i := range 10 {
		s, _ := c.Job("a")
		notice(t, c, oom(float64(20+i), s.Plan.Workers.Pod.Memory))
		within(t, j, decide(t, c, float64(20+i), "a").Plan)
	}
	decide(t, c, 40, "a")
	s, _ := c.Job("a")
	if s.Plan.Workers.Pod.Memory != 64*gibibyte {
		t.Errorf("%g GiB, want the bound of 64", s.Plan.Workers.Pod.Memory/gibibyte)
	}
	notice(t, c, oom(41, 64*gibibyte))
	if d = decide(t, c, 41, "a"); d.Kind != None || !strings.Contains(d.Reason, "max_pod_memory") {
		t.Errorf("at the bound: %+v", d)
	}
}

func TestOutOfMemoryWithoutLimitAsksForIt(t *testing.T) {
	c := newController(t)
	j := training("a")
	j.Current.Workers.Pod.Memory = 0
	start(t, c, j, Knowledge{})
	notice(t, c, Event{Job: "a", Time: minutes(5), Kind: OutOfMemory, Role: Worker})
	if d := decide(t, c, 5, "a"); d.Kind != None || !strings.Contains(d.Reason, "report them") {
		t.Errorf("%+v", d)
	}
}

func TestPendingPodsAskForLess(t *testing.T) {
	c := newController(t)
	j := training("a")
	start(t, c, j, Knowledge{})
	grown := play(t, c, "a", 1, 30, func(n int) float64 { return float64(n) }, nil)
	if len(grown) == 0 {
		t.Fatal("a job that scales linearly did not grow")
	}
	s, _ := c.Job("a")
	want := s.Plan.Workers.Replicas
	have := want - 1
	notice(t, c, Event{Job: "a", Time: minutes(31), Kind: Pending, Role: Worker, Pods: 1})
	for m := 31; m < 90; m++ {
		observe(t, c, report(float64(m), "a", have, float64(have), s.Last.Samples+float64(m)))
		d := decide(t, c, float64(m), "a")
		within(t, j, d.Plan)
		switch {
		case m < 36 && d.Plan.Workers.Replicas != want:
			t.Fatalf("minute %d: asked for %d before the wait was over", m, d.Plan.Workers.Replicas)
		case m > 37 && d.Plan.Workers.Replicas != have:
			t.Fatalf("minute %d: asks for %d where %d have room: %s", m, d.Plan.Workers.Replicas, have, d.Reason)
		}
	}
}

func TestPodsThatStartedInTheEndStayWithinThePlan(t *testing.T) {
	c := newController(t)
	j := training("a")
	j.Current.Workers.Replicas = 6
	start(t, c, j, Knowledge{})
	notice(t, c, Event{Job: "a", Time: minutes(1), Kind: Pending, Role: Worker, Pods: 2})
	r := report(3, "a", 6, 6, 100)
	r.Servers = 0 // not told
	observe(t, c, r)
	if d := decide(t, c, 10, "a"); d.Kind == AskLess || d.Plan.Workers.Replicas < 6 {
		t.Errorf("%+v, though all pods run", d)
	}
	if s, _ := c.Job("a"); !s.CeilingUntil.IsZero() {
		t.Error("growing is stopped, though all pods run")
	}
}

func TestProgressFollowsFromStepsWhereSamplesAreNotTold(t *testing.T) {
	for _, x := range []struct {
		name string
		make func(*Job)
		want float64
	}{
		{"async", func(*Job) {}, .016},
		{"sync", func(j *Job) { j.Mode = Sync }, .064},
		{"kept", func(j *Job) { j.Mode, j.GlobalBatch = AllReduce, 64 }, .064},
		{"steps", func(j *Job) { j.TotalSteps = 4000 }, .25},
	} {
		j := training("a")
		x.make(&j)
		s := &running{JobState: JobState{Job: j}}
		if got, ok := s.progress(Report{Step: 1000, Workers: 4}); !ok || math.Abs(got-x.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", x.name, got, x.want)
		}
	}
}

func TestPodsThatNeverStartedAskForLess(t *testing.T) {
	c := newController(t)
	j := training("a")
	j.Current.Workers.Replicas = 10
	start(t, c, j, Knowledge{})
	notice(t, c, Event{Job: "a", Time: minutes(1), Kind: Pending, Role: Worker, Pods: 10})
	if d := decide(t, c, 7, "a"); d.Kind != AskLess || d.Plan.Workers.Replicas != 1 {
		t.Errorf("%+v, want the smallest size", d)
	}
}

func TestHotServers(t *testing.T) {
	servers := func(hot int) func(int, Plan) []PodUsage {
		return func(_ int, p Plan) []PodUsage {
			var out []PodUsage
			for i := range p.Servers.Replicas {
				cores := p.Servers.Pod.CPU
				name := fmt.Sprintf("ps-%d", i)
				if r, ok := p.Pods[name]; ok && r.CPU > 0 {
					cores = r.CPU
				}
				share := .3
				if i < hot {
					share = .97
				}
				out = append(out, PodUsage{Name: name, Role: Server, CPU: share * cores, CPULimit: cores})
			}
			return out
		}
	}
	t.Run("one of two gets cores, then one more shares", func(t *testing.T) {
		c := newController(t)
		j := training("a")
		j.Current.Servers.Replicas = 2
		start(t, c, j, Knowledge{})
		changes := play(t, c, "a", 1, 60, steady, servers(1))
		var cores []float64
		for _, d := range changes {
			within(t, j, d.Plan)
			if d.Kind == HotServer {
				cores = append(cores, d.Plan.Pods["ps-0"].CPU)
			}
		}
		s, _ := c.Job("a")
		if len(cores) != 3 || cores[0] != 12 || cores[1] != 16 || s.Plan.Servers.Replicas != 3 || s.Plan.Servers.Pod.CPU != 8 {
			t.Errorf("cores of the hot server %v, plan %+v", cores, s.Plan)
		}
		if d := s.LastDecision; d.Kind != None {
			t.Errorf("changes on at the bounds: %+v", d)
		}
	})
	t.Run("all are hot", func(t *testing.T) {
		c := newController(t)
		j := training("a")
		start(t, c, j, Knowledge{})
		play(t, c, "a", 1, 60, steady, servers(9))
		s, _ := c.Job("a")
		if s.Plan.Servers.Pod.CPU != 16 || s.Plan.Servers.Replicas != 3 {
			t.Errorf("%+v, want the bounds of 16 cores and 3 servers", s.Plan.Servers)
		}
	})
	t.Run("not in one report", func(t *testing.T) {
		c := newController(t)
		start(t, c, training("a"), Knowledge{})
		hot, cold := servers(1), servers(0)
		changes := play(t, c, "a", 1, 60, steady, func(m int, p Plan) []PodUsage {
			if m%4 == 0 {
				return cold(m, p)
			}
			return hot(m, p)
		})
		if n := count(changes, HotServer); n > 0 {
			t.Errorf("%d decisions about servers that are hot in three reports of four", n)
		}
	})
}

func TestStragglersStartAgainElsewhere(t *testing.T) {
	c := newController(t)
	j := training("a")
	j.Current.Workers.Replicas = 5
	start(t, c, j, Knowledge{})
	replaced := map[string]int{}
	for m := 1; m < 200; m++ {
		var pods []PodUsage
		for i := range 5 {
			u := PodUsage{Name: fmt.Sprintf("w-%d", i), Role: Worker, StepSeconds: 1}
			if i == 3 {
				u.StepSeconds = 4
			}
			pods = append(pods, u)
		}
		r := report(float64(m), "a", 5, 5, float64(m), pods...)
		observe(t, c, r)
		d := decide(t, c, float64(m), "a")
		for _, name := range d.Plan.Replace {
			replaced[name]++
		}
		if d.Kind == None && len(d.Plan.Replace) > 0 {
			t.Fatal("a decision that changes nothing replaces pods")
		}
	}
	if len(replaced) != 1 || replaced["w-3"] != maxReplacements {
		t.Errorf("replaced %v, want w-3 twice: then it is slow everywhere", replaced)
	}
}

func TestEvictionsAreNoTimeToGrow(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	for m := 1; m < 100; m++ {
		if m%5 == 0 {
			notice(t, c, Event{Job: "a", Time: minutes(float64(m)), Kind: Evicted, Pods: 1})
		}
		observe(t, c, report(float64(m), "a", 1, 1, float64(m)))
		if d := decide(t, c, float64(m), "a"); m > 5 && d.Kind == Grow {
			t.Fatalf("minute %d: %s", m, d.Reason)
		}
	}
}

func TestSizesFollowTheMeasuredSpeedWhereItKeepsToNoLaw(t *testing.T) {
	c := newController(t)
	j := training("a")
	start(t, c, j, Knowledge{})
	// Faster with two workers, much slower with three or more.
	play(t, c, "a", 1, 600, func(n int) float64 { return []float64{0, 1, 1.8, .5}[min(n, 3)] }, nil)
	s, _ := c.Job("a")
	if s.Plan.Workers.Replicas > 2 {
		t.Errorf("%d workers, where 1 or 2 are faster: %+v", s.Plan.Workers.Replicas, s.Speeds)
	}
	for _, v := range s.Speeds {
		if math.IsNaN(v.Log) {
			t.Errorf("%+v", v)
		}
	}
}
