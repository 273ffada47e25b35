package commons_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/structured"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const kindRuntime = karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL

// madeUp is a history of an algorithm whose runtime follows a simple law, in contexts
// from number first on.
func madeUp(first, contexts, arguments int) []predict.History {
	machines := []struct {
		name          string
		cores, memory float64
	}{{"m4.large", 2, 8}, {"m4.xlarge", 4, 16}, {"c4.2xlarge", 8, 15}, {"r4.xlarge", 4, 30.5}}
	var out []predict.History
	for i := first; i < first+contexts; i++ {
		m := machines[i%len(machines)]
		c := predict.Context{
			Environment: "aws-emr", MachineType: m.name, Resources: model.Resources{VCPUs: m.cores, MemoryGiB: m.memory},
			InputBytes: 5e9 * float64(1+i%7), Arguments: []predict.Argument{{Name: "format", Text: "parquet"}},
		}
		weight := 0.
		for k := range arguments {
			v := float64(2 + (i*(k+3))%5)
			weight += v
			c.Arguments = append(c.Arguments, predict.Argument{Name: fmt.Sprintf("k%02d", k), Number: v})
		}
		h := predict.History{Context: c}
		for _, x := range []int{2, 4, 6, 8, 12} {
			h.Runs = append(h.Runs, predict.Observation{ScaleOut: x, RuntimeSeconds: madeUpSeconds(c, weight, x)})
		}
		out = append(out, h)
	}
	return out
}

func madeUpSeconds(c predict.Context, weight float64, x int) float64 {
	return 10 + c.InputBytes/1e9*(5+weight)*20/(float64(x)*c.Resources.VCPUs) + float64(x)/3
}

