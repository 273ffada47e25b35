package search

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

func TestPendingRunsAreNotSuggested(t *testing.T) {
	p := pendingProblem()
	for _, name := range Names() {
		m, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		var pending []model.Configuration
		for range len(p.Candidates) {
			e, err := EvaluatePending(m, p, nil, pending)
			if err != nil {
				t.Fatal(err)
			}
			if e.Next < 0 {
				t.Fatalf("%s is exhausted with %d of %d pending", name, len(pending), len(p.Candidates))
			}
			if e.Incumbent >= 0 {
				t.Fatalf("%s takes a pending run for an answer", name)
			}
			c := p.Candidates[e.Next].Configuration
			for _, x := range pending {
				if x == c {
					t.Fatalf("%s suggests %s, which is pending", name, c)
				}
			}
			pending = append(pending, c)
		}
		e, err := EvaluatePending(m, p, nil, pending)
		if err != nil || e.Next != -1 {
			t.Errorf("%s suggests %d (%v) with everything pending", name, e.Next, err)
		}
	}
}

func TestNothingPendingChangesNothing(t *testing.T) {
	p, m := pendingProblem(), NewEvidence()
	want, err := m.Evaluate(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := EvaluatePending(m, p, nil, []model.Configuration{{MachineType: "elsewhere", ScaleOut: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an evaluation with nothing pending differs (-want +got):\n%s", diff)
	}
}

func pendingProblem() *Problem {
	return &Problem{Topic: spark, Candidates: space(12), Objective: Cost, Target: time.Hour}
}
