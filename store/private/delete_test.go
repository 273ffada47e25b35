package private_test

import (
	"errors"
	"testing"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

func TestDeleteRuns(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	kept, gone, other := run("a", 1), run("a", 2), run("b", 3)
	add(t, db, 3, 0, kept, gone, other)
	for job, held := range map[string][]model.Run{"a": {kept, gone}, "b": {other}} {
		s := &karasuv1.Search{Settings: &karasuv1.SearchSettings{Workload: wire.FromWorkload(run(job, 1).Workload)}}
		for _, r := range held {
			s.Runs = append(s.Runs, wire.FromRun(r))
		}
		if err := db.PutSearch(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	changed, unsubscribe := db.Subscribe()
	defer unsubscribe()
	for name, c := range map[string]struct {
		ids  []string
		want error
	}{
		"unknown":     {[]string{gone.ID(), "00000000"}, private.ErrNoRun},
		"too short":   {[]string{gone.ID()[:7]}, model.ErrInvalid},
		"no hex":      {[]string{"xyzxyzxyzx"}, model.ErrInvalid},
		"odd, no hex": {[]string{gone.ID()[:8] + "x"}, model.ErrInvalid},
		"too long":    {[]string{gone.ID() + "00"}, model.ErrInvalid},
		"too many":    {make([]string, private.MaxBatch+1), private.ErrTooLarge},
	} {
		if _, _, err := db.DeleteRuns(t.Context(), c.ids); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if n, err := db.CountRuns(t.Context()); n != 3 || err != nil {
		t.Fatalf("%d runs after errors (%v), want 3", n, err)
	}
	// An odd number of digits, and the whole ID again.
	runs, searches, err := db.DeleteRuns(t.Context(), []string{gone.ID()[:9], gone.ID()})
	if runs != 1 || searches != 1 || err != nil {
		t.Errorf("%d runs of %d searches deleted (%v), want 1 of 1", runs, searches, err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told")
	}
	s, err := db.GetSearch(t.Context(), "a")
	if err != nil || len(s.GetRuns()) != 1 || s.GetRuns()[0].GetId() != kept.ID() {
		t.Errorf("the search holds %v (%v), want the run that was kept", s.GetRuns(), err)
	}
	topic := gone.Workload.Topic()
	for _, f := range []private.Filter{{Job: "a"}, {Topic: &topic}} {
		found, err := db.Runs(t.Context(), f)
		if err != nil || len(found) == 0 || found[0].ID() != kept.ID() {
			t.Errorf("%+v finds %v (%v)", f, found, err)
		}
	}
	// It may come back.
	add(t, db, 1, 0, gone)
}
