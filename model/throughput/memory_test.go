package throughput

import (
	"math"
	"testing"
)

func TestMemoryGrowsAlongALine(t *testing.T) {
	var m Memory
	for i := 1; i <= 20; i++ {
		x := float64(i) / 100
		m.Observe(x, 1e9+4e9*x)
	}
	if g := m.Growth(); math.Abs(g-4e9) > 1 {
		t.Errorf("growth %g, want 4e9", g)
	}
	if bytes, sd := m.At(1); math.Abs(bytes-5e9) > 10 || !(sd < 1e3) {
		t.Errorf("%g bytes (sd %g) at the end, want 5e9", bytes, sd)
	}
	if at, ok := m.RunsOut(3e9); !ok || math.Abs(at-.5) > 1e-6 {
		t.Errorf("runs out at %g, want .5", at)
	}
}

func TestMemoryIsNeverPredictedBelowWhatWasUsed(t *testing.T) {
	var m Memory
	for i := range 10 {
		m.Observe(float64(i), 1e9-1e7*float64(i)) // falls
	}
	if bytes, _ := m.At(100); bytes != 1e9 {
		t.Errorf("%g bytes, 1e9 were used", bytes)
	}
	if _, ok := m.RunsOut(2e9); ok {
		t.Error("memory that falls runs out")
	}
	var one Memory
	one.Observe(0, 5)
	one.Observe(0, 7)
	if bytes, sd := one.At(1); bytes != 7 || sd != 0 {
		t.Errorf("%g (sd %g), want the most used: two points are no line", bytes, sd)
	}
	if one.Validate() != nil || (&Memory{N: math.NaN()}).Validate() == nil || (&Memory{XY: math.Inf(1)}).Validate() == nil {
		t.Error("validation")
	}
}
