package private_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/private"
)

// TestCopies: of copies of one record the better one is stored, in whatever order and
// however often they come.
func TestCopies(t *testing.T) {
	good := execution("a", model.OK, 30)
	for name, change := range map[string]func(e *model.Execution){
		"another blank line": func(e *model.Execution) { e.Quality.Bytes++ },
		"bad lines":          func(e *model.Execution) { e.Quality.BadLines = 2 },
		"a missing part":     func(e *model.Execution) { e.Quality.Notes = append(e.Quality.Notes, "missing files of the log: 2") },
		"fewer events":       func(e *model.Execution) { e.Quality.Events-- },
		"cut":                func(e *model.Execution) { e.Quality.Cut, e.Quality.Events = true, 40 },
		"no end":             func(e *model.Execution) { e.Outcome, e.Quality.Events = 0, 40 },
	} {
		worse := execution("a", model.OK, 30)
		change(&worse)
		for _, goodFirst := range []bool{true, false} {
			if name == "another blank line" && !goodFirst {
				continue // neither is better: the first stays
			}
			dir := t.TempDir()
			db := open(t, dir)
			first, second := good, worse
			if !goodFirst {
				first, second = worse, good
			}
			put(t, db, first, private.Hints{}, naming("etl"))
			if p := put(t, db, second, private.Hints{}, naming("etl")); p.Changed == goodFirst {
				t.Errorf("%s, the good copy first %v: changed %v", name, goodFirst, p.Changed)
			}
			for range 2 {
				for _, e := range []model.Execution{first, second} {
					if p := put(t, db, e, private.Hints{}, naming("etl")); p.Changed {
						t.Errorf("%s, the good copy first %v: importing again changes it", name, goodFirst)
					}
				}
			}
			got, err := db.GetExecution(t.Context(), model.OriginID("spark/a"))
			if err != nil || !cmp.Equal(got.Execution, good) {
				t.Errorf("%s, the good copy first %v: stored %+v (%v)", name, goodFirst, got.Execution.Quality, err)
			}
			checked(t, db, dir)
		}
	}
}