// general fits the default model; its constants are fitted from eight contexts on.
func general(tb testing.TB, history []predict.History) predict.General {
	tb.Helper()
	g, err := structured.New("x", structured.Options{}).Fit(tb.Context(), history)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func weightsOf(tb testing.TB, g predict.General) *predict.Weights {
	tb.Helper()
	w, err := g.Weights()
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

var (
	runtimeOnce    sync.Once
	runtimeWeights *predict.Weights
	bellamyWeights *predict.Weights
)

// runtimeModel returns weights of either family that must not be changed.
func runtimeModel(tb testing.TB) (points, network *predict.Weights) {
	tb.Helper()
	runtimeOnce.Do(func() {
		history := madeUp(0, 12, 2)
		runtimeWeights = weightsOf(tb, general(tb, history))
		g, err := bellamy.Learner{}.Fit(tb.Context(), history)
		if err != nil {
			tb.Fatal(err)
		}
		bellamyWeights = weightsOf(tb, g)
	})
	return runtimeWeights, bellamyWeights
}

func encodeRuntime(tb testing.TB, w *predict.Weights) *karasuv1.RuntimeModel {
	tb.Helper()
	m, err := commons.EncodeRuntimeModel(w)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func runtimeRecord(tb testing.TB, m *karasuv1.RuntimeModel) *commons.Record {
	tb.Helper()
	return with(tb, kindRuntime, commons.RuntimeKey(m.GetFamily()), m)
}

// predictions of a context at every scale-out given its first runs.
func predictions(tb testing.TB, g predict.General, c predict.Context, runs []predict.Observation) []predict.Distribution {
	tb.Helper()
	p, err := g.Condition(c, runs)
	if err != nil {
		tb.Fatal(err)
	}
	var out []predict.Distribution
	for _, x := range []int{1, 2, 3, 5, 8, 12, 16, 40} {
		d, err := p.Predict(x)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// What arrives predicts what was sent: the default's weights travel without loss, a
// network's to 32 bits.
func TestRuntimeModelRoundTrip(t *testing.T) {
	points, network := runtimeModel(t)
	for _, w := range []*predict.Weights{points, network} {
		t.Run(w.Family, func(t *testing.T) {
			r := runtimeRecord(t, encodeRuntime(t, w))
			if err := commons.ValidateBody(r); err != nil {
				t.Fatal(err)
			}
			got, err := commons.DecodeRuntimeModel(r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Contexts != 16 || got.Runs != 64 || w.Contexts != 12 || w.Runs != 60 {
				t.Errorf("%d contexts and %d runs became %d and %d, want powers of two", w.Contexts, w.Runs, got.Contexts, got.Runs)
			}
			want := *w
			want.Contexts, want.Runs = got.Contexts, got.Runs
			want.Values = append([]float64(nil), w.Values...)
			for i, v := range want.Values {
				if want.Values[i] = float64(float32(v)); want.Values[i] != v && w.Family == structured.Family {
					t.Fatalf("value %d is %g and does not travel without loss", i, v)
				}
			}
			if d := cmp.Diff(&want, got); d != "" {
				t.Error(d)
			}
			sent, err := commons.GeneralOf(w)
			if err != nil {
				t.Fatal(err)
			}
			arrived, err := commons.GeneralOf(got)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				h := madeUp(rapid.IntRange(0, 500).Draw(rt, "context"), 1, 2)[0]
				h.Context.InputBytes = rapid.Float64Range(1, 1e13).Draw(rt, "bytes")
				runs := h.Runs[:rapid.IntRange(0, 3).Draw(rt, "runs")]
				if w.Family == bellamy.Family {
					runs = nil // fine-tuning a network takes steps, which amplify the last digit
				}
				a, b := predictions(t, sent, h.Context, runs), predictions(t, arrived, h.Context, runs)
				for i := range a {
					if math.Abs(a[i].LogMedian-b[i].LogMedian) > 1e-6 || math.Abs(a[i].Scale-b[i].Scale) > 1e-6 {
						rt.Fatalf("%+v became %+v", a[i], b[i])
					}
				}
			})
		})
	}
}

// The largest honest model fits into a record many times.
func TestRuntimeModelSize(t *testing.T) {
	for arguments, want := range map[int]int{2: 8 << 10, predict.MaxArguments - 1: 40 << 10} {
		m := encodeRuntime(t, weightsOf(t, general(t, madeUp(0, 7, arguments))))
		if n := proto.Size(m); n > want || n < want/3 {
			t.Errorf("%d values with %d arguments have %d bytes, want at most %d", len(m.GetValues()), arguments, n, want)
		}
	}
}

func TestRefusesRuntimeModels(t *testing.T) {
	points, network := runtimeModel(t)
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		change func(*karasuv1.RuntimeModel)
		reason string
	}{
		{"no family", func(m *karasuv1.RuntimeModel) { m.Family = "" }, "family must be"},
		{"family", func(m *karasuv1.RuntimeModel) { m.Family = "a b" }, "family must be"},
		{"long family", func(m *karasuv1.RuntimeModel) { m.Family = strings.Repeat("x", 200) }, "family must be"},
		{"contexts", func(m *karasuv1.RuntimeModel) { m.ContextsLog2, m.RunsLog2 = 21, 21 }, "of 2^21 contexts and 2^21 runs"},
		{"huge counts", func(m *karasuv1.RuntimeModel) { m.RunsLog2 = math.MaxUint32 }, "2^4294967295 runs"},
		{"fewer runs than contexts", func(m *karasuv1.RuntimeModel) { m.RunsLog2 = 0 }, "a run a context"},
		{"no values", func(m *karasuv1.RuntimeModel) { m.Values = nil }, "0 values"},
		{"NaN", func(m *karasuv1.RuntimeModel) { m.Values[len(m.Values)-1] = nan }, "is NaN"},
		{"infinite", func(m *karasuv1.RuntimeModel) { m.Values[0] = float32(math.Inf(-1)) }, "is -Inf"},
		{"large", func(m *karasuv1.RuntimeModel) { m.Values[0] = 1e30 }, "want within ±1e+06"},
		{"one value less", func(m *karasuv1.RuntimeModel) { m.Values = m.Values[1:] }, "values, want"},
		{"many values", func(m *karasuv1.RuntimeModel) { m.Values = make([]float32, predict.MaxWeights+1) }, "16385 values, at most 16384"},
		{"sizes", func(m *karasuv1.RuntimeModel) { m.Sizes[len(m.Sizes)-1]++ }, ""},
		{"no sizes", func(m *karasuv1.RuntimeModel) { m.Sizes = nil }, "sizes"},
		{"huge size", func(m *karasuv1.RuntimeModel) { m.Sizes[len(m.Sizes)-1] = math.MaxUint32 }, "size 4294967295"},
		{"many sizes", func(m *karasuv1.RuntimeModel) { m.Sizes = make([]uint32, 65) }, "65 sizes, at most 64"},
		{"argument name", func(m *karasuv1.RuntimeModel) { m.Arguments[0].Name = "\u202ek" }, "argument name may hold only"},
		{"no argument name", func(m *karasuv1.RuntimeModel) { m.Arguments[0].Name = "" }, "argument name must have"},
		{"long argument name", func(m *karasuv1.RuntimeModel) { m.Arguments[0].Name = strings.Repeat("k", 257) }, "argument name must have"},
		{"argument twice", func(m *karasuv1.RuntimeModel) { m.Arguments[1].Name = m.Arguments[0].Name }, "given twice"},
		{"argument more", func(m *karasuv1.RuntimeModel) {
			m.Arguments = append(m.Arguments, &karasuv1.RuntimeArgument{Name: "x"})
		}, ""},
		{"many arguments", func(m *karasuv1.RuntimeModel) { m.Arguments = make([]*karasuv1.RuntimeArgument, 33) }, "more than 32 arguments"},
		{"unknown fields", func(m *karasuv1.RuntimeModel) {
			m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 5000)))
		}, "unknown fields"},
	} {
		for _, w := range []*predict.Weights{points, network} {
			t.Run(c.name+" of "+w.Family, func(t *testing.T) {
				m := encodeRuntime(t, w)
				c.change(m)
				err := commons.ValidateBody(runtimeRecord(t, m))
				if !errors.Is(err, commons.ErrMalformed) || !strings.Contains(err.Error(), c.reason) || strings.ContainsAny(err.Error(), "\n\u202e") {
					t.Errorf("got %v, want a reason with %q", err, c.reason)
				}
			})
		}
	}
	t.Run("not encoded", func(t *testing.T) {
		w := *points
		w.Arguments = []predict.WeightArgument{{Name: "User Name"}, w.Arguments[1], w.Arguments[2]}
		if _, err := commons.EncodeRuntimeModel(&w); !errors.Is(err, commons.ErrMalformed) {
			t.Errorf("got %v", err)
		}
		if _, err := commons.EncodeRuntimeModel(nil); !errors.Is(err, commons.ErrMalformed) {
			t.Errorf("nothing: %v", err)
		}
	})
	t.Run("another's key", func(t *testing.T) {
		r := runtimeRecord(t, encodeRuntime(t, points))
		r.Key = commons.RuntimeKey(bellamy.Family)
		if err := commons.ValidateBody(r); !errors.Is(err, commons.ErrMalformed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no protobuf", func(t *testing.T) {
		r := &commons.Record{Kind: kindRuntime, Key: "runtime/x", Body: []byte{0xff, 0xff, 0xff}}
		if err := commons.ValidateBody(r); !errors.Is(err, commons.ErrMalformed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnknownRuntimeFamilyIsCarriedNotUsed(t *testing.T) {
	points, _ := runtimeModel(t)
	m := encodeRuntime(t, points)
	m.Family = "structured-points/2"
	r := runtimeRecord(t, m)
	if err := commons.ValidateBody(r); err != nil {
		t.Error(err)
	}
	if _, err := commons.DecodeRuntimeModel(r); !errors.Is(err, commons.ErrFamily) {
		t.Errorf("got %v", err)
	}
	r.Key = "runtime/structured-points/3"
	if err := commons.ValidateBody(r); !errors.Is(err, commons.ErrMalformed) {
		t.Errorf("under another key: %v", err)
	}
	r.Kind = kindSummary
	if _, err := commons.DecodeRuntimeModel(r); !errors.Is(err, commons.ErrKind) {
		t.Errorf("another kind: %v", err)
	}
}

func FuzzDecodeRuntimeModel(f *testing.F) {
	// Few points, of constants that were not fitted: fuzzing is slow enough.
	points := weightsOf(f, general(f, madeUp(0, 2, 1)))
	f.Add(with(f, kindRuntime, "", encodeRuntime(f, points)).Body)
	f.Add(with(f, kindRuntime, "", &karasuv1.RuntimeModel{Family: bellamy.Family, Sizes: []uint32{3}, Values: make([]float32, 1000)}).Body)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := commons.DecodeRuntimeModel(&commons.Record{Kind: kindRuntime, Topic: summary().Topic, Body: b})
		if err != nil {
			if !errors.Is(err, commons.ErrMalformed) && !errors.Is(err, commons.ErrFamily) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		if err := w.Validate(); err != nil {
			t.Fatalf("accepted %+v: %v", w, err)
		}
		g, err := commons.GeneralOf(w)
		if err != nil {
			if !errors.Is(err, predict.ErrWeights) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		// What it predicts is finite, or it says that it cannot.
		h := madeUp(0, 1, 2)[0]
		p, err := g.Condition(h.Context, nil)
		if err != nil {
			return
		}
		if d, err := p.Predict(4); err == nil && (math.IsNaN(d.LogMedian+d.Scale) || math.IsInf(d.LogMedian+d.Scale, 0)) {
			t.Fatalf("predicts %+v", d)
		}
	})
}
