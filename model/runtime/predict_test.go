package predict

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
)

func target() Context {
	return Context{
		MachineType: "m4.xlarge", Resources: model.Resources{VCPUs: 4, MemoryGiB: 16}, InputBytes: 1e9,
		Arguments: []Argument{{Name: "a", Number: 1}, {Name: "b", Text: "x"}},
	}
}

func TestContextValidate(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Context)
		want  string
	}{
		"machine type missing": {func(c *Context) { c.MachineType = "" }, "machine type is missing"},
		"machine type unknown": {func(c *Context) { c.Resources = model.Resources{} }, `"m4.xlarge" is unknown`},
		"memory":               {func(c *Context) { c.Resources.MemoryGiB = -1 }, "memory must be"},
		"no input":             {func(c *Context) { c.InputBytes = 0 }, "input size must be"},
		"input NaN":            {func(c *Context) { c.InputBytes = math.NaN() }, "input size must be"},
		"argument twice":       {func(c *Context) { c.Arguments[1].Name = "a" }, "argument a is given twice"},
		"argument NaN":         {func(c *Context) { c.Arguments[0].Number = math.NaN() }, "argument a must be a number"},
		"argument long":        {func(c *Context) { c.Arguments[1].Text = strings.Repeat("x", MaxText+1) }, "argument b is longer"},
		"many arguments":       {func(c *Context) { c.Arguments = make([]Argument, MaxArguments+1) }, "arguments are more than"},
	} {
		v := target()
		c.spoil(&v)
		if err := v.Validate(); !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	for _, bytes := range []float64{1, 1e12, Unknown} {
		v := target()
		v.InputBytes = bytes
		if err := v.Validate(); err != nil {
			t.Errorf("input of %g: %v", bytes, err)
		}
	}
}

func TestEqualIgnoresTheOrderOfArguments(t *testing.T) {
	a, b := target(), target()
	b.Arguments[0], b.Arguments[1] = b.Arguments[1], b.Arguments[0]
	if !a.Equal(b) {
		t.Error("order of arguments tells contexts apart")
	}
	b.Arguments[0].Text = "y"
	if a.Equal(b) {
		t.Error("another argument is the same context")
	}
}

func TestSummarise(t *testing.T) {
	got := Summarise([]Observation{{4, 30}, {2, 50}, {4, 10}, {2, 70}, {4, 20}})
	if diff := cmp.Diff([]Summary{{2, 60, 2}, {4, 20, 3}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDistributionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := NewDistribution(rapid.Float64Range(-60, 60).Draw(t, "mean"), rapid.Float64Range(0, 100).Draw(t, "scale"),
			rapid.Float64Range(0, 1e9).Draw(t, "freedom"))
		if err != nil {
			t.Fatal(err)
		}
		last := 0.
		for _, p := range []float64{.001, .1, .5, .9, .999} {
			q := d.Quantile(p)
			if !(q > 0) || math.IsInf(q, 0) || q < last {
				t.Fatalf("quantile %g of %+v is %g after %g", p, d, q, last)
			}
			last = q
			inside := d.LogMedian+d.Scale*10 < math.Log(model.MaxRuntime.Seconds()) && d.LogMedian-d.Scale*10 > math.Log(model.MinRuntime.Seconds())
			if back := d.Within(q); inside && d.Freedom > 5 && math.Abs(back-p) > 1e-4 {
				t.Fatalf("%+v: within %g s with %g, want %g", d, q, back, p)
			}
		}
	})
	if _, err := NewDistribution(math.NaN(), 1, 3); !errors.Is(err, ErrNumeric) {
		t.Errorf("NaN: %v", err)
	}
	if d := (Distribution{LogMedian: 1, Scale: 1, Freedom: 3}); d.Within(0) != 0 || d.Within(-1) != 0 {
		t.Error("a run takes no time")
	}
}

// stub predicts a power law, whatever the runs.
type stub struct{ level, slope, doubt float64 }

func (s stub) Condition(Context, []Observation) (Predictor, error) {
	if math.IsNaN(s.level) {
		return nil, ErrNumeric
	}
	return s, nil
}
func (s stub) Weights() (*Weights, error) { return nil, ErrNotPortable }
func (s stub) Predict(x int) (Distribution, error) {
	return NewDistribution(s.level+s.slope*math.Log(float64(x)), .1+s.doubt, 4)
}

func TestEnsemble(t *testing.T) {
	good, other, inverted, broken := stub{5, -.7, 0}, stub{5.3, -.6, 0}, stub{9, .9, 0}, stub{math.NaN(), 0, 0}
	truth := func(x int) Observation { return Observation{x, math.Exp(5 - .7*math.Log(float64(x)))} }
	for name, c := range map[string]struct {
		members []General
		runs    []Observation
		shares  []float64
		limit   float64
	}{
		"alike without runs":      {[]General{good, other}, nil, []float64{.5, .5}, .3},
		"inverted is left out":    {[]General{good, inverted}, nil, []float64{1, 0}, 1e-9},
		"broken is left out":      {[]General{broken, good}, nil, []float64{0, 1}, 1e-9},
		"minority without runs":   {[]General{good, good, stub{12, -.7, 0}}, nil, []float64{1. / 3, 1. / 3, 1. / 3}, 1.5},
		"who doubts counts less":  {[]General{good, stub{8, -.7, .9}}, nil, []float64{10. / 11, 1. / 11}, .3},
		"runs decide":             {[]General{stub{8, -.7, 0}, good}, []Observation{truth(4), truth(8)}, []float64{0, 1}, .02},
		"one bad member is alone": {[]General{inverted}, nil, []float64{1}, 99},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Ensemble{Members: c.members}.Condition(target(), c.runs)
			if err != nil {
				t.Fatal(err)
			}
			opinions, err := p.(*EnsemblePredictor).Opinions(6)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range c.shares {
				if math.Abs(opinions[i].Share-s) > .01 {
					t.Errorf("opinions %.3f, want shares of %.3f", opinions, c.shares)
				}
			}
			d, err := p.Predict(6)
			if err != nil {
				t.Fatal(err)
			}
			if e := math.Abs(d.LogMedian - math.Log(truth(6).RuntimeSeconds)); e > c.limit {
				t.Errorf("off by %g", e)
			}
		})
	}
	if _, err := (Ensemble{}).Condition(target(), nil); !errors.Is(err, ErrNoRuns) {
		t.Errorf("no members: %v", err)
	}
	if _, err := (Ensemble{Members: []General{broken}}).Condition(target(), nil); !errors.Is(err, ErrNumeric) {
		t.Errorf("all broken: %v", err)
	}
}
