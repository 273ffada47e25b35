package commons_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

func topicOn(infrastructure string) model.Topic {
	return model.Topic{Infrastructure: infrastructure, Framework: "spark", Algorithm: "grep"}
}

// sealRuntime signs a model of an organisation.
func sealRuntime(t *testing.T, priv crypto.PrivKey, topic model.Topic, m *karasuv1.RuntimeModel) *commons.Record {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return seal(t, priv, func(r *karasuv1.Record) {
		r.Topic, r.Kind, r.Key, r.Body = topic.String(), kindRuntime, commons.RuntimeKey(m.GetFamily()), body
	})
}

func TestRuntimeModelsOfATopic(t *testing.T) {
	points, network := runtimeModel(t)
	good, net := encodeRuntime(t, points), encodeRuntime(t, network)
	inverted := proto.CloneOf(good)
	invert(points, inverted.Values)
	unknown := proto.CloneOf(good)
	unknown.Family = "structured-points/9"

	db := openDB(t, t.TempDir(), &clock{noon})
	self, near, far, netOnly, bad, strange := newKey(t), newKey(t), newKey(t), newKey(t), newKey(t), newKey(t)
	here, there := topicOn("aws-emr"), topicOn("aws-ec2")
	other := model.Topic{Infrastructure: "aws-emr", Framework: "spark", Algorithm: "sort"}
	put(t, db, sealRuntime(t, self, here, good), true, commons.Stored)
	put(t, db, sealRuntime(t, near, here, net), false, commons.Stored)
	put(t, db, sealRuntime(t, near, here, good), false, commons.Stored)
	put(t, db, sealRuntime(t, near, there, good), false, commons.Stored)
	put(t, db, sealRuntime(t, far, there, good), false, commons.Stored)
	put(t, db, sealRuntime(t, netOnly, here, net), false, commons.Stored)
	put(t, db, sealRuntime(t, bad, here, inverted), false, commons.Stored)
	put(t, db, sealRuntime(t, strange, here, unknown), false, commons.Stored)
	put(t, db, sealRuntime(t, strange, other, good), false, commons.Stored)
	put(t, db, seal(t, near, func(r *karasuv1.Record) { r.Topic = here.String() }), false, commons.Stored)

	q := commons.NewRuntimeModels(db)
	name := map[peer.ID]string{}
	for label, key := range map[string]crypto.PrivKey{"self": self, "near": near, "far": far, "net": netOnly, "bad": bad, "strange": strange} {
		id, err := peer.IDFromPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		name[id] = label
	}
	own, err := peer.IDFromPrivateKey(self)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from memory
		usable, skipped, err := q.For(here, commons.Writer{Organisation: own}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range usable {
			if m.General == nil || m.Err != nil || m.Weights == nil {
				t.Errorf("unusable: %+v", m)
			}
			got = append(got, name[m.Author]+" "+m.Topic.Infrastructure+" "+m.Weights.Family)
		}
		if n := len(got); n == 0 || got[n-1] != "far aws-ec2 structured-points/1" {
			t.Errorf("%v: what is from elsewhere is not last", got)
		}
		slices.Sort(got)
		if want := "[far aws-ec2 structured-points/1 near aws-emr structured-points/1]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		reasons := map[string]error{}
		for _, m := range skipped {
			reasons[name[m.Author]] = m.Err
		}
		if len(reasons) != 3 || !errors.Is(reasons["net"], commons.ErrUnguarded) || !errors.Is(reasons["bad"], predict.ErrWeights) || !errors.Is(reasons["strange"], commons.ErrFamily) {
			t.Errorf("skipped %v", reasons)
		}
	}
	put(t, db, sealRuntime(t, netOnly, topicOn("azure"), net), false, commons.Stored)
	if usable, _, err := q.For(topicOn("azure"), commons.Writer{Organisation: own}, nil); err != nil || len(usable) == 0 || name[usable[0].Author] != "net" {
		t.Errorf("where there is no other, a network does not count: %+v, %v", usable, err)
	}
	if usable, skipped, err := q.For(model.Topic{Infrastructure: "x", Framework: "y", Algorithm: "z"}, commons.Writer{Organisation: own}, nil); len(usable)+len(skipped) > 0 || err != nil {
		t.Errorf("of nothing: %v, %v, %v", usable, skipped, err)
	}
}

func TestRuntimeModelsAreBounded(t *testing.T) {
	_, network := runtimeModel(t)
	m := encodeRuntime(t, network)
	db := openDB(t, t.TempDir(), &clock{noon})
	for range commons.MaxRuntimeModels + 2 {
		put(t, db, sealRuntime(t, newKey(t), topicOn("aws-emr"), m), false, commons.Stored)
	}
	usable, skipped, err := commons.NewRuntimeModels(db).For(topicOn("aws-emr"), commons.Writer{}, nil)
	if err != nil || len(usable) != commons.MaxRuntimeModels || len(skipped) != 2 || !errors.Is(skipped[0].Err, commons.ErrManyModels) {
		t.Errorf("%d usable, %d skipped, error %v", len(usable), len(skipped), err)
	}
}

