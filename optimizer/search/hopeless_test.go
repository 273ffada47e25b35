package search

import (
	"strings"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

// TestGivingUp: each method advises to stop where no candidate is likely to keep to its
// limits, not before three runs, not while one has, and not for the level of others.
func TestGivingUp(t *testing.T) {
	slow := func(n int, outcome model.Outcome, seconds float64) []Observation {
		var out []Observation
		for i := range n {
			out = append(out, ran(grid()[i], seconds, outcome))
		}
		return out
	}
	for _, c := range []struct {
		name     string
		observed []Observation
		change   func(*Problem)
		want     bool
	}{
		{"two runs", slow(2, model.OK, 5e4), nil, false},
		{"four runs", slow(4, model.OK, 5e4), nil, true},
		{"stopped late", slow(4, model.Timeout, 5e4), nil, true},
		{"near", slow(4, model.OK, 700), nil, false},
		{"an answer", append(slow(4, model.OK, 1e4), ran(grid()[5], 500, model.OK)), nil, false},
		{"stopped, and others take long", slow(3, model.Timeout, 610), func(p *Problem) { p.LevelMean, p.LevelSD, p.LevelDoubt = 19.5, .6, .2 }, false},
	} {
		p := &Problem{Candidates: grid(), Objective: Cost, Target: 10 * time.Minute}
		methods := []Method{NewEvidence()}
		if c.change != nil {
			c.change(p)
		} else {
			methods = append(methods, NewKarasu(), NewCherryPick())
		}
		for _, m := range methods {
			e, err := m.Evaluate(p, c.observed)
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.HasPrefix(e.Reason, "probably no candidate keeps to the limits"); said != c.want || c.want && !e.Stop || e.Next < 0 {
				t.Errorf("%s, %s: stop %v, next %d, reason %q", c.name, m.Name(), e.Stop, e.Next, e.Reason)
			}
		}
	}
}
