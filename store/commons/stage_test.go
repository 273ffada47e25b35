package commons_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/stage"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const kindStage = karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL

func stageJobs(tb testing.TB, n int, seed uint64) []stage.Job {
	tb.Helper()
	var out []stage.Job
	for _, e := range modeltest.Executions(n, "secret", seed) {
		j, err := stage.FromExecution(&e)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, j)
	}
	return out
}

var (
	stageOnce    sync.Once
	stageWeights *stage.Weights
	stageMessage *karasuv1.StageModel
)

// stageModel returns weights that must not be changed, and the message of them, which may.
func stageModel(tb testing.TB) (*stage.Weights, *karasuv1.StageModel) {
	tb.Helper()
	stageOnce.Do(func() {
		g, err := stage.Fit(tb.Context(), stageJobs(tb, 20, 1), stage.Options{Trees: 20})
		if err != nil {
			tb.Fatal(err)
		}
		w, err := g.Weights()
		if err != nil {
			tb.Fatal(err)
		}
		m, err := commons.EncodeStageModel(w)
		if err != nil {
			tb.Fatal(err)
		}
		stageWeights, stageMessage = w, m
	})
	return stageWeights, proto.CloneOf(stageMessage)
}

func stageRecord(tb testing.TB, m *karasuv1.StageModel) *commons.Record {
	tb.Helper()
	r := with(tb, kindStage, commons.StageKey(m.GetFamily()), m)
	r.Topic = commons.StageTopic("aws-emr", "spark")
	return r
}

// What arrives predicts exactly what was sent, and counts are rounded.
func TestStageModelRoundTrip(t *testing.T) {
	w, m := stageModel(t)
	r := stageRecord(t, m)
	if err := commons.ValidateBody(r); err != nil {
		t.Fatal(err)
	}
	got, err := commons.DecodeStageModel(r)
	if err != nil {
		t.Fatal(err)
	}
	if jobs, stages := got.Trained(); jobs != 16 || stages != 64 {
		t.Errorf("of %d jobs and %d stages, want 20 and 80 as powers of two", jobs, stages)
	}
	want, err := stage.FromWeights(w)
	if err != nil {
		t.Fatal(err)
	}
	job := stageJobs(t, 1, 2)[0]
	a, err := want.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := got.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
	if size := proto.Size(m); size > commons.MaxEnvelope/2 {
		t.Errorf("%d bytes for a small model", size)
	}
	if _, err := commons.DecodeStageModel(with(t, kindSummary, "a", m)); !errors.Is(err, commons.ErrKind) {
		t.Errorf("another kind: %v", err)
	}
	if _, err := commons.EncodeStageModel(&stage.Weights{Family: stage.Family}); !errors.Is(err, commons.ErrMalformed) {
		t.Errorf("no forests: %v", err)
	}
}

func TestRefusesStageModels(t *testing.T) {
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 5000))
	for _, c := range []struct {
		name   string
		change func(*karasuv1.StageModel)
	}{
		{"no family", func(m *karasuv1.StageModel) { m.Family = "" }},
		{"family", func(m *karasuv1.StageModel) { m.Family = "Stage Trees" }},
		{"jobs", func(m *karasuv1.StageModel) { m.JobsLog2 = 31 }},
		{"stages", func(m *karasuv1.StageModel) { m.StagesLog2 = 64 }},
		{"fewer stages than jobs", func(m *karasuv1.StageModel) { m.StagesLog2 = 0 }},
		{"forests", func(m *karasuv1.StageModel) { m.Forests = m.Forests[:5] }},
		{"many forests", func(m *karasuv1.StageModel) { m.Forests = make([]*karasuv1.StageForest, 7) }},
		{"no durations", func(m *karasuv1.StageModel) { m.Forests[0] = &karasuv1.StageForest{} }},
		{"operators", func(m *karasuv1.StageModel) { m.Operators = make([]uint64, 513) }},
		{"trees", func(m *karasuv1.StageModel) { m.Forests[0].Trees = math.MaxUint32 }},
		{"one tree more", func(m *karasuv1.StageModel) { m.Forests[0].Trees++ }},
		{"one tree fewer", func(m *karasuv1.StageModel) { m.Forests[1].Trees-- }},
		{"feature", func(m *karasuv1.StageModel) { m.Forests[0].Features[0] = math.MaxUint32 }},
		{"feature of no forest", func(m *karasuv1.StageModel) { m.End.Features[0] = 500 }},
		{"fewer values", func(m *karasuv1.StageModel) { f := m.Forests[2]; f.Values = f.Values[1:] }},
		{"NaN leaf", func(m *karasuv1.StageModel) { f := m.Forests[0]; f.Values[len(f.Values)-1] = float32(math.NaN()) }},
		{"NaN threshold", func(m *karasuv1.StageModel) { m.Forests[0].Values[0] = float32(math.NaN()) }},
		{"infinite leaf", func(m *karasuv1.StageModel) { f := m.End; f.Values[len(f.Values)-1] = float32(math.Inf(1)) }},
		{"large leaf", func(m *karasuv1.StageModel) { f := m.End; f.Values[len(f.Values)-1] = 1e5 }},
		{"factor", func(m *karasuv1.StageModel) { m.Forests[3].Factor = -1 }},
		{"floor", func(m *karasuv1.StageModel) { m.Forests[3].Floor = math.NaN() }},
		{"blend", func(m *karasuv1.StageModel) { m.Blend = math.NaN() }},
		{"shift", func(m *karasuv1.StageModel) { m.Shift = 9 }},
		{"high tree", func(m *karasuv1.StageModel) {
			f := &karasuv1.StageForest{Trees: 1}
			for range 300 { // each has the next one to its left
				f.Features, f.Values = append(f.Features, 1), append(f.Values, 1)
			}
			for range 301 {
				f.Features, f.Values = append(f.Features, 0), append(f.Values, 1)
			}
			m.Forests[0] = f
		}},
		{"unknown fields", func(m *karasuv1.StageModel) { m.ProtoReflect().SetUnknown(unknown) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, m := stageModel(t)
			c.change(m)
			if err := commons.ValidateBody(stageRecord(t, m)); !errors.Is(err, commons.ErrMalformed) {
				t.Errorf("%v, want ErrMalformed", err)
			}
		})
	}
	_, m := stageModel(t)
	other := stageRecord(t, m)
	other.Key = commons.StageKey("others/1")
	if err := commons.ValidateBody(other); !errors.Is(err, commons.ErrMalformed) {
		t.Errorf("another key: %v", err)
	}
	other = stageRecord(t, m)
	other.Topic.Algorithm = "sort"
	if err := commons.ValidateBody(other); !errors.Is(err, commons.ErrMalformed) || !strings.Contains(err.Error(), "/stages") {
		t.Errorf("another topic: %v", err)
	}
}

