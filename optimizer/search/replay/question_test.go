package replay

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/optimizer/search"
)

// drawn returns the supports of a scenario for every search of the small table.
func drawn(t *testing.T, r *replay, name string) [][]search.Support {
	t.Helper()
	s, err := ScenarioByName(name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]search.Support
	for _, j := range r.outcomes(r.Baseline, &s) {
		out = append(out, s.supports(j.w, r.table, r.traces[j.seed.set], j.seed))
	}
	return out
}

// baseline returns a replay whose traces are there to draw from.
func baseline(t *testing.T) *replay {
	t.Helper()
	c := smallConfig()
	r, _, err := newReplay(context.Background(), &c)
	if err != nil {
		t.Fatal(err)
	}
	jobs := r.outcomes(r.Baseline, nil)
	if err := r.do(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	r.collect(jobs)
	return r
}

func TestQuestionScenariosDrawWhatTheySay(t *testing.T) {
	r := baseline(t)
	jobs := r.outcomes(r.Baseline, nil)
	for _, k := range []int{1, 5, 9} {
		for i, supports := range drawn(t, r, fmt.Sprintf("RQ1-%d", k)) {
			if len(supports) != k {
				t.Fatalf("RQ1-%d: %d supports", k, len(supports))
			}
			for _, s := range supports {
				if s.Summary.Pseudonym != jobs[i].w.pseudonym {
					t.Errorf("RQ1-%d: a support of another workload", k)
				}
				for repeat := range Repeats {
					at := r.traces[jobs[i].seed.set][jobs[i].seed.workload][int(jobs[i].seed.target)*Repeats+repeat]
					if own, ok := at.support(jobs[i].w); ok && cmp.Equal(own, s) {
						t.Errorf("RQ1-%d: a support of the search's own target", k)
					}
				}
			}
		}
	}
	// The table has two Spark sorts and one Flink grep: nothing for policy B.
	for name, want := range map[string][]int{"RQ2-A5": {5, 0}, "RQ2-B3": {0}, "RQ2-C3": {3}} {
		for _, supports := range drawn(t, r, name) {
			ok := false
			for _, n := range want {
				ok = ok || len(supports) == n
			}
			if !ok {
				t.Errorf("%s: %d supports, want one of %v", name, len(supports), want)
			}
		}
	}
}

func TestQuestionDrawsAreNested(t *testing.T) {
	r := baseline(t)
	if d := cmp.Diff(drawn(t, r, "A3"), drawn(t, r, "RQ2-A3")); d != "" {
		t.Errorf("RQ2-A3 is not A3: %s", d)
	}
	for _, names := range [][2]string{{"RQ1-1", "RQ1-5"}, {"RQ1-5", "RQ1-9"}, {"RQ2-C1", "RQ2-C3"}, {"RQ2-C3-cut", "RQ2-C5-cut"}} {
		few, many := drawn(t, r, names[0]), drawn(t, r, names[1])
		for i := range few {
			if d := cmp.Diff(few[i], many[i][:min(len(few[i]), len(many[i]))]); d != "" {
				t.Fatalf("the draws of %s are not the first of %s: %s", names[0], names[1], d)
			}
		}
	}
}

func TestCutTracesAreTheBeginningsOfWholeOnes(t *testing.T) {
	r := baseline(t)
	whole, cut := drawn(t, r, "RQ2-C5"), drawn(t, r, "RQ2-C5-cut")
	lengths := map[int]bool{}
	for i := range whole {
		for k := range whole[i] {
			long, short := whole[i][k].Summary.Points, cut[i][k].Summary.Points
			if len(short) < min(minCut, len(long)) || len(short) > len(long) {
				t.Fatalf("%d runtimes of %d", len(short), len(long))
			}
			lengths[len(short)] = true
			for n := range short {
				if short[n].Configuration != long[n].Configuration {
					t.Fatalf("runtime %d is at %v, want %v", n, short[n].Configuration, long[n].Configuration)
				}
			}
		}
	}
	if len(lengths) < 5 {
		t.Errorf("lengths %v, want a range of them", lengths)
	}
}

func TestScenariosByName(t *testing.T) {
	for name, want := range map[string]int{"RQ1": 3, "rq2": 18, "rq3": 4, "solo": 1, "rq2-b5-CUT": 1} {
		if got, err := ScenariosByName(name); err != nil || len(got) != want {
			t.Errorf("%s: %d scenarios, want %d: error %v", name, len(got), want, err)
		}
	}
	for _, name := range []string{"RQ", "RQ4", "RQ1-", "RQ1-2", ""} {
		if _, err := ScenariosByName(name); !errors.Is(err, ErrUnknownScenario) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	seen := map[string]bool{}
	for _, s := range append(Scenarios(), QuestionScenarios()...) {
		if seen[s.Name] {
			t.Errorf("two scenarios are called %s", s.Name)
		}
		seen[s.Name] = true
	}
}

// TestParetoQuestionMeasuresBoth: RQ3's two rows are of the same searches.
func TestParetoQuestionMeasuresBoth(t *testing.T) {
	c := smallConfig()
	for i := range c.Candidates {
		// The watts of a core fall with the price, so that the two objectives differ.
		c.Candidates[i].IdleWatts, c.Candidates[i].FullWatts = 20, 20+5/c.Candidates[i].USDPerHour
	}
	var err error
	if c.Scenarios, err = ScenariosByName("RQ3"); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	method := c.Methods[0].Name
	cost, energy := r.Row(method, "RQ3-solo-cost"), r.Row(method, "RQ3-solo-energy")
	if cmp.Equal(cost.Mean, energy.Mean) {
		t.Error("cost and energy have the same ratios")
	}
	if diff := cmp.Diff(cost.Found, energy.Found); diff != "" {
		t.Errorf("not the same searches:\n%s", diff)
	}
	if shared := r.Row(method, "RQ3-A3-energy"); r.Alone(shared) != energy || shared.WorstExcess == nil {
		t.Error("RQ3-A3-energy is not compared with RQ3-solo-energy")
	}
}
