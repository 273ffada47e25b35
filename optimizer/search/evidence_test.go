package search

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
)

// TestEvidenceUntilExhausted searches small random spaces to their end at extreme
// levels, with constant and wildly scattered runtimes, failures and supports of any
// kind, and once more when nothing is left.
func TestEvidenceUntilExhausted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := space(rapid.IntRange(1, 12).Draw(rt, "candidates"))
		p := &Problem{
			Topic: spark, Candidates: c,
			Objective:  rapid.SampledFrom([]Objective{Cost, Runtime, Energy}).Draw(rt, "objective"),
			Target:     rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute, 80000 * time.Hour}).Draw(rt, "target"),
			InputBytes: rapid.SampledFrom([]float64{0, 1, 1e10, 1 << 60}).Draw(rt, "bytes"),
		}
		if len(c) > 2 && rapid.Bool().Draw(rt, "unknown") {
			c[1].USDPerHour, c[1].FullWatts = 0, 0
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "supports") {
			s := supportOf(c, spark, i, 2, rapid.SampledFrom([]float64{1, -1}).Draw(rt, "sign"))
			if len(s.Summary.Points) > 0 {
				p.Supports = append(p.Supports, s)
			}
		}
		seconds := func(k int) float64 {
			switch rapid.SampledFrom([]string{"job", "constant", "any"}).Draw(rt, "runtime") {
			case "constant":
				return 77
			case "any":
				return math.Exp(rapid.Float64Range(-6, 19).Draw(rt, "log"))
			}
			return runtime(c[k], 300)
		}
		m := NewEvidence()
		var observed []Observation
		for range len(c) + 1 {
			e, err := m.Evaluate(p, observed)
			if err != nil {
				rt.Fatalf("after %d runs: %v", len(observed), err)
			}
			if err := checkEvaluation(p, observed, e); err != nil {
				rt.Fatalf("after %d runs: %v", len(observed), err)
			}
			if e.Next < 0 {
				break
			}
			outcome := rapid.SampledFrom([]model.Outcome{model.OK, model.OK, model.OK, model.Timeout, model.Failed}).Draw(rt, "outcome")
			observed = append(observed, ran(c[e.Next], seconds(e.Next), outcome))
		}
	})
}

// TestEvidenceInvariances: the unit of money changes nothing, and neither does the
// unit of time where target and runtimes change together.
func TestEvidenceInvariances(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := space(18)
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 100 * time.Second, Supports: []Support{supportOf(c, spark, 1, 3, 1)}}
		dearer := *p
		dearer.Candidates = append([]Candidate(nil), c...)
		for i := range dearer.Candidates {
			dearer.Candidates[i].USDPerHour *= 8
		}
		slower := *p
		slower.Target *= 16
		var observed, late []Observation
		for range rapid.IntRange(0, 5).Draw(rt, "runs") {
			i := rapid.IntRange(0, len(c)-1).Draw(rt, "at")
			s := runtime(c[i], 100) * rapid.Float64Range(.8, 1.2).Draw(rt, "noise")
			observed, late = append(observed, ran(c[i], s, model.OK)), append(late, ran(c[i], 16*s, model.OK))
		}
		want, err := NewEvidence().Evaluate(p, observed)
		if err != nil {
			rt.Fatal(err)
		}
		for name, other := range map[string]func() (*Evaluation, error){
			"prices": func() (*Evaluation, error) { return NewEvidence().Evaluate(&dearer, observed) },
			"times":  func() (*Evaluation, error) { return NewEvidence().Evaluate(&slower, late) },
		} {
			got, err := other()
			if err != nil {
				rt.Fatal(err)
			}
			for i := range got.Predictions {
				if a, b := got.Predictions[i].Acquisition, want.Predictions[i].Acquisition; math.Abs(a-b) > 1e-7 {
					rt.Fatalf("%s: candidate %d is worth %g, want %g", name, i, a, b)
				}
			}
		}
	})
}

