package elastic

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/throughput"
)

func TestStartDependsOnWhatIsKnown(t *testing.T) {
	peer := Summary{Topic: topicOf("cnn"), MachineType: "t2.2xlarge", Mode: Async, Batch: 16, WorkerCores: 8, Knee: 3, KneeSD: .1, WorkerMemory: 2 * gibibyte, Servers: 2, Reports: 100}
	own, other, sync := peer, peer, peer
	own.Own = true
	other.Topic = topicOf("rnn")
	sync.Mode = Sync
	for _, c := range []struct {
		name        string
		known       []Summary
		workers     int
		memory      float64
		servers     int
		saysHistory string
	}{
		{"nobody", nil, 1, 8 * gibibyte, 1, fromNobody},
		{"others", []Summary{other}, 1, 8 * gibibyte, 1, fromOthers},
		{"another mode only", []Summary{sync}, 1, 8 * gibibyte, 1, fromNobody},
		{"peers", []Summary{peer, other}, 4, 3 * gibibyte, 1, fromPeers},
		{"own before peers", []Summary{peer, own}, 8, 3 * gibibyte, 1, fromOwn},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, newController(t), training("a"), Knowledge{Jobs: c.known})
			if d.Kind != Start || d.Number != 1 || !strings.Contains(d.Reason, c.saysHistory) || len(d.Evidence) < 3 {
				t.Errorf("%+v", d)
			}
			if d.Plan.Workers.Replicas != c.workers || d.Plan.Workers.Pod.Memory != c.memory || d.Plan.Servers.Replicas != c.servers {
				t.Errorf("plan %+v, want %d workers of %g bytes and %d servers", d.Plan, c.workers, c.memory, c.servers)
			}
		})
	}
}

func TestStartCarriesCapsOverToAnotherMachineType(t *testing.T) {
	// The training model ran on one type only; others tell that the type in question
	// takes a quarter of the pushes.
	k := Knowledge{
		Jobs:    []Summary{{Topic: topicOf("cnn"), MachineType: "t2.small", Mode: Async, WorkerCores: 1, Knee: 2, Cap: 40, CapSD: .05, Reports: 50}},
		Factors: [][]throughput.Factor{{{Mode: Async, MachineType: "t2.small", Log: 0}, {Mode: Async, MachineType: "t2.2xlarge", Log: math.Log(.25)}}},
	}
	c := newController(t)
	start(t, c, training("a"), k)
	s, _ := c.Job("a")
	if s.Cap == nil || math.Abs(math.Exp(s.Cap.Log)-10) > .1 {
		t.Fatalf("cap %+v, want 10 pushes a second", s.Cap)
	}
	belief := throughput.Belief{Weights: s.Prior}
	if knee, _ := belief.LogKnee(); math.Abs(knee-math.Log(.5)) > .7 {
		t.Errorf("knee about %.2f, want a quarter of 2 units", math.Exp(knee))
	}
	// Four times as many pushes make it start larger.
	k.Factors[0][1].Log = math.Log(4)
	if d := start(t, newController(t), training("a"), k); d.Plan.Workers.Replicas != 4 {
		t.Errorf("%d workers with a knee of 8 units, want as many as may start", d.Plan.Workers.Replicas)
	}
	// Without factors knees of another machine type do not start jobs.
	k.Factors = nil
	if d := start(t, newController(t), training("a"), k); d.Plan.Workers.Replicas != 1 {
		t.Errorf("%d workers by a machine type that tells nothing of this one", d.Plan.Workers.Replicas)
	}
}

func TestStartKeepsWhatRuns(t *testing.T) {
	j := training("a")
	j.Bounds.WorkerMultiple = 2
	j.Current.Workers.Replicas = 7
	if d := start(t, newController(t), j, Knowledge{}); d.Plan.Workers.Replicas != 6 {
		t.Errorf("%d workers, want 6: the largest size within the bounds", d.Plan.Workers.Replicas)
	}
}

func TestGrowsToTheKneeAndStops(t *testing.T) {
	for _, knee := range []float64{.5, 2, 5} {
		c := newController(t)
		start(t, c, training("a"), Knowledge{})
		changes := play(t, c, "a", 1, 240, func(n int) float64 { return law(n, knee) }, nil)
		s, _ := c.Job("a")
		n := float64(s.Plan.Workers.Replicas)
		// Growing ends where the elasticity is Kappa, at knee x sqrt(3); a rung less is
		// not worth a change.
		if best := knee * math.Sqrt(3); n > best+1.5 || n < best*.6-.5 {
			t.Errorf("knee %g: %g workers, about %.1f pay", knee, n, best)
		}
		if len(changes) > 4 {
			t.Errorf("knee %g: %d changes", knee, len(changes))
		}
		for _, d := range changes {
			if d.Reason == "" || len(d.Evidence) == 0 {
				t.Errorf("decision without reason or evidence: %+v", d)
			}
		}
	}
}

