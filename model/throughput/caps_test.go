package throughput

import (
	"math"
	"testing"
)

func TestCapsAreLevelsTimesFactors(t *testing.T) {
	levels := map[string]float64{"cnn": 1, "rnn": 3, "mlp": -1}
	factors := map[string]float64{"small": -1.2, "large": .4, "huge": .8}
	var caps []Cap
	for row, l := range levels {
		for machine, f := range factors {
			if row == "mlp" && machine == "huge" {
				continue // to be predicted
			}
			caps = append(caps, Cap{row, machine, l + f, .1})
		}
	}
	c := FitCaps(Async, caps)
	log, sd, ok := c.Predict("mlp", "huge")
	if !ok || math.Abs(log-(-.2)) > 1e-3 || !(sd >= RankOneSD && sd < .5) {
		t.Errorf("log cap %g (sd %g), want -.2", log, sd)
	}
	if d, ok := c.Between("small", "huge"); !ok || math.Abs(d-2) > 1e-3 {
		t.Errorf("factors differ by %g, want 2", d)
	}
	var sum float64
	list := c.Factors()
	for _, f := range list {
		sum += f.Log
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
	}
	if len(list) != 3 || math.Abs(sum) > 1e-9 || math.Abs(list[0].Log-list[2].Log-2) > 1e-3 {
		t.Errorf("factors %+v, want huge, large and small with mean 0", list)
	}
}

func TestCapsOfUnconnectedMachinesTellNothing(t *testing.T) {
	c := FitCaps(Sync, []Cap{{"cnn", "a", 1, .1}, {"rnn", "b", 5, .1}, {"rnn", "c", 5, .1}})
	for _, p := range [][2]string{{"cnn", "b"}, {"rnn", "a"}, {"none", "a"}, {"cnn", "none"}} {
		if log, _, ok := c.Predict(p[0], p[1]); ok {
			t.Errorf("%s on %s: exp(%g) out of nothing", p[0], p[1], log)
		}
	}
	if _, ok := c.Between("a", "b"); ok {
		t.Error("factors of unconnected machine types compared")
	}
	if list := c.Factors(); len(list) != 2 || list[0].MachineType != "b" {
		t.Errorf("factors %+v, want those of b and c", list)
	}
	empty := FitCaps(Sync, []Cap{{"cnn", "a", math.NaN(), .1}, {"cnn", "a", 1, math.Inf(1)}})
	if _, _, ok := empty.Predict("cnn", "a"); ok || len(empty.Factors()) != 0 {
		t.Error("caps that are no numbers were used")
	}
}

func TestOneWildCapMovesLittle(t *testing.T) {
	var caps []Cap
	for _, row := range []string{"a", "b", "c", "d"} {
		for i, machine := range []string{"x", "y", "z"} {
			caps = append(caps, Cap{row, machine, float64(i), .05})
		}
	}
	caps[1].Log += 10
	if d, _ := FitCaps(Async, caps).Between("x", "y"); math.Abs(d-1) > .35 {
		t.Errorf("factors differ by %g, want 1 but for one wild cap", d)
	}
}
