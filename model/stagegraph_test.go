package model

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStageGraphValidate(t *testing.T) {
	ok := Stage{ID: 1, Parents: []int{0}, Tasks: 2, Finished: 2, StartSeconds: 1, EndSeconds: 2, Outcome: OK}
	with := func(change func(*Stage)) StageGraph {
		s := ok
		change(&s)
		return StageGraph{Stages: []Stage{{ID: 0, EndSeconds: 1}, s}}
	}
	for _, tc := range []struct {
		name, want string
		g          StageGraph
	}{
		{"whole", "", with(func(*Stage) {})},
		{"empty", "", StageGraph{}},
		{"missing parent", "parent of stage 1 is not in the graph: 7", with(func(s *Stage) { s.Parents = []int{7} })},
		{"itself", "cycle", with(func(s *Stage) { s.Parents = []int{1} })},
		{"twice", "hold stage 0 attempt 0 twice", with(func(s *Stage) { s.ID = 0 })},
		{"backwards", "time must run forward", with(func(s *Stage) { s.EndSeconds = .5 })},
		{"not a number", "time must run forward", with(func(s *Stage) { s.StartSeconds = math.NaN() })},
		{"infinite", "shuffle write bytes must be finite", with(func(s *Stage) { s.ShuffleWriteBytes = math.Inf(1) })},
		{"negative", "CPU time must be finite and not negative", with(func(s *Stage) { s.CPUSeconds = -1 })},
		{"control character", "name holds a control character", with(func(s *Stage) { s.Name = "a\nb" })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.g.Validate()
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, ErrInvalid) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestStageGraphOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		perm := rapid.Permutation(ints(n)).Draw(t, "ids")
		var g StageGraph
		for i, id := range perm {
			s := Stage{ID: id}
			for _, j := range rapid.SliceOfNDistinct(rapid.IntRange(0, max(0, i-1)), 0, min(i, 4), rapid.ID).Draw(t, "parents") {
				s.Parents = append(s.Parents, perm[j])
			}
			g.Stages = append(g.Stages, s)
		}
		order, err := g.Order()
		if err != nil {
			t.Fatal(err)
		}
		if len(order) != n {
			t.Fatalf("%d of %d stages", len(order), n)
		}
		for _, s := range g.Stages {
			for _, p := range s.Parents {
				if slices.Index(order, p) >= slices.Index(order, s.ID) {
					t.Fatalf("parent %d is not before %d in %v", p, s.ID, order)
				}
			}
		}
	})
}

func ints(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestStageGraphCollapse(t *testing.T) {
	g := StageGraph{Stages: []Stage{
		{ID: 2, Attempt: 1, Parents: []int{1}, Tasks: 2, Finished: 2, StartSeconds: 7, EndSeconds: 9, TaskSeconds: 2, ShuffleWriteBytes: 20, Outcome: OK},
		{ID: 1, Tasks: 1, Finished: 1, EndSeconds: 1, Outcome: OK},
		{ID: 0, Tasks: 1, Finished: 1, EndSeconds: 2, Outcome: OK},
		{ID: 2, Parents: []int{0}, Tasks: 8, Finished: 8, StartSeconds: 2, EndSeconds: 5, TaskSeconds: 8, ShuffleWriteBytes: 80, Outcome: Failed},
	}}
	want := Stage{ID: 2, Attempt: 1, Parents: []int{0, 1}, Tasks: 8, Finished: 8, StartSeconds: 2, EndSeconds: 9,
		TaskSeconds: 10, ShuffleWriteBytes: 80, Outcome: OK}
	got := g.Collapse()
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(got.Stages) != 3 {
		t.Fatalf("%d stages, want 3", len(got.Stages))
	}
	if diff := cmp.Diff(want, got.Stages[2]); diff != "" {
		t.Fatal(diff)
	}
	if len(g.Stages[3].Parents) != 1 {
		t.Fatal("the graph was changed")
	}
}
