package share_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

func threeRuns() []model.Run {
	return []model.Run{
		run("m4.xlarge", 8, 100, model.OK), run("m4.xlarge", 4, 190, model.OK), run("rack7-secret-host", 2, 300, model.OK),
	}
}

func TestPrepareModes(t *testing.T) {
	summary, support := karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL
	for _, c := range []struct {
		name     string
		mode     share.Mode
		override share.Mode
		runs     []model.Run
		want     []karasuv1.RecordKind
		reason   string
	}{
		{"both", share.Both, "", threeRuns(), []karasuv1.RecordKind{summary, support}, ""},
		{"summaries", share.Summaries, "", threeRuns(), []karasuv1.RecordKind{summary}, ""},
		{"models", share.Models, "", threeRuns(), []karasuv1.RecordKind{support}, ""},
		{"off", share.Off, "", threeRuns(), nil, "is off"},
		{"override", share.Both, share.Off, threeRuns(), nil, "is off"},
		{"too few runs", share.Both, "", threeRuns()[:2], nil, "2 runs"},
		{"failed runs do not count", share.Both, "", append(threeRuns()[:2], run("m4.large", 2, 0, model.Failed)), nil, "2 runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := share.DefaultPolicy()
			policy.Mode = c.mode
			if c.override != "" {
				policy.Overrides = []share.Override{{Match: func(t model.Topic) bool { return t.Framework == "spark" }, Mode: c.override}}
			}
			drafts, withheld := share.Prepare(c.runs, policy, pseudonyms, machines)
			var kinds []karasuv1.RecordKind
			for _, d := range drafts {
				kinds = append(kinds, d.Kind)
			}
			if !slices.Equal(kinds, c.want) {
				t.Errorf("leaves %v, want %v", kinds, c.want)
			}
			if c.reason != "" && (len(withheld) != 1 || !strings.Contains(withheld[0].Reason, c.reason)) {
				t.Errorf("withheld %+v, want a reason with %q", withheld, c.reason)
			}
		})
	}
}

func TestNothingPrivateIsPrepared(t *testing.T) {
	policy := share.DefaultPolicy()
	policy.Absolute = true
	drafts, _ := share.Prepare(threeRuns(), policy, pseudonyms, machines)
	for _, d := range drafts {
		for _, secret := range []string{"nightly", "revenue", "s3:", "acme", "customers", "rack7", "secret-host"} {
			if bytes.Contains(d.Body, []byte(secret)) || strings.Contains(d.Key, secret) {
				t.Errorf("%s holds %q", d.Key, secret)
			}
		}
	}
}

func TestLevelLeavesOnlyByChoice(t *testing.T) {
	for _, absolute := range []bool{false, true} {
		policy := share.DefaultPolicy()
		policy.Absolute = absolute
		drafts, _ := share.Prepare(threeRuns(), policy, pseudonyms, machines)
		if got := drafts[0].Summary.Level != nil; got != absolute {
			t.Errorf("absolute_runtimes = %t: level present is %t", absolute, got)
		}
	}
}

func TestNoise(t *testing.T) {
	policy := share.DefaultPolicy()
	policy.Epsilon = 0.5
	first, _ := share.Prepare(threeRuns(), policy, pseudonyms, machines)
	again, _ := share.Prepare(threeRuns(), policy, pseudonyms, machines)
	if !bytes.Equal(first[0].Body, again[0].Body) {
		t.Error("noise is drawn anew for the same runs: it would average away")
	}
	clean, _ := share.Prepare(threeRuns(), share.DefaultPolicy(), pseudonyms, machines)
	if proto.Equal(first[0].Summary, clean[0].Summary) {
		t.Error("no noise was added")
	}
	if got, want := first[0].Summary.NoiseScale, math.Ln2/0.5; math.Abs(got-want) > 1e-12 {
		t.Errorf("noise scale is stated as %g, want %g", got, want)
	}
}

