package advisor_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// peers are records as peers would share them.
type peers []*commons.Record

func (p peers) Usable(match func(model.Topic) bool) []commons.Entry {
	var out []commons.Entry
	for _, r := range p {
		if match == nil || match(r.Topic) {
			out = append(out, commons.Entry{ID: r.ID, Topic: r.Topic})
		}
	}
	return out
}

func (p peers) Get(id commons.ID) (*commons.Record, error) {
	for _, r := range p {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, commons.ErrNotFound
}

// sharedBy is what a peer shares of runs, levels included.
func sharedBy(author string, runs []model.Run) peers {
	machines := catalog.Builtin()
	drafts, _ := share.Prepare(runs, share.Policy{Mode: share.Both, MinimumRuns: 3, Absolute: true}, share.NewPseudonymizer([]byte(author)),
		func(infrastructure, name string) (model.Resources, bool, bool) {
			m, err := machines.Lookup(infrastructure, name)
			return m.Resources, true, err == nil
		})
	var out peers
	for i, d := range drafts {
		r := &commons.Record{ID: commons.ID{byte(i + 1)}, Author: peer.ID(author), Organisation: author}
		r.Topic, r.Kind, r.Key, r.Body = d.Topic, d.Kind, d.Key, d.Body
		out = append(out, r)
	}
	return out
}

// like are runs of five workloads of the tests' algorithm, each on nine configurations.
func like(seconds func(nodes, vcpus float64) float64) []model.Run {
	var runs []model.Run
	for job := range 5 {
		for _, n := range []int{2, 4, 8} {
			for machine, vcpus := range map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8} {
				runs = append(runs, model.Run{
					Workload:       model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: fmt.Sprintf("like-%d", job)},
					Configuration:  model.Configuration{MachineType: machine, ScaleOut: n},
					RuntimeSeconds: seconds(float64(n), vcpus), Outcome: model.OK,
				})
			}
		}
	}
	return runs
}

// sources are the two ways in which the level of other workloads comes in.
func sources(t *testing.T, runs []model.Run) map[string]fixture {
	t.Helper()
	own := newFixture(t)
	if _, _, err := own.runs.AddRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	return map[string]fixture{"peers": newFixture(t, func(o *advisor.Options) { o.Commons = sharedBy("globex", runs) }), "own history": own}
}

// spaceOf is what the tests of levels search over.
func spaceOf(job string, target float64, solo bool) *karasuv1.SearchSettings {
	s := settings(job)
	s.TargetSeconds, s.Solo = target, solo
	s.MachineTypes, s.ScaleOuts = []string{"m4.large", "m4.xlarge", "m4.2xlarge"}, []uint32{2, 4, 6, 8, 12, 16}
	return s
}

// sharesOf adds up a state's weights by origin.
func sharesOf(ws []*karasuv1.Weight) map[string]float64 {
	out := map[string]float64{}
	for _, w := range ws {
		out[w.GetOrigin()] += w.GetShare()
	}
	return out
}

// TestWrongLevelsAreFoundOut: workloads whose level is off by a factor of a hundred or
// more, made up by peers or in the own history, have no say any more after one run. The
// weights show the level, and "alone" is what a solo search says.
func TestWrongLevelsAreFoundOut(t *testing.T) {
	truth := []struct {
		machine string
		nodes   uint32
		seconds float64
	}{{"m4.large", 4, 700}, {"m4.large", 8, 400}, {"m4.xlarge", 8, 350}, {"m4.2xlarge", 4, 380}}
	for _, level := range []float64{1e-3, 3e8, 5} {
		for _, target := range []float64{600, 0} {
			for source, f := range sources(t, like(func(_, _ float64) float64 { return level })) {
				alone := newFixture(t)
				with, err := f.Start(t.Context(), spaceOf("job", target, false))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := alone.Start(t.Context(), spaceOf("job", target, true)); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s at %g s, target %g s", source, level, target)
				if sharesOf(with.GetWeights())["level"] < .05 || !strings.Contains(with.GetNext().GetReason(), "80% of the weight takes how long the job takes from") {
					t.Errorf("%s: weights %v and reason %q do not show whose level it is", name, sharesOf(with.GetWeights()), with.GetNext().GetReason())
				}
				for i, run := range truth {
					r := report("job", run.machine, run.nodes, run.seconds, ok)
					if with, err = f.Report(t.Context(), r); err != nil {
						t.Fatal(err)
					}
					solo, err := alone.Report(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					if w := sharesOf(with.GetWeights())["level"]; w > .02 {
						t.Errorf("%s: after %d runs the level still has %.0f%% of the weight", name, i+1, 100*w)
					}
					got, want := with.GetNext(), solo.GetNext()
					if a := got.GetWithoutOthers(); a == nil || a.GetConfiguration().String() != want.GetPrediction().GetConfiguration().String() {
						t.Errorf("%s: after %d runs alone is %v, and a solo search suggests %v", name, i+1, a.GetConfiguration(), want.GetPrediction().GetConfiguration())
					}
					there := f.expect(t, got.GetPrediction().GetConfiguration())
					here := alone.expect(t, got.GetPrediction().GetConfiguration())
					if s := there.GetRuntimeSeconds(); s < here.GetRuntimeLowSeconds() || s > here.GetRuntimeHighSeconds() {
						t.Errorf("%s: after %d runs %g s are predicted, alone %g to %g", name, i+1, s, here.GetRuntimeLowSeconds(), here.GetRuntimeHighSeconds())
					}
				}
			}
		}
	}
}

// expect is what a search predicts of a configuration.
func (f fixture) expect(t *testing.T, c *karasuv1.Configuration) *karasuv1.Prediction {
	t.Helper()
	p, err := f.Expect(t.Context(), "job", c)
	if err != nil || p == nil {
		t.Fatalf("nothing is expected of %v (%v)", c, err)
	}
	return p
}

// TestHonestLevelsHelp: where the target is far from what the job takes, like workloads
// tell its level before its first run, and after it they still do.
func TestHonestLevelsHelp(t *testing.T) {
	takes := func(nodes, vcpus float64) float64 { return 400_000 / math.Pow(nodes*vcpus, .8) }
	for source, f := range sources(t, like(takes)) {
		state, err := f.Start(t.Context(), spaceOf("job", 60, false))
		if err != nil {
			t.Fatal(err)
		}
		for runs, from := range []float64{2, 1.5} {
			p := state.GetNext().GetPrediction()
			c := p.GetConfiguration()
			vcpus := map[string]float64{"m4.large": 2, "m4.xlarge": 4, "m4.2xlarge": 8}[c.GetMachineType()]
			if want := takes(float64(c.GetScaleOut()), vcpus); p.GetRuntimeSeconds() > from*want || p.GetRuntimeSeconds() < want/from {
				t.Errorf("%s: after %d runs %g s are predicted of %v, want about %g", source, runs, p.GetRuntimeSeconds(), c, want)
			}
			if state, err = f.Report(t.Context(), report("job", "m4.xlarge", 4, takes(4, 4), ok)); runs == 0 && err != nil {
				t.Fatal(err)
			}
		}
	}
}
