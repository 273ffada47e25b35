package simulator

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/throughput"
	"github.com/karasu-project/karasu/model/throughput/replay"
)

// madeUp is a curve with a knee, and a job on it of an hour at its best size.
func madeUp(t *testing.T, knee float64) (*truth, *job) {
	t.Helper()
	c := replay.Curve{Network: "cnn", Mode: throughput.Async, Batch: 16, MachineType: "t2.2xlarge", Cores: 8}
	for _, n := range []int{1, 2, 4, 6, 8, 10, 12, 14} {
		c.Points = append(c.Points, replay.CurvePoint{Workers: n, StepSeconds: math.Hypot(1, float64(n)/knee)})
	}
	curve, err := newTruth(c)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{id: "a", truth: curve, oracle: curve.best(oracleKappa), hot: 2, noise: []float64{1}, signal: 1,
		asked: 1, memoryStart: 1 << 30, memoryEnd: 1 << 30, memoryAsked: 2 << 30}
	j.pushes = 3600 * curve.pushes[j.oracle]
	return curve, j
}

func run(t *testing.T, name string, jobs ...*job) outcome {
	t.Helper()
	a, err := newArm(name, []*truth{jobs[0].truth})
	if err != nil {
		t.Fatal(err)
	}
	o, err := play(jobs, 50, a)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTruthGoesThroughWhatWasMeasured(t *testing.T) {
	curve, _ := madeUp(t, 3)
	for _, p := range curve.Points {
		if got := curve.pushes[p.Workers]; math.Abs(got-p.Pushes()) > 1e-9 {
			t.Errorf("%d workers: %g pushes, measured %g", p.Workers, got, p.Pushes())
		}
	}
	for u := minUnits; u < maxUnits; u++ {
		if curve.pushes[u+1] < curve.pushes[u] {
			t.Errorf("slower with %d units than with %d, where no measurement was", u+1, u)
		}
	}
	if best := curve.best(.25); best != 5 {
		t.Errorf("best size %d, want 5: the knee times the root of 3", best)
	}
}

func TestAJobTakesItsTime(t *testing.T) {
	_, j := madeUp(t, 3)
	o := run(t, Oracle, j)
	want := (podStart + rendezvous + 3600) / 3600.
	if len(o.hours) != 1 || math.Abs(o.hours[0]-want) > 1e-6 || o.dead != 0 || o.changes[0] != 0 {
		t.Errorf("%+v, want %g hours", o, want)
	}
}

func TestFaultsCostTime(t *testing.T) {
	_, plain := madeUp(t, 3)
	base := run(t, Oracle, plain).hours[0]
	_, evicted := madeUp(t, 3)
	evicted.evictions = []float64{1000}
	_, hot := madeUp(t, 3)
	hot.hot = .1
	for name, j := range map[string]*job{"evicted": evicted, "hot": hot} {
		if got := run(t, Oracle, j).hours[0]; !(got > base+.01) {
			t.Errorf("%s: %.3f hours, %.3f without", name, got, base)
		}
	}
	if static, karasu := run(t, Manual, hot).hours[0], run(t, KarasuAlone, hot).hours[0]; !(karasu < static) {
		t.Errorf("%.2f hours with more cores for a hot server, %.2f without", karasu, static)
	}
}

func TestJobsThatRunOutOfMemory(t *testing.T) {
	_, j := madeUp(t, 3)
	j.memoryStart, j.memoryEnd, j.memoryAsked = 1<<30, 8<<30, 2<<30
	if o := run(t, Manual, j); o.dead != 1 || o.hours[0] != deadHours {
		t.Errorf("static: %+v, want one dead", o)
	}
	for _, arm := range []string{DLRover, KarasuAlone} {
		if o := run(t, arm, j); o.dead != 0 || o.hours[0] > 4 {
			t.Errorf("%s: %+v, want none dead", arm, o)
		}
	}
	// Growth that starts within the limit is seen before it runs out.
	_, slow := madeUp(t, 3)
	slow.memoryStart, slow.memoryEnd, slow.memoryAsked = 1<<30, 4<<30, 2<<30
	even := run(t, KarasuAlone, func() *job { _, e := madeUp(t, 3); return e }()).hours[0]
	if got := run(t, KarasuAlone, slow).hours[0]; math.Abs(got-even) > .02 {
		t.Errorf("%.3f hours with growing memory, %.3f without: it ran out", got, even)
	}
}

func TestAFullClusterQueues(t *testing.T) {
	var jobs []*job
	for range 20 {
		_, j := madeUp(t, 3)
		j.asked = 14
		jobs = append(jobs, j)
	}
	o := run(t, Manual, jobs...) // 3 of 20 at a time
	if len(o.hours) != 20 || !(quantile(o.hours, 1) > 5*quantile(o.hours, 0)) {
		t.Errorf("%v hours: nobody waited", o.hours)
	}
}

func TestSimulationsRepeat(t *testing.T) {
	c := measured(t)
	c.Seeds, c.FirstSeed, c.Loads, c.Arms = 2, 5, []float64{.6}, []string{Manual, KarasuPeers}
	first, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	cores := runtime.GOMAXPROCS(1)
	second, err := Run(t.Context(), c)
	runtime.GOMAXPROCS(cores)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// TestFiguresOfTheReport checks the targets on a few of the seeds that are reported.
func TestFiguresOfTheReport(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 126 simulations")
	}
	c := measured(t)
	c.Seeds = 6
	c.Arms = []string{Manual, ManualInformed, Oracle, DLRover, DLRoverNoisy, KarasuAlone, KarasuPeers}
	report, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[float64]map[string]Row{}
	for _, r := range report.Rows {
		if rows[r.Load] == nil {
			rows[r.Load] = map[string]Row{}
		}
		rows[r.Load][r.Arm] = r
	}
	for _, x := range []struct{ load, manual, informed, oracle, cpu float64 }{
		{.2, .80, .87, 1.12, .10}, {.6, .60, .85, 1.03, .13}, {1.1, .45, .80, .92, .18},
	} {
		at := rows[x.load]
		peers := at[KarasuPeers]
		for other, most := range map[string]float64{Manual: x.manual, ManualInformed: x.informed, Oracle: x.oracle, DLRover: 1, DLRoverNoisy: 1, KarasuAlone: 1} {
			if got := peers.JCTMedian / at[other].JCTMedian; !(got <= most) {
				t.Errorf("load %g: %.3f of the median time of %s, want at most %.2f", x.load, got, other, most)
			}
		}
		if peers.CompletionRate < .99 || peers.CPUUtilisation < at[Manual].CPUUtilisation+x.cpu {
			t.Errorf("load %g: completed %.3f, cores used %.2f beside %.2f", x.load, peers.CompletionRate, peers.CPUUtilisation, at[Manual].CPUUtilisation)
		}
		if peers.ChangesPerJob > 3.5 || peers.ChangesP99 > 10 || peers.ChangesPerJob >= at[KarasuAlone].ChangesPerJob {
			t.Errorf("load %g: %.2f changes a job (p99 %.0f), alone %.2f", x.load, peers.ChangesPerJob, peers.ChangesP99, at[KarasuAlone].ChangesPerJob)
		}
	}
	for _, r := range report.Rows {
		for name, share := range map[string]float64{"completed": r.CompletionRate, "cores": r.CPUUtilisation, "memory": r.MemoryUtilisation} {
			if !(share > 0 && share <= 1) {
				t.Errorf("%s at %g: %s %g", r.Arm, r.Load, name, share)
			}
		}
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	trace := &Trace{}
	curve, _ := madeUp(t, 3)
	for name, c := range map[string]Config{
		"nothing": {}, "arm": {Arms: []string{"luck"}}, "load": {Loads: []float64{0}}, "NaN": {Loads: []float64{math.NaN()}},
		"seeds": {Seeds: -1}, "jobs": {Jobs: 1}, "small cluster": {CPU: 8},
	} {
		if name != "nothing" {
			c.Curves, c.Trace = []replay.Curve{curve.Curve}, trace
		}
		if _, err := Run(t.Context(), c); !errors.Is(err, throughput.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := curve.Curve
	short.Points = short.Points[:4]
	if _, err := newTruth(short); err == nil {
		t.Error("a curve that ends at 6 units was taken")
	}
	if err := trace.validate(); !errors.Is(err, throughput.ErrInvalid) {
		t.Errorf("an empty trace: %v", err)
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add("time,batch_time_norm\n1,400\n2,500.5\n")
	f.Add("a,time,batch_time_norm\nx,NaN,1\n")
	f.Fuzz(func(t *testing.T, table string) {
		err := parseTable(strings.NewReader(table), []string{"time", "batch_time_norm"}, func(v []float64) {
			for _, x := range v {
				if !(x >= 0) || math.IsInf(x, 0) {
					t.Fatalf("%g was taken", x)
				}
			}
		})
		_ = err // what is no table is refused
	})
}
