package share_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const kindRuntime = karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL

// contexts are runs of two jobs of one algorithm: so many input sizes, two machine
// types, three scale-outs, one argument of either kind.
func contexts(sizes int) []model.Run {
	var runs []model.Run
	for i := range sizes {
		for m, machine := range []string{"m4.large", "rack7-secret-host"} {
			for _, nodes := range []int{2, 4, 8} {
				gb := 7.123456789 * float64(i+1)
				r := run(machine, nodes, 20+gb*20/float64(nodes*(m+1)), model.OK)
				r.Workload.InputBytes = gb * 1e9
				r.Workload.Job = fmt.Sprintf("secret-job-%d", i%2)
				r.Workload.Arguments = model.Arguments{{Name: "format", Text: "secret-text"}, {Name: "k", Number: float64(5 + i%3)}}
				runs = append(runs, r)
			}
		}
	}
	return runs
}

func runtimePublisher(t *testing.T) *published {
	t.Helper()
	p := newPublisher(t)
	p.Policy.Mode, p.Policy.Runtimes = share.Models, true
	return p
}

// ofKind are the records of runtime models, or their retractions.
func runtimesOf(records []*commons.Record) []*commons.Record {
	var out []*commons.Record
	for _, r := range records {
		if strings.HasPrefix(r.Key, "runtime/") {
			out = append(out, r)
		}
	}
	return out
}

func TestRuntimeModelsFollowTheRuns(t *testing.T) {
	p := runtimePublisher(t)
	runs := contexts(3)
	first := runtimesOf(p.refresh(t, runs))
	if len(first) != 1 || first[0].Kind != kindRuntime || first[0].Revision != 1 {
		t.Fatalf("published %+v", first)
	}
	w, err := commons.DecodeRuntimeModel(first[0])
	if err != nil {
		t.Fatal(err)
	}
	if w.Contexts != 8 || w.Runs != 16 {
		t.Errorf("of %d contexts and %d runs, want 6 and 18, rounded", w.Contexts, w.Runs)
	}
	want := []predict.WeightArgument{{Name: "format", Text: true}, {Name: "k"}}
	if fmt.Sprint(w.Arguments) != fmt.Sprint(want) {
		t.Errorf("arguments %+v, want %+v", w.Arguments, want)
	}
	if again := p.refresh(t, runs); len(again) != 0 {
		t.Errorf("published %d records of the same runs", len(again))
	}
	// A new run makes a new revision; a failed one tells nothing.
	failed := run("m4.large", 2, 100, model.Failed)
	failed.Workload = runs[0].Workload
	if records := runtimesOf(p.refresh(t, append(runs, failed))); len(records) != 0 {
		t.Errorf("published %+v for a failed run", records)
	}
	more := runs[0]
	more.Configuration.ScaleOut = 12
	if records := runtimesOf(p.refresh(t, append(runs, more))); len(records) != 1 || records[0].Revision != 2 {
		t.Errorf("published %+v for another run", records)
	}
	// What has no longer enough contexts is withdrawn.
	if records := runtimesOf(p.refresh(t, contexts(1))); len(records) != 1 || records[0].Kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		t.Errorf("published %+v with two contexts left", records)
	}
}

func TestRuntimeModelsLeaveByChoice(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*share.Policy)
		runs     []model.Run
		want     int
		withheld string
	}{
		{"models", func(*share.Policy) {}, contexts(3), 1, ""},
		{"both", func(p *share.Policy) { p.Mode = share.Both }, contexts(3), 1, ""},
		{"not by default", func(p *share.Policy) { *p = share.DefaultPolicy() }, contexts(3), 0, ""},
		{"absolute summaries", func(p *share.Policy) { p.Runtimes, p.Absolute = false, true }, contexts(3), 0, ""},
		{"summaries", func(p *share.Policy) { p.Mode = share.Summaries }, contexts(3), 0, ""},
		{"off", func(p *share.Policy) { p.Mode = share.Off }, contexts(3), 0, ""},
		{"topic off", func(p *share.Policy) {
			p.Overrides = []share.Override{{Match: func(model.Topic) bool { return true }, Mode: share.Summaries}}
		}, contexts(3), 0, ""},
		{"two contexts", func(*share.Policy) {}, contexts(1), 0, "2 contexts"},
		{"few runs", func(p *share.Policy) { p.MinimumRuns = 50 }, contexts(3), 0, "0 completed runs on known machine types, beside 18 of workloads with fewer than 50; it takes 3 contexts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := runtimePublisher(t)
			c.change(&p.Policy)
			if records := runtimesOf(p.refresh(t, c.runs)); len(records) != c.want {
				t.Errorf("%d runtime models leave, want %d", len(records), c.want)
			}
			preview, err := p.Preview(t.Context(), c.runs, share.Trial{})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, w := range preview.Withheld {
				if w.Workload.Job == "" {
					said += w.Reason
				}
			}
			if !strings.Contains(said, c.withheld) || c.withheld == "" && said != "" {
				t.Errorf("withheld for %q, want %q", said, c.withheld)
			}
		})
	}
}

