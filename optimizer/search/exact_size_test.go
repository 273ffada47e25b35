package search

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

// TestExactSizesSetTheShift: where a support shares its input size exactly, and not only
// the power of two, that is what the search compares the target's with.
func TestExactSizesSetTheShift(t *testing.T) {
	c := space(40)
	const exact = 9.2e10 // 2^36.42, so the bucket of 2^36
	evaluate := func(target, shared float64) *Evaluation {
		s := supportOf(c, spark, 1, 4, 1)
		s.Summary.InputSizeLog2, s.Summary.ExactInputBytes = 36, shared
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 10 * time.Minute, InputBytes: target, Supports: []Support{s}}
		e, err := NewEvidence().Evaluate(p, []Observation{ran(c[3], 400, model.OK)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// An exact size in the middle of the bucket says what the bucket says.
	if diff := cmp.Diff(evaluate(4*exact, 0), evaluate(4*exact, 1<<36)); diff != "" {
		t.Errorf("2^36 bytes are not taken as 2^36:\n%s", diff)
	}
	if cmp.Equal(evaluate(4*exact, 0), evaluate(4*exact, exact)) {
		t.Error("the exact size changes nothing")
	}
}
