package advisor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/wire"
)

// slower are runs that take longer by a factor.
func slower(runs []model.Run, factor float64) []model.Run {
	for i := range runs {
		runs[i].RuntimeSeconds *= factor
	}
	return runs
}

// Peers whose models contradict the own runs of other contexts do not move what is
// predicted of a context without runs, nor what a search begins with.
func TestShiftedPeersAreNotBelieved(t *testing.T) {
	alone := newFixture(t)
	alone.add(t, grepRuns("nightly", 10, 20, 40))
	req := &karasuv1.PredictRequest{Target: grep(nil), MachineType: "m4.xlarge", Nodes: 6}
	res, err := alone.Predict(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := res.GetPrediction()
	for _, factor := range []float64{1000, 3, 1. / 1000} {
		bad := shared(t, "bad", slower(grepRuns("x", 10, 20, 40), factor))
		for _, n := range []int{1, 3, 32} {
			var models sharedModels
			for i := range n {
				m := bad
				m.Author, m.Organisation = peer.ID(fmt.Sprint("bad", i)), fmt.Sprint("org", i)
				models = append(models, m)
			}
			f := newFixture(t)
			f.add(t, grepRuns("nightly", 10, 20, 40))
			f.RuntimeModels = models
			res, err := f.Predict(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			p := res.GetPrediction()
			if r := math.Abs(math.Log(p.GetRuntimeSeconds() / want.GetRuntimeSeconds())); r > .01 {
				t.Errorf("%d models of runtimes times %g: %.1f s instead of %.1f s", n, factor, p.GetRuntimeSeconds(), want.GetRuntimeSeconds())
			}
			if h := p.GetRuntimeHighSeconds() / want.GetRuntimeHighSeconds(); h > 1.01 {
				t.Errorf("%d models of runtimes times %g: upper end %g times as high", n, factor, h)
			}
			if notes := strings.Join(res.GetBasis().GetNotes(), "; "); factor > 3 && !strings.Contains(notes, "sources differ") {
				t.Errorf("notes %q", notes)
			}
		}
		f := newFixture(t)
		f.add(t, grepRuns("nightly", 10, 20, 40))
		f.RuntimeModels = sharedModels{bad}
		rec, err := f.Recommend(t.Context(), &karasuv1.SearchSettings{
			Workload: &karasuv1.Workload{
				Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", Job: "mine", InputBytes: 30e9,
				Arguments: wire.FromArguments(model.Arguments{{Name: "line_length", Number: 100}}),
			},
			MachineTypes: []string{"m4.large", "m4.xlarge", "m4.2xlarge"}, ScaleOuts: []uint32{2, 4, 8, 12},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range rec.GetPredictions() {
			cores := map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8}[p.GetConfiguration().GetMachineType()]
			truth := grepSeconds(cores, 30, 100, int(p.GetConfiguration().GetScaleOut()))
			if r := p.GetRuntimeSeconds() / truth; r < .6 || r > 1.6 {
				t.Errorf("runtimes times %g: a search expects %.0f s of %v, it takes %.0f s", factor, p.GetRuntimeSeconds(), p.GetConfiguration(), truth)
			}
		}
	}
}

// An honest peer that knows what the organisation does not still helps.
func TestHonestPeersAreBelieved(t *testing.T) {
	req := &karasuv1.PredictRequest{
		Target:      grep(func(m *karasuv1.PredictionTarget) { m.InputBytes = 80e9 }),
		MachineType: "m4.xlarge", Nodes: 6,
	}
	truth := grepSeconds(4, 80, 100, 6)
	off := func(models sharedModels) (float64, float64) {
		f := newFixture(t)
		f.add(t, grepRuns("nightly", 1, 2))
		f.RuntimeModels = models
		res, err := f.Predict(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		share := 0.
		for _, s := range res.GetBasis().GetSources() {
			if s.GetOrigin() == "peer" {
				share += s.GetShare()
			}
		}
		return math.Abs(math.Log(res.GetPrediction().GetRuntimeSeconds() / truth)), share
	}
	alone, _ := off(nil)
	with, share := off(sharedModels{shared(t, "acme", grepRuns("x", 40, 100))})
	if with > .7*alone || share < .4 {
		t.Errorf("off by e^%.2f alone, by e^%.2f with a peer of %.0f%% of the weight", alone, with, 100*share)
	}
}

// What is asked for is what most peers' models need, said to be theirs, and how to give it.
func TestInventedArgumentsAreNotAskedFor(t *testing.T) {
	rename := func(author, argument string) commons.RuntimeModel {
		m := shared(t, author, grepRuns("x", 10, 40))
		w := *m.Weights
		w.Arguments = slices.Clone(w.Arguments)
		w.Arguments[0].Name = argument
		m.Weights = &w
		return m
	}
	f := newFixture(t)
	f.RuntimeModels = sharedModels{rename("mallory", "zz1"), rename("eve", "zz2"), shared(t, "acme", grepRuns("x", 10, 40)), shared(t, "globex", grepRuns("x", 20, 60))}
	req := &karasuv1.PredictRequest{Target: grep(func(m *karasuv1.PredictionTarget) { m.Arguments = nil }), MachineType: "m4.xlarge", Nodes: 6}
	_, err := f.Predict(t.Context(), req)
	if err == nil || strings.Contains(err.Error(), "zz") || !strings.Contains(err.Error(), "lack line_length, needed by 2 of 4 peer models") ||
		!strings.Contains(err.Error(), "-p line_length=NUMBER (known: 48.18 to 202.9)") {
		t.Errorf("error %v", err)
	}
	// Models that need other arguments are no obstacle where one fits.
	req.Target = grep(nil)
	res, err := f.Predict(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if s := res.GetBasis().GetSources(); len(s) != 4 || !strings.Contains(s[3].GetProblem(), "not given: zz") {
		t.Errorf("sources %v", s)
	}
	f.add(t, grepRuns("nightly", 10, 20))
	req.Target.Arguments = nil
	if _, err := f.Predict(t.Context(), req); err == nil || !strings.Contains(err.Error(), "lack line_length, which all your runs of the algorithm have; add -p line_length=NUMBER (known: 50 to 200)") {
		t.Errorf("error %v", err)
	}
}

// An argument that is text in one context only is text in all: that context can be
// predicted, too, from its own runs and from others.
func TestArgumentThatIsTextInOneContextOnly(t *testing.T) {
	f := newFixture(t)
	var runs []model.Run
	for i, u := range []string{"x", "3", "4"} {
		for _, r := range grepRuns(fmt.Sprint("j", i), 10) {
			a, err := model.ParseArgument("u", u)
			if err != nil {
				t.Fatal(err)
			}
			r.Workload.Arguments = model.Arguments{a}
			r.Start = r.Start.AddDate(0, i, 0)
			if r.Configuration.MachineType == "m4.xlarge" {
				runs = append(runs, r)
			}
		}
	}
	f.add(t, runs)
	for _, job := range []string{"j0", "j1"} {
		res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: &karasuv1.PredictionTarget{Job: job}, MachineType: "m4.xlarge", Nodes: 4})
		if err != nil || res.GetBasis().GetContextRuns() != 8 {
			t.Errorf("%s: %v, %v", job, res.GetBasis(), err)
		}
	}
}

// What is asked for far outside of what is known is called an extrapolation.
func TestExtrapolationsAreCalledSo(t *testing.T) {
	f := newFixture(t)
	f.add(t, grepRuns("nightly", 10, 20, 40))
	for name, c := range map[string]struct {
		change func(*karasuv1.PredictionTarget)
		nodes  uint32
		want   string
	}{
		"tiny input":  {func(m *karasuv1.PredictionTarget) { m.InputBytes = 20 }, 4, "the input of 20 bytes is 5e+08 times below the smallest known (1e+10 to 4e+10 bytes)"},
		"large input": {func(m *karasuv1.PredictionTarget) { m.InputBytes = 4e13 }, 4, "1e+03 times above the largest known"},
		"huge argument": {func(m *karasuv1.PredictionTarget) {
			m.Arguments[0] = &karasuv1.Argument{Name: "line_length", Value: &karasuv1.Argument_Number{Number: 1e12}}
		}, 4, "the argument line_length of 1e+12 is 5e+09 times above"},
		"many nodes":      {nil, 100000, "a cluster of 100000 nodes is 8.33e+03 times above the largest known (2 to 12 nodes)"},
		"within":          {nil, 6, ""},
		"a little beyond": {func(m *karasuv1.PredictionTarget) { m.InputBytes = 60e9 }, 16, ""},
	} {
		res, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: grep(c.change), MachineType: "m4.xlarge", Nodes: c.nodes})
		if err != nil {
			t.Fatal(name, err)
		}
		notes := strings.Join(res.GetBasis().GetNotes(), "; ")
		if !strings.Contains(notes, c.want) || strings.Contains(notes, "extrapolation") != (c.want != "") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.want)
		}
	}
}

// Runs that all were stopped are not said to be on unknown machine types.
func TestNoRunWasCompleted(t *testing.T) {
	f := newFixture(t)
	runs := grepRuns("nightly", 10)
	for i := range runs {
		runs[i].Outcome = model.Timeout
	}
	f.add(t, runs)
	_, err := f.Predict(t.Context(), &karasuv1.PredictRequest{Target: grep(nil), MachineType: "m4.xlarge", Nodes: 4})
	if !errors.Is(err, advisor.ErrNoModel) || !strings.Contains(err.Error(), "none of your 24 runs of spark/grep was completed: all failed or were stopped") {
		t.Errorf("error %v", err)
	}
}