// TestEvidenceWithoutUsableSupportsIsSolo: supports of other frameworks and
// algorithms, and broken ones, leave exactly the search alone.
func TestEvidenceWithoutUsableSupportsIsSolo(t *testing.T) {
	c := space(18)
	alone := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 100 * time.Second}
	with := *alone
	broken := supportOf(c, spark, 7, 3, 1)
	broken.Summary.Points[0].LogRuntime = math.NaN()
	with.Supports = []Support{supportOf(c, model.Topic{Infrastructure: "aws", Framework: "hadoop", Algorithm: "grep"}, 1, 2, 1), broken}
	a, ea := search(t, NewEvidence(), alone, 8)
	b, eb := search(t, NewEvidence(), &with, 8)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("configurations tried (-alone +with): %s", d)
	}
	if d := cmp.Diff(ea.Predictions, eb.Predictions); d != "" {
		t.Errorf("predictions (-alone +with): %s", d)
	}
}

// TestEvidenceLearnsFromSupports: a sibling's shape finds the optimum sooner, and
// carries weight.
func TestEvidenceLearnsFromSupports(t *testing.T) {
	c := space(54)
	alone := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 60 * time.Second}
	with := *alone
	with.Supports = []Support{supportOf(c, spark, 1, 3, 1), supportOf(c, spark, 2, 3, 1)}
	best := func(tried []int) float64 {
		v := math.Inf(1)
		for _, i := range tried {
			offset, _ := c[i].LogOffset(Cost)
			if s := runtime(c[i], 100); s <= 60 {
				v = min(v, math.Log(s)+offset)
			}
		}
		return v
	}
	a, _ := search(t, NewEvidence(), alone, 3)
	b, e := search(t, NewEvidence(), &with, 3)
	if !(best(b) <= best(a)) {
		t.Errorf("log cost after 3 runs %g with supports, %g alone", best(b), best(a))
	}
	if e.Weights[0].Support < 0 {
		t.Errorf("weights %v: good supports carry less than the own prior", e.Weights)
	}
}

// TestEvidenceOutlierDoesNotFlatten: nine runs of tenths of a second and one of 1e6.
func TestEvidenceOutlierDoesNotFlatten(t *testing.T) {
	c := space(27)
	p := &Problem{Topic: spark, Candidates: c, Objective: Runtime}
	var observed []Observation
	for i := range 9 {
		observed = append(observed, ran(c[i], .1+.01*float64(i), model.OK))
	}
	observed = append(observed, ran(c[9], 1e6, model.OK))
	e, err := NewEvidence().Evaluate(p, observed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if s := e.Predictions[i].RuntimeSeconds; !(s > .04 && s < .5) {
			t.Errorf("%s took %.2f s, predicted %.2f s", c[i].Configuration, .1+.01*float64(i), s)
		}
	}
	if e.Incumbent < 0 || e.Incumbent > 8 {
		t.Errorf("incumbent %d", e.Incumbent)
	}
}

// TestEvidenceTargetFarOff: a target that is wrong by orders of magnitude either
// way leaves predictions where the runs are.
func TestEvidenceTargetFarOff(t *testing.T) {
	c := space(27)
	for _, target := range []time.Duration{time.Millisecond, 10000 * time.Hour} {
		p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: target}
		var observed []Observation
		for _, i := range []int{0, 8, 13, 20, 26} {
			observed = append(observed, ran(c[i], runtime(c[i], 100), model.OK))
		}
		e, err := NewEvidence().Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []int{0, 8, 13, 20, 26} {
			if got, want := e.Predictions[o].LogMean, math.Log(runtime(c[o], 100)); math.Abs(got-want) > .3 {
				t.Errorf("target %s: candidate %d predicted at %.2f log seconds, ran %.2f", target, o, got, want)
			}
		}
	}
}

