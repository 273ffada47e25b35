package advisor_test

import (
	"fmt"
	"testing"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// BenchmarkSweep predicts 33 configurations from own runs and the models of eight peers,
// all of them known from the sweep before.
func BenchmarkSweep(b *testing.B) {
	f := newFixture(b)
	f.add(b, grepRuns("nightly", 10, 20, 40))
	var models sharedModels
	for i := range 8 {
		models = append(models, shared(b, fmt.Sprint("peer", i), grepRuns("x", 10, float64(20+10*i))))
	}
	f.RuntimeModels = models
	req := &karasuv1.SweepRequest{Target: grep(nil), MachineTypes: []string{"m4.large", "m4.xlarge", "m4.2xlarge"}, DeadlineSeconds: 60}
	for b.Loop() {
		if _, err := f.Sweep(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