// TestNoiseIsDrawnForWhatItIsFor: with one draw for two values or two scales, what leaves
// would tell the runtimes exactly.
func TestNoiseIsDrawnForWhatItIsFor(t *testing.T) {
	// leaves is the log runtime of 8xm4.xlarge as it leaves.
	leaves := func(runs []model.Run, epsilon float64) float64 {
		policy := share.DefaultPolicy()
		policy.Epsilon, policy.Absolute = epsilon, true
		drafts, _ := share.Prepare(runs, policy, pseudonyms, machines)
		s := drafts[0].Summary
		for _, c := range s.GetConfigurations() {
			if c.GetScaleOut() == 8 {
				return s.GetLevel() + c.GetLogRuntime()
			}
		}
		t.Fatalf("no configuration of 8 nodes in %v", s)
		return 0
	}
	runs := threeRuns()
	noisy, weaker, clean := leaves(runs, 1), leaves(runs, 2), math.Log(100)
	if ratio := (noisy - clean) / (weaker - clean); math.Abs(ratio-2) < 1e-3 {
		t.Errorf("the noise of epsilon 1 is %.4f times that of epsilon 2: the value can be solved for", ratio)
	}
	runs[0].RuntimeSeconds = 110 // as many runs, another median
	changed := leaves(runs, 1)
	if math.Abs((changed-noisy)-math.Log(1.1)) < 1e-3 {
		t.Error("two values have one noise, and so their difference is exact")
	}
	// A value keeps its noise when another one changes.
	runs = threeRuns()
	runs[1].RuntimeSeconds = 250
	if same := leaves(runs, 1); math.Abs(same-noisy) > 1e-9 {
		t.Errorf("an unchanged value left as %.6f and as %.6f: averaging takes the noise away", noisy, same)
	}
}

// The noise's mean absolute value is its scale; 400 independent draws put the
// estimate within 25% of it except once in a million times, and the draws repeat.
func TestNoiseHasTheStatedScale(t *testing.T) {
	policy := share.DefaultPolicy()
	policy.Epsilon = 1
	var runs []model.Run
	for i := range 400 {
		runs = append(runs, run("m4.large", i+1, 100, model.OK))
	}
	drafts, _ := share.Prepare(runs, policy, pseudonyms, machines)
	sum := 0.0
	for _, c := range drafts[0].Summary.Configurations {
		sum += math.Abs(c.LogRuntime)
	}
	if got := sum / 400; math.Abs(got/math.Ln2-1) > 0.25 {
		t.Errorf("mean absolute noise is %.3f, want about %.3f", got, math.Ln2)
	}
}

func TestPolicyValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*share.Policy)
	}{
		{"mode", func(p *share.Policy) { p.Mode = "some" }},
		{"minimum runs", func(p *share.Policy) { p.MinimumRuns = 2 }},
		{"epsilon", func(p *share.Policy) { p.Epsilon = -1 }},
		{"epsilon NaN", func(p *share.Policy) { p.Epsilon = math.NaN() }},
		{"valid for", func(p *share.Policy) { p.ValidFor = time.Minute }},
		{"override", func(p *share.Policy) { p.Overrides = []share.Override{{Mode: "x"}} }},
	} {
		p := share.DefaultPolicy()
		c.change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: accepted %+v", c.name, p)
		}
	}
}

// TestExactSizesAreAChoice: without it only the power of two of an input size leaves.
func TestExactSizesAreAChoice(t *testing.T) {
	const bytes = 20_123_456_789
	var runs []model.Run
	for _, nodes := range []int{2, 4, 8} {
		r := run("m4.large", nodes, 1000/float64(nodes), model.OK)
		r.Workload.InputBytes = bytes
		runs = append(runs, r)
	}
	for _, exact := range []bool{false, true} {
		policy := share.DefaultPolicy()
		policy.ExactSizes = exact
		drafts, withheld := share.Prepare(runs, policy, pseudonyms, machines)
		if len(drafts) != 2 || len(withheld) != 0 {
			t.Fatalf("%d drafts, withheld %v", len(drafts), withheld)
		}
		for _, d := range drafts {
			got, log2 := d.Summary.GetInputBytes()+d.Model.GetInputBytes(), d.Summary.GetInputSizeLog2()+d.Model.GetInputSizeLog2()
			if want := map[bool]float64{true: bytes}[exact]; got != want || log2 != 34 {
				t.Errorf("exact %v: %s shares %g bytes and 2^%d, want %g and 2^34", exact, d.Key, got, log2, want)
			}
		}
	}
}
