package simulator

import (
	"math"
	"slices"
	"testing"

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

// predictionError is the mean square error of what a method predicts of the log runtime
// on every configuration after eight runs drawn by the seed.
func predictionError(t *testing.T, m search.Method, w Workload, cs []search.Candidate, supports []search.Support, metrics bool, seed uint64) float64 {
	t.Helper()
	p := &search.Problem{Topic: w.Topic(), Candidates: cs, Objective: search.Cost, Seed: seed, Supports: supports}
	var observed []search.Observation
	for _, r := range Runs([]Workload{w}, cs, 8, seed) {
		o := search.Observation{Configuration: r.Configuration, Outcome: r.Outcome, RuntimeSeconds: r.RuntimeSeconds}
		if i := slices.IndexFunc(cs, func(c search.Candidate) bool { return c.Configuration == r.Configuration }); metrics {
			o.Metrics = w.Metrics(cs[i])
		}
		observed = append(observed, o)
	}
	e, err := m.Evaluate(p, observed)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for i, c := range cs {
		seconds, _ := w.Runtime(c)
		d := e.Predictions[i].LogMean - math.Log(seconds)
		sum += d * d / float64(len(cs))
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
	workloads := Workloads("aws-ec2", 54, 5)
	for _, name := range []string{"arrow", "karasu-trees"} {
		m, err := search.New(name)
		if err != nil {
			t.Fatal(err)
		}
		sums := map[bool]float64{}
		for _, metrics := range []bool{false, true} {
			for i, w := range workloads[:18] {
				supports := []search.Support{support(workloads[9+i], cs, metrics, 9+i), support(workloads[18+i], cs, metrics, 18+i)}
				for seed := range uint64(2) {
					sums[metrics] += predictionError(t, m, w, cs, supports, metrics, seed) / 36
				}
			}
		}
		t.Logf("%s: root mean square error of log runtime %.3f without metrics, %.3f with", name, math.Sqrt(sums[false]), math.Sqrt(sums[true]))
		if !(sums[true] < sums[false]) {
			t.Errorf("%s: metrics do not help", name)
		}
	}
}
