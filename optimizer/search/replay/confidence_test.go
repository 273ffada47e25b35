package replay

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
	"github.com/karasu-project/karasu/optimizer/search"
)

// confidentAnswer is how a search with a confidence ended after MaxRuns runs.
type confidentAnswer struct {
	// possible says whether a configuration is that sure to keep to the target, found
	// whether the search named one.
	possible, found bool
	// keeps is the probability that one more run on it keeps to the target, ratio its
	// cost over that of the cheapest that is sure.
	keeps, ratio float64
}

func (j *job) watchAnswer(confidence float64, out *confidentAnswer) {
	w, limit := j.w, math.Log(j.w.targets[j.seed.target])
	keeps := func(i int) float64 {
		if w.outcome[i] != model.OK {
			return 0
		}
		return ensemble.NormalCDF((limit - w.logRuntime[i]) / noiseSD)
	}
	cost := func(i int) float64 {
		offset, _ := w.candidates[i].LogOffset(search.Cost)
		return math.Exp(offset + w.logRuntime[i])
	}
	cheapest := math.Inf(1)
	for i := range w.candidates {
		if keeps(i) >= max(confidence, .5) {
			out.possible, cheapest = true, min(cheapest, cost(i))
		}
	}
	j.prepare = func(p *search.Problem) { p.Confidence = confidence }
	j.visit = func(n int, e *search.Evaluation, _ []float64) {
		if i := e.Incumbent; n == MaxRuns-1 && i >= 0 {
			out.found, out.keeps, out.ratio = true, keeps(i), cost(i)/cheapest
		}
	}
}

// TestConfidentAnswersKeepTheTarget replays searches with a confidence and lets the
// answer run once more. KARASU_REPLAY=confidence takes the whole table.
func TestConfidentAnswersKeepTheTarget(t *testing.T) {
	for _, confidence := range []float64{0, .8, .95} {
		c := someWorkloads(t, "A3")
		if os.Getenv("KARASU_REPLAY") == "confidence" {
			c = settings(t)
		}
		r, _, err := newReplay(context.Background(), &c)
		if err != nil {
			t.Fatal(err)
		}
		for s := range c.Scenarios {
			jobs := r.outcomes(c.Methods[0], &c.Scenarios[s])
			answers := make([]confidentAnswer, len(jobs))
			for i := range jobs {
				jobs[i].watchAnswer(confidence, &answers[i])
			}
			if err := r.run(context.Background(), jobs); err != nil {
				t.Fatal(err)
			}
			var possible, found, keeps, sure, ratio float64
			for _, a := range answers {
				if a.possible {
					possible++
				}
				if a.found {
					found++
					keeps += a.keeps
				}
				if a.found && a.possible {
					sure++
					ratio += a.ratio
				}
			}
			n := float64(len(answers))
			t.Logf("confidence %g, %s: %.2f of searches have an answer, %.2f could; one more run keeps to the target with %.3f; %.3f times the cost of the cheapest that is sure",
				confidence, c.Scenarios[s].Name, found/n, possible/n, keeps/found, ratio/sure)
			if keeps/found < confidence {
				t.Errorf("confidence %g: answers keep to the target with %.3f", confidence, keeps/found)
			}
			if found < .8*possible {
				t.Errorf("confidence %g: %g answers of %g", confidence, found, possible)
			}
		}
	}
}
