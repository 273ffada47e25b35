package commons_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// sealStage signs a model of an organisation.
func sealStage(t *testing.T, priv crypto.PrivKey, infrastructure, framework string, m *karasuv1.StageModel) *commons.Record {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return seal(t, priv, func(r *karasuv1.Record) {
		r.Topic, r.Kind = commons.StageTopic(infrastructure, framework).String(), kindStage
		r.Key, r.Body = commons.StageKey(m.GetFamily()), body
	})
}

func TestStageModelsOfAFramework(t *testing.T) {
	_, good := stageModel(t)
	unknown, bad := proto.CloneOf(good), proto.CloneOf(good)
	unknown.Family = "stage-trees/9"
	bad.Blend = 7 // the validator would not have let it in

	db := openDB(t, t.TempDir(), &clock{noon})
	keys := map[string]crypto.PrivKey{}
	name := map[peer.ID]string{}
	for _, label := range []string{"self", "both", "far", "near", "strange", "bad"} {
		keys[label] = newKey(t)
		id, err := peer.IDFromPrivateKey(keys[label])
		if err != nil {
			t.Fatal(err)
		}
		name[id] = label
	}
	for _, r := range []struct {
		who, infrastructure, framework string
		m                              *karasuv1.StageModel
	}{
		{"self", "aws-emr", "spark", good},
		{"both", "aws-emr", "spark", good}, {"both", "aws-ec2", "spark", good},
		{"far", "gcp", "spark", good}, {"near", "gcp", "spark", good},
		{"strange", "aws-emr", "spark", unknown}, {"bad", "aws-emr", "spark", bad},
		{"bad", "aws-emr", "flink", good},
	} {
		put(t, db, sealStage(t, keys[r.who], r.infrastructure, r.framework, r.m), r.who == "self", commons.Stored)
	}
	self, err := peer.IDFromPrivateKey(keys["self"])
	if err != nil {
		t.Fatal(err)
	}
	q := commons.NewStageModels(db)
	q.Near = func(id peer.ID) bool { return name[id] == "near" }
	of := func(framework string, infrastructures ...string) (string, map[string]error) {
		t.Helper()
		usable, skipped, err := q.For(framework, infrastructures, commons.Writer{Organisation: self})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range usable {
			if m.General == nil || m.Err != nil {
				t.Errorf("unusable: %+v", m)
			}
			got = append(got, name[m.Author]+" "+m.Topic.Infrastructure)
		}
		reasons := map[string]error{}
		for _, m := range skipped {
			reasons[name[m.Author]] = m.Err
		}
		return strings.Join(got, ", "), reasons
	}
	for range 2 { // the second time from memory
		got, reasons := of("spark", "aws-ec2", "gcp")
		if want := "both aws-ec2, near gcp, far gcp"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(reasons) != 2 || !errors.Is(reasons["bad"], commons.ErrMalformed) || !errors.Is(reasons["strange"], commons.ErrFamily) {
			t.Errorf("skipped %v", reasons)
		}
	}
	// Without an infrastructure those that are connected come first.
	if got, _ := of("spark"); !strings.HasPrefix(got, "near gcp, ") {
		t.Errorf("got %s", got)
	}
	if got, _ := of("flink"); got != "bad aws-emr" {
		t.Errorf("flink: %s", got)
	}
	if got, reasons := of("ray"); got != "" || len(reasons) > 0 {
		t.Errorf("of nothing: %s, %v", got, reasons)
	}
}

func TestStageModelsAreBounded(t *testing.T) {
	_, good := stageModel(t)
	db := openDB(t, t.TempDir(), &clock{noon})
	for range commons.MaxStageModels + 3 {
		put(t, db, sealStage(t, newKey(t), "aws-emr", "spark", good), false, commons.Stored)
	}
	usable, skipped, err := commons.NewStageModels(db).For("spark", nil, commons.Writer{})
	if err != nil || len(usable) != commons.MaxStageModels || len(skipped) != 3 ||
		slices.ContainsFunc(skipped, func(m commons.StageModel) bool { return !errors.Is(m.Err, commons.ErrManyModels) }) {
		t.Errorf("%d usable, skipped %v, %v", len(usable), fmt.Sprint(skipped), err)
	}
}

// largestStageModel has as many nodes as fit a record, in trees as high as may be.
func largestStageModel(tb testing.TB) *commons.Record {
	tb.Helper()
	_, m := stageModel(tb)
	tree := &karasuv1.StageForest{}
	for range 199 {
		tree.Features, tree.Values = append(tree.Features, 1), append(tree.Values, 1)
	}
	for range 200 {
		tree.Features, tree.Values = append(tree.Features, 0), append(tree.Values, 1)
	}
	for _, f := range append(m.Forests, m.End) {
		f.Trees, f.Features, f.Values = 0, nil, nil
	}
	for f := m.Forests[0]; proto.Size(m)+5*len(tree.Features) < commons.MaxEnvelope-1024; {
		f.Trees++
		f.Features, f.Values = append(f.Features, tree.Features...), append(f.Values, tree.Values...)
	}
	r := stageRecord(tb, m)
	if err := commons.ValidateBody(r); err != nil {
		tb.Fatal(err)
	}
	return r
}

func BenchmarkLargestStageModel(b *testing.B) {
	r := largestStageModel(b)
	b.Run("validate", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if err := commons.ValidateBody(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	g, err := commons.DecodeStageModel(r)
	if err != nil {
		b.Fatal(err)
	}
	job := stageJobs(b, 1, 2)[0]
	b.Run("predict four stages", func(b *testing.B) {
		for range b.N {
			if _, err := g.Predict(job, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
