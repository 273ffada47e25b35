package commons_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// with returns a record as Open would, without the cost of signing.
func with(t testing.TB, kind karasuv1.RecordKind, key string, body proto.Message) *commons.Record {
	t.Helper()
	b, err := proto.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return &commons.Record{Kind: kind, Key: key, Topic: summary().Topic, Body: b}
}

const (
	kindSummary = karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY
	kindModel   = karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL
)

func TestSummaryRoundTrip(t *testing.T) {
	shape := summary()
	shape.Absolute, shape.NoiseScale, shape.ExactInputBytes = false, 0, 1.1e9
	for _, s := range []model.Summary{summary(), shape} {
		r := with(t, kindSummary, commons.SummaryKey(pseudonym), commons.EncodeSummary(s))
		got, err := commons.DecodeSummary(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Error(d)
		}
		if err := commons.ValidateBody(r); err != nil {
			t.Error(err)
		}
	}
}

func TestModelRoundTrip(t *testing.T) {
	r := with(t, kindModel, commons.ModelKey(pseudonym), commons.EncodeModel(pseudonym, 30, 1e9, weights()))
	got, err := commons.DecodeModel(r)
	if err != nil {
		t.Fatal(err)
	}
	want := commons.Model{Topic: summary().Topic, Pseudonym: pseudonym, InputSizeLog2: 30, ExactInputBytes: 1e9, Weights: weights()}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := commons.ValidateBody(r); err != nil {
		t.Error(err)
	}
}

