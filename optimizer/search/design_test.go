package search

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

// TestDesignIsALatinHypercube: of a dense space, three design points take one from
// each third of every feature.
func TestDesignIsALatinHypercube(t *testing.T) {
	var c []Candidate
	for i := range 8 * 8 * 8 {
		cores := math.Exp2(float64(i / 8 % 8))
		c = append(c, Candidate{
			Configuration: model.Configuration{MachineType: fmt.Sprint("m", i), ScaleOut: 1 << (i % 8)},
			Resources:     model.Resources{VCPUs: cores, MemoryGiB: cores * math.Exp2(float64(i/64))}, USDPerHour: 1,
		})
	}
	for seed := range uint64(20) {
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Seed: seed}
		tried, _ := search(t, NewCherryPick(), p, 3)
		x := (&state{problem: p}).designSpace()
		for k := range designFeatures {
			v := []float64{x[tried[0]][k], x[tried[1]][k], x[tried[2]][k]}
			slices.Sort(v)
			// Thirds of the middle 80%, and half a step of the grid of eight.
			const slack = 0.5/7 + 1e-9
			if v[0] > 0.1+0.8/3+slack || math.Abs(v[1]-0.5) > 0.4/3+slack || v[2] < 0.9-0.8/3-slack || v[0] < 0.1-slack || v[2] > 0.9+slack {
				t.Errorf("seed %d, feature %d: %v", seed, k, v)
			}
		}
	}
}

func TestDesignGoesOnAfterFailures(t *testing.T) {
	c := space(30)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Minute}
	var observed []Observation
	for range 9 {
		e, err := NewCherryPick().Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkEvaluation(p, observed, e); err != nil {
			t.Fatal(err)
		}
		observed = append(observed, ran(c[e.Next], 0, model.Failed))
	}
}

func TestDesignInOneDimension(t *testing.T) {
	var c []Candidate
	for n := 1; n <= 16; n *= 2 {
		c = append(c, Candidate{Configuration: model.Configuration{MachineType: "m", ScaleOut: n}, Resources: model.Resources{VCPUs: 2, MemoryGiB: 8}, USDPerHour: 1})
	}
	tried, _ := search(t, NewCherryPick(), &Problem{Topic: spark, Candidates: c, Objective: Cost}, 3)
	if len(tried) != 3 || tried[0] == tried[1] || tried[1] == tried[2] || tried[0] == tried[2] {
		t.Errorf("design %v", tried)
	}
	for _, x := range (&state{problem: &Problem{Candidates: c[:1]}}).designSpace() {
		if x != [designFeatures]float64{} {
			t.Errorf("one candidate lies at %v", x)
		}
	}
}
