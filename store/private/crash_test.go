package private_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/internal/crash"
	"github.com/karasu-project/karasu/store/private"
)

func TestKilledWhileWriting(t *testing.T) {
	if dir := crash.Dir(); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	dir, seen := t.TempDir(), 0
	crash.Loop(t, "TestKilledWhileWriting", dir, 21, func(round int, acked []string) {
		rep, err := private.Fsck(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		wrote := len(acked) > seen // or it was killed before it marked the database as open
		seen = len(acked)
		if !rep.OK() || rep.CleanShutdown && wrote {
			t.Fatalf("round %d: clean %v, problems %v", round, rep.CleanShutdown, rep.Problems)
		}
		if round%2 == 1 { // the next kill hits a database that was never closed since
			return
		}
		db := open(t, dir)
		if db.CleanShutdown() && wrote {
			t.Errorf("round %d: a kill passes for a clean shutdown", round)
		}
		stored := make(map[string]bool)
		runs, err := db.Runs(t.Context(), private.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			stored[r.ID()] = true
		}
		for _, batch := range acked {
			for _, id := range strings.Split(batch, ",") {
				if !stored[id] {
					t.Fatalf("round %d: run %s was acknowledged and is lost", round, id)
				}
			}
		}
		// The batches are atomic: without all of one, none.
		if len(runs)%batchSize != 0 {
			t.Errorf("round %d: %d runs, which are not whole batches of %d", round, len(runs), batchSize)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

const batchSize = 7

func writeUntilKilled(t *testing.T, dir string) {
	db, err := private.OpenDB(dir, private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := db.CountRuns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for ; ; n += batchSize {
		var batch []model.Run
		var ids []string
		for i := range batchSize {
			r := run("nightly", n+i)
			r.Workload.Dataset = strings.Repeat("x", 400) + strconv.Itoa(n)
			batch = append(batch, r)
			ids = append(ids, r.ID())
		}
		if _, _, err := db.AddRuns(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		crash.Ack(strings.Join(ids, ","))
	}
}