// A family or an operator of a newer version is carried, and not used.
func TestStageModelsOfNewerVersions(t *testing.T) {
	for name, change := range map[string]func(*karasuv1.StageModel){
		"family":   func(m *karasuv1.StageModel) { m.Family = "stage-trees/2" },
		"operator": func(m *karasuv1.StageModel) { m.Operators = append(m.Operators, 12345) },
	} {
		t.Run(name, func(t *testing.T) {
			_, m := stageModel(t)
			change(m)
			r := stageRecord(t, m)
			if err := commons.ValidateBody(r); err != nil {
				t.Errorf("refused: %v", err)
			}
			if _, err := commons.DecodeStageModel(r); !errors.Is(err, commons.ErrFamily) {
				t.Errorf("%v, want ErrFamily", err)
			}
		})
	}
}

// The largest record that may come takes little memory: an envelope full of leaves, of
// empty forests or of operators.
func TestLargeStageModels(t *testing.T) {
	empty := func(field protowire.Number) []byte {
		var b []byte
		for len(b) < commons.MaxEnvelope {
			b = protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), nil)
		}
		return b
	}
	_, full := stageModel(t)
	leaves := &karasuv1.StageForest{Trees: 5000}
	for range commons.MaxEnvelope / 5 {
		leaves.Features, leaves.Values = append(leaves.Features, 0), append(leaves.Values, 1)
	}
	full.Forests[0] = leaves
	body, err := proto.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"leaves": body, "forests": empty(3), "ends": empty(4)} {
		t.Run(name, func(t *testing.T) {
			r := &commons.Record{Kind: kindStage, Key: commons.StageKey(stage.Family), Topic: commons.StageTopic("aws-emr", "spark"), Body: body}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := commons.ValidateBody(r); err == nil {
				t.Error("taken")
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			if limit := uint64(12 * commons.MaxEnvelope); allocated > limit {
				t.Errorf("%d bytes allocated for a record of %d, want at most %d", allocated, len(body), limit)
			}
		})
	}
}

// Whatever a record holds, it is refused or predicts finite amounts.
func FuzzDecodeStageModel(f *testing.F) {
	leaf := func() *karasuv1.StageForest {
		return &karasuv1.StageForest{Trees: 1, Features: []uint32{0}, Values: []float32{60}, Factor: 60, Floor: 3600}
	}
	tree := func() *karasuv1.StageForest {
		return &karasuv1.StageForest{Trees: 2, Features: []uint32{8, 0, 0, 0}, Values: []float32{15, 2, 3, 1}, Factor: 1, Floor: .1}
	}
	for _, change := range []func(m *karasuv1.StageModel){
		func(*karasuv1.StageModel) {},
		func(m *karasuv1.StageModel) { m.End, m.Blend, m.Shift = leaf(), 1, 1.5 },
		func(m *karasuv1.StageModel) { m.Forests[1], m.Forests[4] = leaf(), tree() },
		func(m *karasuv1.StageModel) { m.Forests[0].Features[0] = 500 },
		func(m *karasuv1.StageModel) { m.Operators = []uint64{1} },
		func(m *karasuv1.StageModel) { m.Family = "other/1" },
	} {
		m := &karasuv1.StageModel{Family: stage.Family, StagesLog2: 30, End: tree(), Blend: .5}
		for range 6 {
			m.Forests = append(m.Forests, tree())
		}
		change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	job := stageJobs(f, 1, 3)[0]
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &commons.Record{Kind: kindStage, Key: commons.StageKey(stage.Family), Topic: commons.StageTopic("aws-emr", "spark"), Body: body}
		g, err := commons.DecodeStageModel(r)
		if err != nil {
			if !errors.Is(err, commons.ErrMalformed) && !errors.Is(err, commons.ErrFamily) {
				t.Fatal(err)
			}
			return
		}
		if err := commons.ValidateBody(r); err != nil {
			t.Fatalf("decoded, but not valid: %v", err)
		}
		for _, finished := range []func(int) bool{nil, func(id int) bool { return id < 2 }} {
			forecast, err := g.Predict(job, finished)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range forecast.Stages {
				for _, v := range []float64{p.Duration.Median(), p.Duration.Quantile(.9), p.TaskSeconds.Quantile(.9), p.OutputBytes.Quantile(.9), p.StartSeconds, p.EndSeconds} {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
						t.Fatalf("prediction %+v", p)
					}
				}
			}
		}
	})
}
