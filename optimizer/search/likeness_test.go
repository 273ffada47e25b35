package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/simulator"
)

// rivals is a search with two supports of one name: the first is of the target's kind,
// the second of another one.
type rivals struct {
	problem *search.Problem
	target  simulator.Workload
	seed    uint64
}

func newRivals(t *testing.T, seed uint64, metrics string) *rivals {
	t.Helper()
	space, err := catalog.Builtin().DefaultSpace("aws-ec2", false)
	if err != nil {
		t.Fatal(err)
	}
	candidates, profiles := search.FromCatalog(space), simulator.Profiles()
	rng := rand.New(rand.NewPCG(seed, 1))
	kind := rng.IntN(len(profiles))
	other := (kind + 1 + rng.IntN(len(profiles)-1)) % len(profiles)
	r := &rivals{target: profiles[kind].Workload("aws-ec2", 0, seed), seed: seed}
	sibling, stranger := profiles[kind].Workload("aws-ec2", 1, seed), profiles[other].Workload("aws-ec2", 2, seed)

	support := func(id int, w, measured simulator.Workload) search.Support {
		s := model.Summary{Topic: r.target.Topic(), Pseudonym: fmt.Sprintf("%032x", id)}
		mean := 0.
		for _, i := range rng.Perm(len(candidates))[:10] {
			c := candidates[i]
			run := w.Run(c, seed)
			if run.Outcome == model.Failed {
				continue
			}
			p := model.Point{Configuration: c.Configuration, Resources: c.Resources, LogRuntime: math.Log(run.RuntimeSeconds), OK: 1}
			if metrics != "none" {
				p.Metrics = measured.Utilisation(c, seed)
			}
			s.Points = append(s.Points, p)
			mean += p.LogRuntime
		}
		for i := range s.Points {
			s.Points[i].LogRuntime -= mean / float64(len(s.Points))
		}
		return search.Support{Author: fmt.Sprint("author ", id), Summary: s}
	}
	measured := []simulator.Workload{sibling, stranger}
	if metrics == "lies" { // each as if it were the other, the stranger even as the target
		measured = []simulator.Workload{stranger, r.target}
	}
	supports := []search.Support{support(1, sibling, measured[0]), support(2, stranger, measured[1])}
	seconds := make([]float64, 0, len(candidates))
	for _, c := range candidates {
		s, _ := r.target.Runtime(c)
		seconds = append(seconds, s)
	}
	r.problem = &search.Problem{
		Topic: r.target.Topic(), Candidates: candidates, Objective: search.Cost, Supports: supports,
		Target: time.Duration(1.5 * mean(seconds) * float64(time.Second)),
	}
	return r
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// search makes n runs and returns, after each, the log of the best valid cost over the
// best there is (1.1 while there is none), and the first support's part of the weight of both.
func (r *rivals) search(t *testing.T, n int, measured bool) (regret, share []float64) {
	t.Helper()
	limit, cost := r.problem.Target.Seconds(), func(i int, seconds float64) float64 {
		offset, _ := r.problem.Candidates[i].LogOffset(search.Cost)
		return math.Log(seconds) + offset
	}
	least := math.Inf(1)
	for i, c := range r.problem.Candidates {
		if s, ok := r.target.Runtime(c); ok && s <= limit {
			least = min(least, cost(i, s))
		}
	}
	m := search.NewEvidence()
	var observed []search.Observation
	best := math.Inf(1)
	for k := range n + 1 {
		e, err := m.Evaluate(r.problem, observed)
		if err != nil {
			t.Fatal(err)
		}
		if k > 0 {
			share = append(share, siblingShare(e.Weights))
		}
		if k == n {
			break
		}
		c := r.problem.Candidates[e.Next]
		run := r.target.Run(c, r.seed)
		o := search.Observation{Configuration: c.Configuration, Resources: c.Resources, Outcome: run.Outcome, RuntimeSeconds: run.RuntimeSeconds}
		if measured {
			o.Metrics = r.target.Utilisation(c, r.seed)
		}
		observed = append(observed, o)
		if s, ok := r.target.Runtime(c); ok && s <= limit {
			best = min(best, cost(e.Next, s))
		}
		regret = append(regret, min(best-least, 1.1))
	}
	return regret, share
}

func siblingShare(weights []search.Weight) float64 {
	var of [2]float64
	for _, w := range weights {
		if w.Support >= 0 {
			of[w.Support] = w.Share
		}
	}
	return of[0] / max(of[0]+of[1], 1e-300)
}

// TestUtilisationTellsSiblings on simulated workloads: of two supports with the same
// description, utilisation moves weight to the one of the target's kind and the search
// to better configurations. Lies about it are outvoted by runtimes. With utilisation
// on one side only nothing changes, to the last bit.
func TestUtilisationTellsSiblings(t *testing.T) {
	if testing.Short() {
		t.Skip("many searches")
	}
	const runs = 6
	average := func(searches int, metrics string, measured bool) (regret, share []float64) {
		regret, share = make([]float64, runs), make([]float64, runs)
		for seed := range searches {
			a, b := newRivals(t, uint64(seed), metrics).search(t, runs, measured)
			for k := range runs {
				regret[k] += a[k] / float64(searches)
				share[k] += b[k] / float64(searches)
			}
		}
		t.Logf("metrics %s, own %t: log regret %.3f, part of the sibling %.3f", metrics, measured, regret, share)
		return regret, share
	}
	few, fewShare := average(6, "none", false)
	for name, only := range map[string]struct {
		metrics  string
		measured bool
	}{"own only": {"none", true}, "theirs only": {"true", false}} {
		regret, share := average(6, only.metrics, only.measured)
		if d := cmp.Diff([][]float64{few, fewShare}, [][]float64{regret, share}); d != "" {
			t.Errorf("%s changes something: %s", name, d)
		}
	}

	const searches = 60
	blind, blindShare := average(searches, "none", false)
	seeing, seeingShare := average(searches, "true", true)
	lied, liedShare := average(searches, "lies", true)
	for k := 1; k < runs; k++ {
		if !(seeingShare[k] > blindShare[k]+.02) {
			t.Errorf("after %d runs the sibling has %.3f of the weight with utilisation, %.3f without", k+1, seeingShare[k], blindShare[k])
		}
	}
	if a, b := mean(seeing), mean(blind); !(a < b) {
		t.Errorf("mean log regret %.4f with utilisation, %.4f without", a, b)
	}
	if !(liedShare[0] < .5 && liedShare[runs-1] > .5) {
		t.Errorf("with lies the sibling has %.3f of the weight after a run, %.3f after %d", liedShare[0], liedShare[runs-1], runs)
	}
	if a, b := mean(lied), mean(blind); !(a < b+.01) {
		t.Errorf("mean log regret %.4f with lies, %.4f without utilisation", a, b)
	}
}
