package private

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/internal/kv"
	"github.com/karasu-project/karasu/store/wire"
)

// deleteRunOnly deletes a run and leaves its execution.
func deleteRunOnly(txn *kv.Txn, id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return err
	}
	r, err := storedRun(txn, raw)
	if err != nil {
		return err
	}
	return removeRun(txn, raw, *r)
}

func TestFsckFindsInconsistencies(t *testing.T) {
	r := model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: "nightly"},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, RuntimeSeconds: 100, Outcome: model.OK,
	}
	other := r
	other.RuntimeSeconds = 200
	marshal := func(r model.Run) []byte {
		b, err := proto.Marshal(wire.FromRun(r))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	find := func(txn *kv.Txn, prefix byte) (found []byte) {
		if err := txn.EachKey([]byte{prefix}, func(key []byte) error { found = key; return nil }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, c := range []struct {
		name   string
		change func(txn *kv.Txn) error
		want   string
	}{
		{"nothing", func(*kv.Txn) error { return nil }, ""},
		{"no topic index", func(txn *kv.Txn) error { return txn.Delete(find(txn, topicPrefix)) }, `missing from index "t"`},
		{"no job index", func(txn *kv.Txn) error { return txn.Delete(find(txn, jobPrefix)) }, `missing from index "j"`},
		{"no run", func(txn *kv.Txn) error { return txn.Delete(find(txn, runPrefix)) }, "not stored"},
		{"another run", func(txn *kv.Txn) error { return txn.Set(find(txn, runPrefix), marshal(other)) }, "is stored as"},
		{"broken run", func(txn *kv.Txn) error { return txn.Set(find(txn, runPrefix), []byte("x")) }, "damaged data"},
		{"invalid run", func(txn *kv.Txn) error { return txn.Set(find(txn, runPrefix), nil) }, "is missing"},
		{"short key", func(txn *kv.Txn) error { return txn.Set([]byte("rx"), marshal(r)) }, "run under key"},
		{"broken search", func(txn *kv.Txn) error { return txn.Set(searchKey("x"), []byte("x")) }, `search "x"`},
		{"search of another job", func(txn *kv.Txn) error { return txn.Set(searchKey("x"), nil) }, "is stored as"},
		{"short secret", func(txn *kv.Txn) error { return txn.Set([]byte(secretKey), []byte("x")) }, "secret of 1 bytes"},
		{"no execution", func(txn *kv.Txn) error { return txn.Delete(find(txn, executionPrefix)) }, "which is not stored or has fewer"},
		{"broken execution", func(txn *kv.Txn) error { return txn.Set(find(txn, executionPrefix), []byte("x")) }, "packed in an unknown way"},
		{"empty execution", func(txn *kv.Txn) error { return txn.Set(find(txn, executionPrefix), []byte{0}) }, "is stored as"},
		{"no stages", func(txn *kv.Txn) error { return txn.Delete(find(txn, graphPrefix)) }, "are not stored in whole"},
		{"broken stages", func(txn *kv.Txn) error { return txn.Set(find(txn, graphPrefix), []byte{1, 2, 3}) }, "stages of execution"},
		{"no run of an execution", func(txn *kv.Txn) error { return deleteRunOnly(txn, model.OriginID("spark/a")) }, "of an execution is not stored"},
		{"no attempt", func(txn *kv.Txn) error { return txn.Delete(find(txn, attemptPrefix)) }, "is missing among the attempts"},
		{"another attempt", func(txn *kv.Txn) error {
			return txn.Set(append(find(txn, attemptPrefix)[:17], make([]byte, 16)...), nil)
		}, "which is not stored"},
		{"broken watched file", func(txn *kv.Txn) error { return txn.Set(watchKey("x"), []byte("x")) }, "watched file"},
		{"watched file of another path", func(txn *kv.Txn) error { return txn.Set(watchKey("x"), nil) }, "is stored as"},
		{"unknown key", func(txn *kv.Txn) error { return txn.Set([]byte("zz"), nil) }, `unknown key "zz"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := OpenDB(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Secret(t.Context()); err != nil {
				t.Error(err)
			}
			if _, _, err := db.AddRuns(t.Context(), []model.Run{r}); err != nil {
				t.Error(err)
			}
			e := model.Execution{
				Origin: "spark/a", Framework: "spark", ApplicationID: "a", Attempt: "1", Start: time.Unix(1e9, 0), End: time.Unix(1e9+5, 0), Outcome: model.OK,
				Graph: &model.StageGraph{Stages: []model.Stage{{ID: 1, Query: -1}}},
			}
			named := r
			named.Origin = e.Origin
			if _, err := db.PutExecution(t.Context(), e, Hints{}, func(model.Execution, Hints) *model.Run { return &named }); err != nil {
				t.Error(err)
			}
			if err := db.kv.Update(c.change); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			rep, err := Fsck(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if rep.OK() != (c.want == "") || !strings.Contains(strings.Join(rep.Problems, "\n"), c.want) {
				t.Errorf("%+v, want %q", rep, c.want)
			}
		})
	}
}
