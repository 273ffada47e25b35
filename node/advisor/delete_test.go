package advisor_test

import (
	"errors"
	"testing"

	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/store/private"
)

func TestUndo(t *testing.T) {
	f := newFixture(t)
	s := settings("job")
	if _, err := f.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Undo(t.Context(), "job"); !errors.Is(err, advisor.ErrNothingToUndo) {
		t.Errorf("nothing reported: error %v", err)
	}
	if _, _, err := f.Undo(t.Context(), "nowhere"); !errors.Is(err, advisor.ErrNotFound) {
		t.Errorf("no search: error %v", err)
	}
	for _, nodes := range []uint32{2, 4} {
		if _, err := f.Report(t.Context(), report("job", "m4.large", nodes, 500, ok)); err != nil {
			t.Fatal(err)
		}
	}
	state, run, err := f.Undo(t.Context(), "job")
	if err != nil || run.Configuration.ScaleOut != 4 || len(state.GetSteps()) != 1 {
		t.Fatalf("undone %v, %d steps left (%v); want 4xm4.large and 1", run.Configuration, len(state.GetSteps()), err)
	}
	runs, err := f.runs.Runs(t.Context(), private.Filter{Job: "job"})
	if err != nil || len(runs) != 1 || runs[0].Configuration.ScaleOut != 2 {
		t.Errorf("private runs are %v (%v)", runs, err)
	}
	// A search that adopts the run that is left has none to take back.
	if err := f.Delete(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Undo(t.Context(), "job"); !errors.Is(err, advisor.ErrNothingToUndo) {
		t.Errorf("an adopted run: error %v", err)
	}
}

func TestExpect(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Start(t.Context(), settings("job")); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Expect(t.Context(), "job", report("job", "m4.large", 4, 1, ok).GetConfiguration()); p != nil || err != nil {
		t.Errorf("expected %v (%v) before anything says how long the job takes", p, err)
	}
	if _, err := f.Report(t.Context(), report("job", "m4.large", 2, 600, ok)); err != nil {
		t.Fatal(err)
	}
	p, err := f.Expect(t.Context(), "job", report("job", "M4.large", 4, 1, ok).GetConfiguration())
	if err != nil || !(p.GetRuntimeLowSeconds() > 0 && p.GetRuntimeLowSeconds() < p.GetRuntimeHighSeconds()) {
		t.Errorf("expected %v (%v)", p, err)
	}
	if p, err := f.Expect(t.Context(), "job", report("job", "m4.large", 64, 1, ok).GetConfiguration()); p != nil || err != nil {
		t.Errorf("no candidate: %v (%v)", p, err)
	}
}