// Switching off withdraws; a trial shows what would leave and changes nothing.
func TestRuntimeModelsOnTrial(t *testing.T) {
	p := newPublisher(t)
	runs := contexts(3)
	p.refresh(t, runs)
	would, err := p.Preview(t.Context(), runs, share.Trial{Runtimes: true})
	if err != nil {
		t.Fatal(err)
	}
	var trial *share.PreviewedRecord
	for i, r := range would.Records {
		if r.Draft.Runtime != nil {
			trial = &would.Records[i]
		}
	}
	if trial == nil || trial.Shared || len(p.refresh(t, runs)) != 0 {
		t.Fatalf("trial %+v; or it changed what is shared", trial)
	}
	p.Policy.Runtimes = true
	records := runtimesOf(p.refresh(t, runs))
	if len(records) != 1 || !bytes.Equal(records[0].Body, trial.Record.Body) {
		t.Errorf("what leaves is not what the trial showed")
	}
	p.Policy.Runtimes = false
	if records = p.refresh(t, runs); len(records) != 1 || records[0].Kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		t.Errorf("published %+v when switched off", records)
	}
}

// TestRuntimeModelsTellNoSecrets looks for names, texts and exact numbers in what leaves.
func TestRuntimeModelsTellNoSecrets(t *testing.T) {
	p := runtimePublisher(t)
	runs := contexts(3)
	record := runtimesOf(p.refresh(t, runs))[0]
	for _, secret := range []string{"secret", "rack7", "nightly", "revenue", "s3:", "acme-customers", "m4.large"} {
		if bytes.Contains(record.Envelope, []byte(secret)) {
			t.Errorf("holds %q", secret)
		}
	}
	w, err := commons.DecodeRuntimeModel(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		for _, exact := range []float64{r.Workload.InputBytes, math.Log(r.Workload.InputBytes / 15e9), r.RuntimeSeconds, math.Log(r.RuntimeSeconds)} {
			for i, v := range w.Values {
				if math.Abs(v-exact) < 1e-6*math.Abs(exact) {
					t.Errorf("value %d is %g, that of a run", i, v)
				}
			}
		}
	}
}

// Noise is the policy's, repeats, and comes before training.
func TestRuntimeModelNoise(t *testing.T) {
	body := func(epsilon float64) []byte {
		p := runtimePublisher(t)
		p.Policy.Epsilon = epsilon
		records := runtimesOf(p.refresh(t, contexts(3)))
		if len(records) != 1 {
			t.Fatalf("epsilon %g: %d records", epsilon, len(records))
		}
		return records[0].Body
	}
	if !bytes.Equal(body(20), body(20)) {
		t.Error("noise is drawn anew for the same runs: it would average away")
	}
	if bytes.Equal(body(20), body(0)) {
		t.Error("no noise was added")
	}
}

// Workloads with too few runs for a summary are no part of a runtime model.
func TestRuntimeModelsLeaveOutWorkloadsWithFewRuns(t *testing.T) {
	p := runtimePublisher(t)
	rare := contexts(3)
	for i := range rare {
		rare[i].Workload.Job = fmt.Sprintf("rare-%d", i) // one run each
	}
	if records := runtimesOf(p.refresh(t, rare)); len(records) != 0 {
		t.Errorf("%d models of jobs with one run each", len(records))
	}
	with, without := runtimePublisher(t), runtimePublisher(t)
	rare[0].Workload.InputBytes = 900e9
	a, b := runtimesOf(with.refresh(t, append(contexts(3), rare...))), runtimesOf(without.refresh(t, contexts(3)))
	if len(a) != 1 || len(b) != 1 || !bytes.Equal(a[0].Body, b[0].Body) {
		t.Errorf("%d and %d records that should be alike", len(a), len(b))
	}
}

// Noise that is too large for the history is said to be the reason.
func TestRuntimeModelWithTooMuchNoise(t *testing.T) {
	p := runtimePublisher(t)
	p.Policy.Epsilon = .1
	for range 2 {
		if records := runtimesOf(p.refresh(t, contexts(3))); len(records) != 0 {
			t.Fatalf("published %d records", len(records))
		}
	}
	if n := strings.Count(p.log.String(), "noise of epsilon 0.1 is too large for 6 contexts"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, p.log.String())
	}
}

// A model that peers would refuse stays, and says why once.
func TestRuntimeModelThatPeersRefuse(t *testing.T) {
	p := runtimePublisher(t)
	runs := contexts(3)
	for i := range runs {
		runs[i].RuntimeSeconds = 100 * float64(runs[i].Configuration.ScaleOut) // slower with every node
	}
	for range 2 {
		if records := runtimesOf(p.refresh(t, runs)); len(records) != 0 {
			t.Errorf("published %+v", records)
		}
	}
	if n := strings.Count(p.log.String(), "peers would refuse it"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, p.log.String())
	}
}

func TestTrainingEndsWithTheContext(t *testing.T) {
	p := runtimePublisher(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Preview(ctx, contexts(3), share.Trial{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if records := runtimesOf(p.refresh(t, contexts(3))); len(records) != 1 {
		t.Errorf("%d records afterwards", len(records))
	}
}

// The order of the runs does not matter, nor what other topics hold.
func TestRuntimeModelDependsOnItsTopicOnly(t *testing.T) {
	p, q := runtimePublisher(t), runtimePublisher(t)
	runs := contexts(3)
	a := runtimesOf(p.refresh(t, runs))
	for i, j := 0, len(runs)-1; i < j; i, j = i+1, j-1 {
		runs[i], runs[j] = runs[j], runs[i]
	}
	other := run("m4.large", 2, 100, model.OK)
	other.Workload.Algorithm = "other"
	b := runtimesOf(q.refresh(t, append(runs, other)))
	if len(a) != 1 || len(b) != 1 {
		t.Fatalf("%d and %d records", len(a), len(b))
	}
	var x, y karasuv1.RuntimeModel
	if proto.Unmarshal(a[0].Body, &x) != nil || proto.Unmarshal(b[0].Body, &y) != nil || !proto.Equal(&x, &y) {
		t.Error("the models differ")
	}
}