func TestKeptGlobalBatchHasSizesThatDivideIt(t *testing.T) {
	j := training("a")
	j.Mode, j.Batch, j.GlobalBatch, j.TotalSamples, j.TotalSteps = AllReduce, 0, 96, 0, 100_000
	c := newController(t)
	d := start(t, c, j, Knowledge{})
	if d.Plan.Servers != (Group{}) {
		t.Errorf("all-reduce has no servers: %+v", d.Plan.Servers)
	}
	plan := d.Plan
	for m := 1; m < 120; m++ {
		n := float64(plan.Workers.Replicas)
		r := Report{Job: "a", Time: minutes(float64(m)), Step: int64(m * 60), StepsPerSecond: 1 / math.Hypot(1/n, .02*n), Workers: plan.Workers.Replicas}
		observe(t, c, r)
		plan = decide(t, c, float64(m), "a").Plan
		if 96%plan.Workers.Replicas != 0 {
			t.Fatalf("%d workers do not divide a batch of 96", plan.Workers.Replicas)
		}
	}
	// Beyond the knee of 7 workers speed falls.
	if n := plan.Workers.Replicas; n < 3 || n > 8 {
		t.Errorf("%d workers, want 4 to 8", n)
	}
}

func TestReportsThatCannotCountChangeNothing(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	observe(t, c, report(5, "a", 1, 1, 100))
	before := c.State()
	late, twice, ahead, nobody := report(4, "a", 1, 1, 50), report(5, "a", 1, 9, 100), report(60, "a", 1, 1, 200), report(6, "b", 1, 1, 1)
	for _, x := range []struct {
		name string
		r    Report
		want error
	}{{"late", late, ErrLate}, {"twice", twice, ErrDuplicate}, {"ahead", ahead, ErrInvalid}, {"unknown", nobody, ErrUnknownJob}} {
		if err := c.Observe(minutes(6), x.r); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", x.name, err, x.want)
		}
	}
	nan := report(6, "a", 1, math.NaN(), 200)
	negative, endless, two := report(6, "a", 1, -1, 200), report(6, "a", 1, math.Inf(1), 200), report(6, "a", 1, 1, 200, PodUsage{Name: "w", Role: Worker}, PodUsage{Name: "w", Role: Worker})
	used := report(6, "a", 1, 1, 200, PodUsage{Name: "w", Role: Worker, Memory: math.NaN()})
	nowhere := report(6, "a", 0, 1, 200)
	for _, r := range []Report{nan, negative, endless, two, used, nowhere, {Job: "a"}} {
		if err := c.Observe(minutes(6), r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	e := Event{Job: "a", Time: minutes(5), Kind: Evicted, Pods: 1}
	notice(t, c, e)
	if err := c.Notice(minutes(6), e); !errors.Is(err, ErrDuplicate) {
		t.Errorf("event twice: %v", err)
	}
	if err := c.Notice(minutes(6), Event{Job: "a", Time: minutes(5), Kind: "fire"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("event of no kind: %v", err)
	}
	after := c.State()
	after.Jobs[0].Events, after.Jobs[0].Evicted = nil, time.Time{}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state changed:\n%s", diff)
	}
}

func TestZeroSpeedIsNoMeasurement(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	for m := 1; m <= 30; m++ {
		observe(t, c, report(float64(m), "a", 1, 0, 0))
		if d := decide(t, c, float64(m), "a"); d.Changes() {
			t.Fatalf("changed without any speed: %+v", d)
		}
	}
}

func TestOneWildReportMovesLittle(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	play(t, c, "a", 1, 100, func(n int) float64 { return law(n, 2) }, nil)
	s, _ := c.Job("a")
	r := report(100, "a", s.Plan.Workers.Replicas, 1e8, s.Last.Samples+100)
	observe(t, c, r)
	before := s.Plan.Workers.Replicas
	if d := decide(t, c, 100, "a"); d.Plan.Workers.Replicas > before+1 || d.Plan.Workers.Replicas < before {
		t.Errorf("one report of 1e8 pushes a second made %d workers %d: %s", before, d.Plan.Workers.Replicas, d.Reason)
	}
}

func TestRestartLosesNothing(t *testing.T) {
	speed := func(n int) float64 { return law(n, 4) }
	pods := func(m int, p Plan) []PodUsage {
		return []PodUsage{{Name: "w", Role: Worker, Memory: float64(m) * 3e7, MemoryLimit: p.Workers.Pod.Memory}}
	}
	whole := newController(t)
	start(t, whole, training("a"), Knowledge{})
	play(t, whole, "a", 1, 200, speed, pods)

	first := newController(t)
	start(t, first, training("a"), Knowledge{})
	c := first
	for m := 1; m < 200; m++ { // restarts every minute
		play(t, c, "a", m, m+1, speed, pods)
		data, err := json.Marshal(c.State())
		if err != nil {
			t.Fatal(err)
		}
		var s State
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		if c, err = Restore(DefaultPolicy(), s); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(whole.State(), c.State()); diff != "" {
		t.Errorf("restarts changed what the controller knows:\n%s", diff)
	}
}

func TestThroughputIsFittedToTheReports(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	s, _ := c.Job("a")
	if _, err := s.Throughput(); !errors.Is(err, throughput.ErrInvalid) {
		t.Errorf("a model without any report: %v", err)
	}
	play(t, c, "a", 1, 200, func(n int) float64 { return law(n, 3) }, nil)
	s, _ = c.Job("a")
	m, err := s.Throughput()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 4, 12} {
		got, sd := m.SamplesPerSecond(s.Setting(n))
		if want := 16 * law(n, 3); math.Abs(got/want-1) > .02 || !(sd < .5) {
			t.Errorf("%d workers: %.1f samples a second (sd %.2f), want %.1f", n, got, sd, want)
		}
	}
	kept := s
	kept.Job.Mode, kept.Job.GlobalBatch = AllReduce, 96
	kept.Speeds = nil
	for _, n := range []int{1, 2, 4, 8} {
		kept.Speeds = append(kept.Speeds, Speed{Workers: n, Minutes: 10, Log: -math.Log(math.Hypot(8/float64(n), .5*float64(n-1)))})
	}
	if m, err = kept.Throughput(); err != nil {
		t.Fatal(err)
	}
	if got, _ := m.StepSeconds(kept.Setting(6)); math.Abs(got/math.Hypot(8./6, 2.5)-1) > .02 {
		t.Errorf("%.2f s a step with a kept batch, want %.2f", got, math.Hypot(8./6, 2.5))
	}
}

func TestFinishTellsWhatOthersCanLearn(t *testing.T) {
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	play(t, c, "a", 1, 200, func(n int) float64 { return law(n, 3) }, func(int, Plan) []PodUsage {
		return []PodUsage{{Name: "w", Role: Worker, Memory: 3 * gibibyte}}
	})
	s, err := c.Finish("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if math.Abs(math.Log(s.Knee/3)) > .2 || math.Abs(math.Log(s.Cap/3)) > .2 || s.WorkerMemory != 3*gibibyte || !s.Own {
		t.Errorf("%+v, want a knee of 3 units and a cap of 3 pushes a second", s)
	}
	if _, err := c.Finish("a"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("finished twice: %v", err)
	}
	if err := c.Observe(minutes(300), report(300, "a", 1, 1, 1)); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("report of a finished job: %v", err)
	}
}

func TestJobsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Job){
		"no id":                  func(j *Job) { j.ID = "" },
		"no topic":               func(j *Job) { j.Topic.Algorithm = "" },
		"mode":                   func(j *Job) { j.Mode = "ring" },
		"bounds":                 func(j *Job) { j.Bounds.MinWorkers = 20 },
		"no multiple in bounds":  func(j *Job) { j.Bounds.MinWorkers, j.Bounds.MaxWorkers, j.Bounds.WorkerMultiple = 5, 7, 4 },
		"async global batch":     func(j *Job) { j.GlobalBatch = 64 },
		"NaN cores":              func(j *Job) { j.Current.Workers.Pod.CPU = math.NaN() },
		"negative length":        func(j *Job) { j.TotalSteps = -1 },
		"endless":                func(j *Job) { j.TotalSamples = math.Inf(1) },
		"memory bound":           func(j *Job) { j.Bounds.MaxPodMemory = -1 },
		"too many workers":       func(j *Job) { j.Bounds.MaxWorkers = MaxReplicas + 1 },
		"unnamed pod":            func(j *Job) { j.Current.Pods = map[string]Resources{"": {}} },
		"negative running count": func(j *Job) { j.Current.Workers.Replicas = -1 },
	} {
		j := training("a")
		change(&j)
		c := newController(t)
		if _, err := c.Start(begin, j, Knowledge{}, Cluster{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.State().Jobs) != 0 {
			t.Errorf("%s: a job that cannot be is kept", name)
		}
	}
	c := newController(t)
	start(t, c, training("a"), Knowledge{})
	if _, err := c.Start(begin, training("a"), Knowledge{}, Cluster{}); !errors.Is(err, ErrJobExists) {
		t.Errorf("started twice: %v", err)
	}
	if _, err := c.Start(begin, training("b"), Knowledge{Jobs: []Summary{{Knee: math.NaN()}}}, Cluster{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("knowledge that cannot be: %v", err)
	}
	if _, err := New(Policy{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("policy without constants: %v", err)
	}
}
