package private_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/store/private"
)

func TestRetracted(t *testing.T) {
	dir := t.TempDir()
	db, err := private.OpenDB(dir, private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		job, topic string
		undo       bool
		changed    bool
	}{
		{"nightly", "", false, true},
		{"nightly", "", false, false},
		{"weekly", "", false, true},
		{"", "aws-ec2/*/*", false, true},
		{"weekly", "", true, true},
		{"weekly", "", true, false},
	} {
		if got, err := db.Retract(t.Context(), c.job, c.topic, c.undo); err != nil || got != c.changed {
			t.Errorf("%+v: changed %v, error %v", c, got, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 1025), "\xff"} {
		if _, err := db.Retract(t.Context(), "", name, false); err == nil {
			t.Errorf("a name of %d bytes is taken", len(name))
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := private.Fsck(t.Context(), dir)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck: %+v, %v", report, err)
	}
	if db, err = private.OpenDB(dir, private.Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := db.Retracted(t.Context())
	if want := (private.Retracted{Jobs: []string{"nightly"}, Topics: []string{"aws-ec2/*/*"}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("after a restart %+v (%v), want %+v", got, err, want)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
