package simulator

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

func TestMetricsAreValid(t *testing.T) {
	cs := candidates(t)
	for _, w := range Workloads("aws-ec2", 18, 1) {
		full := 0
		for _, c := range cs {
			m := w.Metrics(c)
			if err := m.Validate(); err != nil {
				t.Fatalf("%s on %s: %v", w.Job, c.Configuration, err)
			}
			if m.Memory.P50 == 1 {
				full++
			}
			if spills := memoryFraction*float64(c.Configuration.ScaleOut)*c.Resources.MemoryGiB < w.WorkingSetGiB; spills != (m.Disk.P50 > 0) {
				t.Errorf("%s on %s: spills %v, disk %v", w.Job, c.Configuration, spills, *m.Disk)
			}
		}
		if full == len(cs) {
			t.Errorf("%s fills the memory of every configuration", w.Job)
		}
	}
}

// regret searches a workload and returns the mean over six runs of ln(best valid cost
// so far over the best there is), at most ln 3 each.
func regret(t *testing.T, m search.Method, w Workload, cs []search.Candidate, supports []search.Support, metrics bool, seed uint64) float64 {
	t.Helper()
	seconds, cost := make([]float64, len(cs)), make([]float64, len(cs))
	for i, c := range cs {
		s, ok := w.Runtime(c)
		if !ok {
			s = math.Inf(1)
		}
		seconds[i], cost[i] = s, s*float64(c.Configuration.ScaleOut)*c.USDPerHour
	}
	target := slices.Sorted(slices.Values(seconds))[len(cs)/3]
	optimum := math.Inf(1)
	for i := range cs {
		if seconds[i] <= target {
			optimum = min(optimum, cost[i])
		}
	}
	p := &search.Problem{
		Topic: w.Topic(), Candidates: cs, Objective: search.Cost, Seed: seed, Supports: supports,
		Target: time.Duration(target * float64(time.Second)),
	}
	const runs = 6
	best, sum := math.Inf(1), 0.
	var observed []search.Observation
	for range runs {
		e, err := m.Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		i := e.Next
		run := w.Run(cs[i], seed)
		o := search.Observation{Configuration: cs[i].Configuration, Outcome: run.Outcome, RuntimeSeconds: run.RuntimeSeconds}
		if metrics {
			o.Metrics = w.Metrics(cs[i])
		}
		observed = append(observed, o)
		if seconds[i] <= target {
			best = min(best, cost[i])
		}
		sum += math.Log(min(best/optimum, 3)) / runs
	}
	return sum
}

// support is what another organisation would share of ten runs of a workload.
func support(w Workload, cs []search.Candidate, metrics bool, id int) search.Support {
	s := model.Summary{Topic: w.Topic(), Pseudonym: pseudonym(id)}
	mean := 0.
	for k := range 10 {
		c := cs[(k*len(cs)/10+7*id)%len(cs)]
		q := model.Point{Configuration: c.Configuration, Resources: c.Resources, OK: 1}
		seconds, ok := w.Runtime(c)
		if !ok {
			continue
		}
		q.LogRuntime = math.Log(seconds)
		mean += q.LogRuntime
		if metrics {
			q.Metrics = w.Metrics(c)
		}
		s.Points = append(s.Points, q)
	}
	for i := range s.Points {
		s.Points[i].LogRuntime -= mean / float64(len(s.Points))
	}
	return search.Support{Author: "peer", Summary: s}
}

func pseudonym(id int) string {
	digits := []byte("00000000000000000000000000000000")
	for i := len(digits) - 1; id > 0; i-- {
		digits[i] = '0' + byte(id%10)
		id /= 10
	}
	return string(digits)
}

// TestMetricsHelpTheTrees: what a run used tells methods with trees where memory ends and
// cores idle, alone and with others' runs.
func TestMetricsHelpTheTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cs := candidates(t)
	workloads := Workloads("aws-ec2", 27, 5)
	for _, name := range []string{"arrow", "karasu-trees"} {
		m, err := search.New(name)
		if err != nil {
			t.Fatal(err)
		}
		sums := map[bool]float64{}
		for _, metrics := range []bool{false, true} {
			for i, w := range workloads[:9] {
				supports := []search.Support{support(workloads[9+i], cs, metrics, 9+i), support(workloads[18+i], cs, metrics, 18+i)}
				for seed := range uint64(6) {
					sums[metrics] += regret(t, m, w, cs, supports, metrics, seed) / 54
				}
			}
		}
		t.Logf("%s: mean log regret %.3f without metrics, %.3f with", name, sums[false], sums[true])
		if !(sums[true] < sums[false]) {
			t.Errorf("%s: metrics do not help", name)
		}
	}
}
