package stage

import (
	"errors"
	"slices"
	"testing"
)

// What weights tell lies within what they learned from, and only public operators that the
// jobs have are named.
func TestExtentOf(t *testing.T) {
	_, w := sharedWeights(t)
	e, err := ExtentOf(w)
	if err != nil {
		t.Fatal(err)
	}
	least, largest := 1e300, 0.
	for _, j := range queries(40) {
		for _, s := range j.Graph.Stages {
			least, largest = min(least, s.RuntimeSeconds()), max(largest, s.RuntimeSeconds())
		}
	}
	if d := e.DurationSeconds; !(d.Least > least && d.Least < d.Largest && d.Largest < largest) {
		t.Errorf("durations %+v of stages of %g to %g s: leaves are means over several", d, least, largest)
	}
	for name, r := range map[string]Range{"task time": e.TaskSeconds, "output": e.OutputBytes} {
		if !(r.Least > 0 && r.Least < r.Largest) {
			t.Errorf("%s %+v", name, r)
		}
	}
	has := []string{"Filter", "FileSourceScan", "SortMergeJoin", "HashAggregate"}
	for _, o := range e.Operators {
		if !slices.Contains(has, o) {
			t.Errorf("operator %s, jobs have %v", o, has)
		}
	}
	if len(e.Operators) == 0 || e.Trees < 7*folds || e.Numbers < 2*e.Trees {
		t.Errorf("%+v", e)
	}
	if _, err := ExtentOf(&Weights{}); !errors.Is(err, ErrWeights) {
		t.Errorf("no weights: %v", err)
	}
}
