package search

import (
	"math"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
)

// TestTimeoutIsABound: a stopped run would have taken longer, by how much is open; it
// is never an answer, and a second one that was stopped sooner adds nothing.
func TestTimeoutIsABound(t *testing.T) {
	c := space(27)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Hour}
	seen := []Observation{ran(c[13], 400, model.OK)}
	evaluate := func(m *Evidence, more ...Observation) *Evaluation {
		t.Helper()
		e, err := m.Evaluate(p, append(seen[:1:1], more...))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	stopped := evaluate(NewEvidence(), ran(c[0], 900, model.Timeout))
	ended := evaluate(NewEvidence(), ran(c[0], 900, model.OK))
	if a, b := stopped.Predictions[0], ended.Predictions[0]; !(a.LogMean > b.LogMean+.05 && a.LogMean > math.Log(900) && a.LogSD > b.LogSD) {
		t.Errorf("stopped after 900 s: e^(%.2f ± %.2f) s; ended then: e^(%.2f ± %.2f) s", a.LogMean, a.LogSD, b.LogMean, b.LogSD)
	}
	if stopped.Incumbent != 13 || ended.Incumbent == -1 {
		t.Errorf("incumbents %d and %d", stopped.Incumbent, ended.Incumbent)
	}
	twice := evaluate(NewEvidence(), ran(c[0], 900, model.Timeout), ran(c[0], 100, model.Timeout))
	if a, b := twice.Predictions[0].LogMean, stopped.Predictions[0].LogMean; math.Abs(a-b) > 1e-9 {
		t.Errorf("mean %g, after a second timeout that says less %g", b, a)
	}
	low := evaluate(NewEvidence(), ran(c[0], 1, model.Timeout))
	alone := evaluate(NewEvidence())
	for i := range c {
		if a, b := low.Predictions[i].LogMean, alone.Predictions[i].LogMean; math.Abs(a-b) > 1e-3 {
			t.Errorf("a timeout after 1 s moves candidate %d from %.3f to %.3f", i, b, a)
		}
	}
	base := evaluate(NewEvidenceWith(ensemble.Base()), ran(c[0], 900, model.Timeout))
	if a, b := base.Predictions[0].LogMean, evaluate(NewEvidenceWith(ensemble.Base()), ran(c[0], 900, model.OK)).Predictions[0].LogMean; a != b {
		t.Errorf("the base form takes a timeout for %g, a runtime for %g", a, b)
	}
}

// TestSupportWithTimeouts: points of a peer that were only ever stopped are bounds.
func TestSupportWithTimeouts(t *testing.T) {
	c := space(27)
	s := supportOf(c, spark, 1, 3, 1)
	stopped := s
	stopped.Summary.Points = append([]model.Point(nil), s.Summary.Points...)
	for i := range stopped.Summary.Points[:2] {
		q := &stopped.Summary.Points[i]
		q.OK, q.Timeout = 0, 2
		q.LogRuntime -= 1 // stopped well before they would have ended
	}
	short := stopped
	short.Summary.Points = append([]model.Point(nil), stopped.Summary.Points...)
	for i := range short.Summary.Points[:2] {
		short.Summary.Points[i].OK, short.Summary.Points[i].Timeout = 2, 0
	}
	// Error of the shape at the first two points, the level removed.
	missed := func(s Support) float64 {
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: time.Hour, Supports: []Support{s}}
		e, err := NewEvidence().Evaluate(p, []Observation{ran(c[13], runtime(c[13], 300), model.OK)})
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.
		for _, q := range s.Summary.Points[:2] {
			for i := range c {
				if c[i].Configuration == q.Configuration {
					worst = max(worst, math.Abs(e.Predictions[i].LogMean-math.Log(runtime(c[i], 300))))
				}
			}
		}
		return worst
	}
	if bounds, runtimes := missed(stopped), missed(short); !(bounds < runtimes-.1) {
		t.Errorf("wrong by %.2f with early timeouts as bounds, by %.2f with them as runtimes", bounds, runtimes)
	}
}
