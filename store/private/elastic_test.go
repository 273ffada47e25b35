package private_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/private"
)

func elasticJob(id, state string) private.ElasticJob {
	return private.ElasticJob{ID: id, State: json.RawMessage(`"` + state + `"`)}
}

func elasticJobs(t *testing.T, db *private.DB, finished bool) []string {
	t.Helper()
	jobs, err := db.ElasticJobs(t.Context(), finished)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("%s %.20s", j.ID, j.State))
	}
	return out
}

// TestElasticJobs: jobs replace themselves, finish once, and are there after reopening; the
// oldest finished ones are forgotten.
func TestElasticJobs(t *testing.T) {
	dir := t.TempDir()
	db, err := private.OpenDB(dir, private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	long := strings.Repeat("x", 1<<20) // compresses
	check("put", db.PutElasticJobs(t.Context(), elasticJob("b", "1"), elasticJob("a", "1"), elasticJob("c", long)))
	check("put", db.PutElasticJobs(t.Context(), elasticJob("a", "2")))
	for i, id := range []string{"z", "b", "c"} {
		check("finish", db.FinishElasticJob(t.Context(), time.UnixMilli(int64(1000*i)), elasticJob(id, "end"), 2))
	}
	check("close", db.Close())
	db = open(t, dir)
	if diff := cmp.Diff([]string{`a "2"`}, elasticJobs(t, db, false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`b "end"`, `c "end"`}, elasticJobs(t, db, true)); diff != "" {
		t.Error(diff)
	}
	check("close", db.Close())
	report, err := private.Fsck(t.Context(), dir)
	if err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestElasticJobsBounds(t *testing.T) {
	db := open(t, t.TempDir())
	noise := make([]byte, 600<<10)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte('!' + r.IntN(90))
	}
	hard, err := json.Marshal(string(noise))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		job  private.ElasticJob
		want error
	}{
		"no id":          {elasticJob("", "1"), model.ErrInvalid},
		"long id":        {elasticJob(strings.Repeat("x", model.MaxName+1), "1"), model.ErrInvalid},
		"incompressible": {private.ElasticJob{ID: "a", State: hard}, private.ErrTooLarge},
		"huge":           {elasticJob("a", strings.Repeat("x", 17<<20)), private.ErrTooLarge},
	} {
		if err := db.PutElasticJobs(t.Context(), c.job); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	many := make([]private.ElasticJob, 3000) // more than one transaction holds
	for i := range many {
		many[i].ID = fmt.Sprint(i)
		many[i].State = json.RawMessage(fmt.Sprintf("%q", noise[i:i+900]))
	}
	if err := db.PutElasticJobs(t.Context(), many...); err != nil {
		t.Fatal(err)
	}
	if n := len(elasticJobs(t, db, false)); n != len(many) {
		t.Errorf("%d jobs, want %d", n, len(many))
	}
}
