package checkpoint

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/karasu-project/karasu/model"
)

func TestBadGraphsAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		stages []Stage
		want   error
	}{
		"no stages":       {nil, ErrEmpty},
		"cycle":           {[]Stage{{ID: 1, Parents: []int{2}}, {ID: 2, Parents: []int{1}}}, ErrCycle},
		"own parent":      {[]Stage{{ID: 1, Parents: []int{1}}}, ErrCycle},
		"missing parent":  {[]Stage{{ID: 1, Parents: []int{7}}}, ErrParent},
		"twice":           {[]Stage{{ID: 1}, {ID: 1}}, ErrDuplicate},
		"negative time":   {[]Stage{{ID: 1, Start: 5, End: 4}}, ErrAmount},
		"negative size":   {[]Stage{{ID: 1, Bytes: -1}}, ErrAmount},
		"size no number":  {[]Stage{{ID: 1, Bytes: math.NaN()}}, ErrAmount},
		"infinite size":   {[]Stage{{ID: 1, Bytes: math.Inf(1)}}, ErrAmount},
		"end no number":   {[]Stage{{ID: 1, End: math.NaN()}}, ErrAmount},
		"negative start":  {[]Stage{{ID: 1, Start: -1, End: 1}}, ErrAmount},
		"end in eternity": {[]Stage{{ID: 1, End: 1e12}}, ErrAmount},
	} {
		if _, err := NewGraph(test.stages); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestBadProblemsAreNamed(t *testing.T) {
	g, err := NewGraph([]Stage{{ID: 0, Bytes: 1, End: 1}, {ID: 1, Parents: []int{0}, Start: 1, End: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Problem{{Budget: -1}, {Budget: math.NaN()}, {Bandwidth: -1}, {Bandwidth: math.NaN()}, {MaxSlowdown: -1}, {MaxSlowdown: math.NaN()}} {
		for name, err := range map[string]error{
			"exact":     second(Solve(g, p, Options{})),
			"heuristic": second(Heuristic(g, p)),
			"prefix":    second(Prefix(g, p)),
			"restart":   second(PlanRestart(g, p, Failures{}, 1)),
		} {
			if !errors.Is(err, ErrOption) {
				t.Errorf("%s of %+v: %v", name, p, err)
			}
		}
	}
	for _, f := range []Failures{{Law: "never"}, {Law: Exponential}, {PerHour: -1}, {Law: Weibull, Shape: -1}, {From: 1}, {Law: Weibull, From: .5}} {
		if _, err := PlanRestart(g, Problem{}, f, 1); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if _, err := PlanRestart(g, Problem{}, Failures{}, 0); !errors.Is(err, ErrOption) {
		t.Errorf("no cuts: %v", err)
	}
	if _, err := Solve(g, Problem{}, Options{Relaxations: -1}); !errors.Is(err, ErrOption) {
		t.Errorf("negative work: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Without a budget only cuts that nothing is read across are left.
func TestBudgetOfZero(t *testing.T) {
	g, err := NewGraph([]Stage{
		{ID: 0, Bytes: 8, End: 10}, {ID: 1, Parents: []int{0}, End: 20}, // no output: nothing to persist
		{ID: 2, Bytes: 100, End: 10}, {ID: 3, Parents: []int{1, 2}, End: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Solve(g, Problem{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Before, []int{0, 1}) || r.DurableBytes != 0 || r.ByteSeconds != 8*80 || !r.Exact {
		t.Errorf("cut: %+v", r)
	}
}

func TestStageGraphsSayWhatIsAssumed(t *testing.T) {
	m := model.StageGraph{Stages: []model.Stage{
		{ID: 0, Query: -1, Tasks: 1, Finished: 1, EndSeconds: 10, ShuffleWriteBytes: 100},
		{ID: 1, Query: -1, Tasks: 1, Finished: 1, Parents: []int{0}, StartSeconds: 2, EndSeconds: 5, EndEstimated: true},
		{ID: 2, Query: -1, Tasks: 1, Finished: 1, Parents: []int{1}, StartSeconds: 12, EndSeconds: 12},
	}}
	g, assumed, err := FromStages(m, Marks{Hotspot: func(id int) bool { return id == 0 }, Pinned: func(id int) bool { return id == 1 }})
	if err != nil {
		t.Fatal(err)
	}
	if len(assumed) != 4 {
		t.Errorf("assumptions: %v", assumed)
	}
	for _, a := range assumed {
		if a.Stages != 1 {
			t.Errorf("%s, want one stage", a)
		}
	}
	stages := g.Stages()
	if !stages[0].Hotspot || stages[0].Bytes != 100 || !stages[1].Pinned || stages[1].End != 10 || g.Raised() != 1 {
		t.Errorf("stages: %+v", stages)
	}
	if _, _, err := FromStages(model.StageGraph{}, Marks{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("no stages: %v", err)
	}
	m.Stages[0].Parents = []int{9}
	if _, _, err := FromStages(m, Marks{}); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("missing parent: %v", err)
	}
}