// Whoever makes many models that do not suit a question takes no place of one that does,
// and who is connected comes before strangers.
func TestRuntimeModelsThatSuitTakeThePlaces(t *testing.T) {
	points, network := runtimeModel(t)
	db := openDB(t, t.TempDir(), &clock{noon})
	junk := encodeRuntime(t, network)
	for range 3 * commons.MaxRuntimeModels {
		put(t, db, sealRuntime(t, newKey(t), topicOn("aws-emr"), junk), false, commons.Stored)
	}
	friend := newKey(t)
	put(t, db, sealRuntime(t, friend, topicOn("aws-emr"), encodeRuntime(t, points)), false, commons.Stored)
	id, err := peer.IDFromPrivateKey(friend)
	if err != nil {
		t.Fatal(err)
	}
	unsuited := errors.New("does not suit")
	q := commons.NewRuntimeModels(db)
	for range 2 {
		usable, skipped, err := q.For(topicOn("aws-emr"), commons.Writer{Organisation: "self"}, func(w *predict.Weights) error {
			if w.Family == network.Family {
				return unsuited
			}
			return nil
		})
		if err != nil || len(usable) != 1 || usable[0].Author != id || len(skipped) != 3*commons.MaxRuntimeModels || !errors.Is(skipped[0].Err, unsuited) {
			t.Fatalf("%d usable, %d skipped, %v", len(usable), len(skipped), err)
		}
	}
	q.Near = func(p peer.ID) bool { return p == id }
	if usable, _, err := q.For(topicOn("aws-emr"), commons.Writer{Organisation: "self"}, nil); err != nil || len(usable) == 0 || usable[0].Author != id {
		t.Errorf("who is connected is not first: %v", err)
	}
}

// invert turns the predictions of a model of points upside down: the last but one
// value of each point is ln(seconds).
func invert(w *predict.Weights, values []float32) {
	eachPoint(w, values, func(v *float32) { *v = 8 - *v })
}

func eachPoint(w *predict.Weights, values []float32, change func(logSeconds *float32)) {
	points, per := w.Sizes[2], 6+len(w.Arguments)
	for i := range points {
		change(&values[len(values)-(points-i)*per+per-2])
	}
}

// An ensemble with a poisoned member does what docs/predict.md says: values that are
// inverted or random are refused when the record arrives at use, so that the clean
// peer's error is what remains; values that are all shifted pass without a run, and
// lose their weight with three runs.
func TestPoisonedRuntimeModels(t *testing.T) {
	clean := weightsOf(t, general(t, madeUp(0, 16, 1)))
	sent, err := commons.DecodeRuntimeModel(runtimeRecord(t, encodeRuntime(t, clean)))
	if err != nil {
		t.Fatal(err)
	}
	peerModel, err := commons.GeneralOf(sent)
	if err != nil {
		t.Fatal(err)
	}
	poison := func(change func(values []float32)) (predict.General, error) {
		m := encodeRuntime(t, clean)
		change(m.Values)
		w, err := commons.DecodeRuntimeModel(runtimeRecord(t, m))
		if err != nil {
			return nil, err
		}
		return commons.GeneralOf(w)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func([]float32){
		"inverted":      func(v []float32) { invert(clean, v) },
		"random":        func(v []float32) { eachPoint(clean, v, func(p *float32) { *p = float32(r.NormFloat64() * 3) }) },
		"shuffled":      func(v []float32) { r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] }) },
		"random values": func(v []float32) { eachValue(v, func(p *float32) { *p = float32(r.NormFloat64()) }) },
	} {
		if _, err := poison(change); !errors.Is(err, predict.ErrWeights) {
			t.Errorf("%s: %v, want refusal", name, err)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: unclear reason %v", name, err)
		}
	}

	shifted, err := poison(func(v []float32) { eachPoint(clean, v, func(p *float32) { *p += float32(math.Log(3)) }) })
	if err != nil {
		t.Fatalf("shifted: %v", err)
	}
	var alone, with, withRuns, aloneRuns float64
	for _, h := range madeUp(16, 8, 1) {
		truth := func(x int) float64 {
			return math.Log(madeUpSeconds(h.Context, h.Context.Arguments[1].Number, x))
		}
		known, x := h.Runs[:3], 8
		both := predict.Ensemble{Members: []predict.General{peerModel, shifted}}
		for _, c := range []struct {
			g    predict.General
			runs []predict.Observation
			sum  *float64
		}{{peerModel, nil, &alone}, {both, nil, &with}, {peerModel, known, &aloneRuns}, {both, known, &withRuns}} {
			p, err := c.g.Condition(h.Context, c.runs)
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.Predict(x)
			if err != nil {
				t.Fatal(err)
			}
			*c.sum += math.Abs(d.LogMedian-truth(x)) / 8
		}
	}
	t.Logf("mean error of ln(seconds): clean alone %.3f, with the shifted one %.3f; given three runs %.3f and %.3f", alone, with, aloneRuns, withRuns)
	if alone > .15 {
		t.Errorf("the clean model is off by %.3f", alone)
	}
	if with < 2*alone {
		t.Errorf("a shift is found without runs (%.3f with it, %.3f alone): say so in docs/predict.md", with, alone)
	}
	if withRuns > 1.1*aloneRuns+.01 {
		t.Errorf("a shift by a factor of three does harm given three runs: %.3f, alone %.3f", withRuns, aloneRuns)
	}
}

func eachValue(values []float32, change func(*float32)) {
	for i := range values {
		change(&values[i])
	}
}
