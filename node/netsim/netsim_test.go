package netsim

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// TestRun: a small network converges, in every scenario, within what the measurements
// may say.
func TestRun(t *testing.T) {
	steps := 0
	r, err := Run(t.Context(), Options{
		Nodes: 6, Records: 10, Held: 500, Scenarios: Scenarios()[:4], Seed: 1, SyncInterval: time.Second, Timeout: time.Minute,
		Dir: t.TempDir(), Progress: func(done, _ int) { steps = max(steps, done) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if !r.AllConverged() || len(r.Scenarios) != 4 || steps != 5 {
		t.Errorf("converged: %v, %d scenarios, %d steps", r.AllConverged(), len(r.Scenarios), steps)
	}
	r.Scenarios["network"] = r.Result
	for name, s := range r.Scenarios {
		if s.SecondsP50 <= 0 || s.SecondsP99 < s.SecondsP50 || s.BytesMinimum <= 0 || s.BytesPerNode < s.BytesMinimum || s.ResidentMB <= 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name, want := range map[string][2]int{
		"network": {6, 60}, LateJoiner: {7, 60}, Partition: {7, 67}, Churn: {7, 102}, Reconcile100: {2, 600},
	} {
		if s := r.Scenarios[name]; s.Nodes != want[0] || s.Records != want[1] {
			t.Errorf("%s: %d nodes and %d records, want %v", name, s.Nodes, s.Records, want)
		}
	}
}

func TestOptions(t *testing.T) {
	good := Options{Nodes: 2, Records: 1, Held: 1}
	for name, change := range map[string]func(*Options){
		"one node":          func(o *Options) { o.Nodes = 1 },
		"too many nodes":    func(o *Options) { o.Nodes = maxNodes + 1 },
		"no records":        func(o *Options) { o.Records = 0 },
		"too many records":  func(o *Options) { o.Records = 1 << 20 },
		"nothing held":      func(o *Options) { o.Held = 0 },
		"unknown scenario":  func(o *Options) { o.Scenarios = []string{"earthquake"} },
		"negative interval": func(o *Options) { o.SyncInterval = -1 },
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*time.Second)
	}
	for q, want := range map[float64]float64{.5: 50, .99: 99, 1: 100, .001: 1} {
		if got := quantile(all, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := quantile(nil, .5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
