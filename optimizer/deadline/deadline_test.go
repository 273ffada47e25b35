package deadline

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// option takes median seconds ± a tenth, log-normal.
func option(name string, nodes int, median, price float64) Option {
	return Option{
		Configuration: model.Configuration{MachineType: name, ScaleOut: nodes}, USDPerHour: price,
		Runtime: predict.Distribution{LogMedian: math.Log(median), Scale: .1, Freedom: 1e6},
	}
}

func TestCheapest(t *testing.T) {
	options := []Option{
		option("small", 2, 1000, 1), // $0.56
		option("small", 4, 600, 1),  // $0.67
		option("small", 8, 400, 1),  // $0.89
		option("large", 4, 350, 3),  // $1.17
		option("free", 16, 300, 0),  // unknown
	}
	for _, c := range []struct {
		name                 string
		deadline, confidence float64
		want                 int
		met                  bool
		qualified            int
	}{
		{"all do", 2000, .95, 0, true, 5},
		{"an even chance is enough", 601, .5, 1, true, 4},
		{"an even chance is not", 601, .95, 2, true, 3},
		{"only the fast ones", 425, .95, 3, true, 2},
		{"only one of unknown price", 360, .95, 4, true, 1},
		{"none: the most likely", 200, .95, 4, false, 0},
	} {
		got, err := Cheapest(options, c.deadline, c.confidence)
		if err != nil || got.Choice != c.want || got.Met != c.met || got.Qualified != c.qualified {
			t.Errorf("%s: %+v, %v, want %d", c.name, got, err, c.want)
		}
	}
	// Of equal cost and runtime it is the smaller one, wherever it stands.
	twice := []Option{option("b", 4, 100, 1), option("a", 4, 100, 1), option("c", 2, 100, 2)}
	if got, err := Cheapest(twice, 200, .9); err != nil || got.Choice != 2 {
		t.Errorf("of equals: %+v, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	if _, err := Cheapest(nil, 10, .9); !errors.Is(err, ErrNoOptions) {
		t.Errorf("nothing to choose from: %v", err)
	}
	some := []Option{option("a", 1, 1, 1)}
	for _, bad := range [][2]float64{{0, .9}, {-1, .9}, {math.NaN(), .9}, {math.Inf(1), .9}, {10, .4}, {10, 1}, {10, math.NaN()}} {
		if _, err := Cheapest(some, bad[0], bad[1]); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("deadline %g, confidence %g: %v", bad[0], bad[1], err)
		}
	}
}

// An answer that is called met keeps its confidence, and none that keeps it is cheaper;
// asking for more confidence never finds a cheaper one.
func TestCheapestIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "options")
		options := make([]Option, n)
		for i := range options {
			options[i] = option(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.IntRange(1, 9).Draw(t, "nodes"),
				rapid.Float64Range(10, 1000).Draw(t, "median"), rapid.Float64Range(.1, 9).Draw(t, "price"))
		}
		deadline := rapid.Float64Range(10, 1000).Draw(t, "deadline")
		last := 0.
		for _, confidence := range []float64{.5, .8, .95} {
			a, err := Cheapest(options, deadline, confidence)
			if err != nil {
				t.Fatal(err)
			}
			chosen := &options[a.Choice]
			if a.Met != (chosen.Runtime.Within(deadline) >= confidence) || a.Met != (a.Qualified > 0) {
				t.Fatalf("%+v", a)
			}
			cost, _ := chosen.Cost(chosen.Runtime.Median())
			for i := range options {
				p := options[i].Runtime.Within(deadline)
				if c, _ := options[i].Cost(options[i].Runtime.Median()); a.Met && p >= confidence && c < cost || !a.Met && p > a.Probability {
					t.Fatalf("option %d beats %+v", i, a)
				}
			}
			if a.Met && cost < last {
				t.Fatalf("confidence %g is cheaper", confidence)
			}
			last = cost
		}
	})
}

// Of hopeless options the shortest is closest, not the least certain.
func TestHopelessDeadline(t *testing.T) {
	vague := option("vague", 2, 5000, 1)
	vague.Runtime.Scale = 1.5
	a, err := Cheapest([]Option{vague, option("sure", 8, 400, 1)}, 100, .95)
	if err != nil || a.Met || a.Choice != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}