// TestEvidenceCacheChangesNothing: one method asked along a search, and about
// another problem in between, answers as fresh ones do.
func TestEvidenceCacheChangesNothing(t *testing.T) {
	c := space(27)
	p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 60 * time.Second, Supports: []Support{supportOf(c, spark, 1, 3, 1)}}
	other := &Problem{Topic: spark, Candidates: c[:20], Objective: Cost}
	kept := NewEvidence()
	var observed []Observation
	for n := range 6 {
		got, err := kept.Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewEvidence().Evaluate(p, observed)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("after %d runs (-fresh +kept): %s", n, d)
		}
		if _, err := kept.Evaluate(other, nil); err != nil {
			t.Fatal(err)
		}
		observed = append(observed, ran(c[got.Next], runtime(c[got.Next], 100), model.OK))
		if n == 3 { // a second run of the first configuration changes its point
			observed = append(observed, ran(observed[0].toCandidate(), 2*observed[0].RuntimeSeconds, model.OK))
		}
	}
}

func TestBinnedMixtureKeepsMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, total := &normalMixture{}, 0.
		for range rapid.IntRange(33, 80).Draw(t, "parts") {
			w := rapid.Float64Range(.1, 1).Draw(t, "weight")
			total += w
			q.weight, q.mean = append(q.weight, w), append(q.mean, rapid.Float64Range(3, 8).Draw(t, "mean"))
			q.sd = append(q.sd, rapid.Float64Range(.1, 2).Draw(t, "sd"))
		}
		for k := range q.weight {
			q.weight[k] /= total
		}
		b := q.binned(maxParts)
		if len(b.weight) > maxParts {
			t.Fatalf("%d parts", len(b.weight))
		}
		moments := func(q *normalMixture) (mean, variance float64) {
			for k, w := range q.weight {
				mean += w * q.mean[k]
			}
			for k, w := range q.weight {
				variance += w * (q.sd[k]*q.sd[k] + (q.mean[k]-mean)*(q.mean[k]-mean))
			}
			return mean, variance
		}
		m1, v1 := moments(q)
		m2, v2 := moments(b)
		if math.Abs(m1-m2) > 1e-9 || math.Abs(v1-v2) > 1e-9 {
			t.Fatalf("%g ± %g became %g ± %g", m1, v1, m2, v2)
		}
	})
}

func TestBinnedQuantiles(t *testing.T) {
	q := &normalMixture{}
	for k := range 200 {
		q.weight = append(q.weight, 1./200)
		q.mean, q.sd = append(q.mean, 6+math.Sin(float64(k))), append(q.sd, .2+.1*math.Cos(float64(3*k)))
	}
	b := q.binned(maxParts)
	for _, p := range []float64{.1, .5, .9} {
		if got := q.cdf(b.quantile(p)); math.Abs(got-p) > .01 {
			t.Errorf("the %g quantile of the bins is the %.4f quantile", p, got)
		}
	}
}

func (o Observation) toCandidate() Candidate {
	return Candidate{Configuration: o.Configuration, Resources: o.Resources}
}

// BenchmarkEvidence is one suggestion in the middle of a search of the scout space,
// nothing kept from before (cold) and with the problem's ensemble at hand (warm).
func BenchmarkEvidence(b *testing.B) {
	pts, usd, names, _ := scoutSpace()
	var c []Candidate
	for i, q := range pts {
		conf, err := model.ParseConfiguration(names[i])
		if err != nil {
			b.Fatal(err)
		}
		c = append(c, Candidate{Configuration: conf, Resources: model.Resources{VCPUs: q.CoresPerNode, MemoryGiB: q.GiBPerNode}, USDPerHour: usd[i]})
	}
	for _, supports := range []int{0, 17, 50} {
		for _, warm := range []bool{false, true} {
			b.Run(fmt.Sprintf("supports=%d/warm=%t", supports, warm), func(b *testing.B) {
				p := &Problem{Topic: spark, Candidates: c, Objective: Cost, Target: 60 * time.Second}
				for i := range supports {
					p.Supports = append(p.Supports, supportOf(c, spark, i, 7, 1))
				}
				var observed []Observation
				for i := range 5 {
					observed = append(observed, ran(c[13*i], runtime(c[13*i], 100), model.OK))
				}
				m := NewEvidence()
				for b.Loop() {
					if !warm {
						m = NewEvidenceWith(ensemble.Default())
					}
					if _, err := m.Evaluate(p, observed); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