func TestRefusesSummaries(t *testing.T) {
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 5000))
	for _, c := range []struct {
		name   string
		change func(*karasuv1.RunSummary)
	}{
		{"no configurations", func(m *karasuv1.RunSummary) { m.Configurations = nil }},
		{"pseudonym", func(m *karasuv1.RunSummary) { m.Workload = "nightly" }},
		{"another's key", func(m *karasuv1.RunSummary) { m.Workload = strings.Repeat("f", 32) }},
		{"NaN", func(m *karasuv1.RunSummary) { m.Configurations[0].LogRuntime = math.NaN() }},
		{"infinite", func(m *karasuv1.RunSummary) { m.Configurations[0].LogRuntime = math.Inf(-1) }},
		{"level", func(m *karasuv1.RunSummary) { m.Level = proto.Float64(math.NaN()) }},
		{"noise", func(m *karasuv1.RunSummary) { m.NoiseScale = -1 }},
		{"input size", func(m *karasuv1.RunSummary) { m.InputSizeLog2 = 61 }},
		{"input bytes", func(m *karasuv1.RunSummary) { m.InputBytes = proto.Float64(1e9 * 1.6) }},
		{"input bytes NaN", func(m *karasuv1.RunSummary) { m.InputBytes = proto.Float64(math.NaN()) }},
		{"input bytes below one", func(m *karasuv1.RunSummary) { m.InputBytes = proto.Float64(.5) }},
		{"input bytes without a bucket", func(m *karasuv1.RunSummary) { m.InputSizeLog2, m.InputBytes = 0, proto.Float64(1e9) }},
		{"scale-out", func(m *karasuv1.RunSummary) { m.Configurations[0].ScaleOut = 0 }},
		{"huge scale-out", func(m *karasuv1.RunSummary) { m.Configurations[0].ScaleOut = math.MaxUint32 }},
		{"machine type", func(m *karasuv1.RunSummary) { m.Configurations[0].MachineType = "m4\n" }},
		{"vcpus", func(m *karasuv1.RunSummary) { m.Configurations[0].Vcpus = 0 }},
		{"run count", func(m *karasuv1.RunSummary) { m.Configurations[0].OkRuns = math.MaxUint32 }},
		{"no runs", func(m *karasuv1.RunSummary) { m.Configurations[1].FailedRuns = 0 }},
		{"metrics", func(m *karasuv1.RunSummary) { m.Configurations[0].Metrics.Cpu.P10 = 2 }},
		{"twice", func(m *karasuv1.RunSummary) { m.Configurations = append(m.Configurations, m.Configurations[0]) }},
		{"too many", func(m *karasuv1.RunSummary) {
			for range model.MaxPoints {
				m.Configurations = append(m.Configurations, m.Configurations[0])
			}
		}},
		{"unknown fields", func(m *karasuv1.RunSummary) { m.ProtoReflect().SetUnknown(unknown) }},
		{"unknown fields below", func(m *karasuv1.RunSummary) { m.Configurations[0].Metrics.Cpu.ProtoReflect().SetUnknown(unknown) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := commons.EncodeSummary(summary())
			c.change(m)
			if err := commons.ValidateBody(with(t, kindSummary, commons.SummaryKey(pseudonym), m)); !errors.Is(err, commons.ErrMalformed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRefusesModels(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*karasuv1.SupportModel)
	}{
		{"pseudonym", func(m *karasuv1.SupportModel) { m.Workload = "" }},
		{"another's key", func(m *karasuv1.SupportModel) { m.Workload = strings.Repeat("f", 32) }},
		{"input size", func(m *karasuv1.SupportModel) { m.InputSizeLog2 = 61 }},
		{"input bytes", func(m *karasuv1.SupportModel) { m.InputBytes = proto.Float64(1e9) }},
		{"input bytes infinite", func(m *karasuv1.SupportModel) { m.InputBytes = proto.Float64(math.Inf(1)) }},
		{"no inputs", func(m *karasuv1.SupportModel) { m.Inputs, m.Targets = nil, nil }},
		{"shape", func(m *karasuv1.SupportModel) { m.Dimensions = 3 }},
		{"huge shape", func(m *karasuv1.SupportModel) { m.Dimensions = math.MaxUint32 }},
		{"NaN", func(m *karasuv1.SupportModel) { m.Inputs[0] = math.NaN() }},
		{"target", func(m *karasuv1.SupportModel) { m.Targets[0] = 1e9 }},
		{"noise", func(m *karasuv1.SupportModel) { m.NoiseSd = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := proto.CloneOf(commons.EncodeModel(pseudonym, 0, 0, weights()))
			c.change(m)
			if err := commons.ValidateBody(with(t, kindModel, commons.ModelKey(pseudonym), m)); !errors.Is(err, commons.ErrMalformed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnknownFamilyIsCarriedNotUsed(t *testing.T) {
	m := commons.EncodeModel(pseudonym, 0, 0, weights())
	m.Family = "gp-matern52-ard/2"
	r := with(t, kindModel, commons.ModelKey(pseudonym), m)
	if _, err := commons.DecodeModel(r); !errors.Is(err, commons.ErrFamily) {
		t.Errorf("got %v", err)
	}
	if err := commons.ValidateBody(r); err != nil {
		t.Error(err)
	}
}

func TestDecodersAskForTheirKind(t *testing.T) {
	r := with(t, kindModel, "x", commons.EncodeModel(pseudonym, 0, 0, weights()))
	if _, err := commons.DecodeSummary(r); !errors.Is(err, commons.ErrKind) {
		t.Errorf("got %v", err)
	}
	r.Kind = kindSummary
	if _, err := commons.DecodeModel(r); !errors.Is(err, commons.ErrKind) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeSummary(f *testing.F) {
	f.Add(with(f, kindSummary, "", commons.EncodeSummary(summary())).Body)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := commons.DecodeSummary(&commons.Record{Kind: kindSummary, Topic: summary().Topic, Body: b})
		switch {
		case err == nil && s.Validate() != nil:
			t.Fatalf("accepted %+v: %v", s, s.Validate())
		case err != nil && !errors.Is(err, commons.ErrMalformed):
			t.Fatalf("unnamed error %v", err)
		}
		if err != nil {
			return
		}
		again, err := commons.DecodeSummary(with(t, kindSummary, "", commons.EncodeSummary(s)))
		if d := cmp.Diff(s, again); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func FuzzDecodeModel(f *testing.F) {
	f.Add(with(f, kindModel, "", commons.EncodeModel(pseudonym, 30, 0, weights())).Body)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := commons.DecodeModel(&commons.Record{Kind: kindModel, Topic: summary().Topic, Body: b})
		switch {
		case err == nil && m.Weights.Validate() != nil:
			t.Fatalf("accepted %+v", m)
		case err != nil && !errors.Is(err, commons.ErrMalformed) && !errors.Is(err, commons.ErrFamily):
			t.Fatalf("unnamed error %v", err)
		}
	})
}
