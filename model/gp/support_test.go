package gp

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

func TestAppendFeatures(t *testing.T) {
	got := AppendFeatures([]float64{7}, model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, model.Resources{VCPUs: 4, MemoryGiB: 16})
	if diff := cmp.Diff([]float64{7, 5, 2, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func points(n int) []model.Point {
	var out []model.Point
	for i := range n {
		nodes := 1 + i
		out = append(out, model.Point{
			Configuration: model.Configuration{MachineType: []string{"a", "b"}[i%2], ScaleOut: nodes},
			Resources:     model.Resources{VCPUs: float64(2 + 2*(i%2)), MemoryGiB: 8},
			LogRuntime:    -0.7 * math.Log(float64(nodes)),
			OK:            1,
		})
	}
	return out
}

func TestTrainSupportLearnsTheShape(t *testing.T) {
	w, err := TrainSupport(points(10))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	g, err := FromWeights(w)
	if err != nil {
		t.Fatal(err)
	}
	var xs []float64
	for _, nodes := range []int{2, 4, 8} {
		xs = AppendFeatures(xs, model.Configuration{MachineType: "a", ScaleOut: nodes}, model.Resources{VCPUs: 2, MemoryGiB: 8})
	}
	mean, _, err := g.Posterior(xs)
	if err != nil {
		t.Fatal(err)
	}
	if !(mean[0] > mean[1] && mean[1] > mean[2]) {
		t.Errorf("standardised log runtimes %v of 2, 4, 8 nodes must fall", mean)
	}
}

func TestTrainSupportIgnoresOrderAndLevel(t *testing.T) {
	want, err := TrainSupport(points(9))
	if err != nil {
		t.Fatal(err)
	}
	other := points(9)
	slices.Reverse(other)
	for i := range other {
		other[i].LogRuntime += 5
	}
	failed := points(11)[9:]
	for i := range failed {
		failed[i].OK, failed[i].Failed, failed[i].LogRuntime = 0, 2, 0
	}
	got, err := TrainSupport(append(failed, other...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, approx(1e-6)); diff != "" {
		t.Error(diff)
	}
}

func TestTrainSupportBounds(t *testing.T) {
	many := points(maxSupportPoints + 20)
	many[maxSupportPoints+7].OK = 5
	w, err := TrainSupport(many)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Targets) != maxSupportPoints {
		t.Errorf("%d inputs, want %d", len(w.Targets), maxSupportPoints)
	}
	p := many[maxSupportPoints+7]
	if diff := cmp.Diff(AppendFeatures(nil, p.Configuration, p.Resources), w.Inputs[:3]); diff != "" {
		t.Errorf("the configuration with most runs is left out:\n%s", diff)
	}

	bad := points(4)
	bad[1].Resources.VCPUs = math.NaN()
	few := points(3)
	few[0].OK, few[0].Failed = 0, 1
	for name, p := range map[string][]model.Point{"none": nil, "two": few, "no vCPUs": bad} {
		if _, err := TrainSupport(p); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}
