package commons_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/internal/crash"
)

const crashKeys = 25

// crashKey is the same in the process that is killed and in the test.
func crashKey(t *testing.T) crypto.PrivKey {
	t.Helper()
	priv, _, err := crypto.GenerateEd25519Key(zeros{})
	if err != nil {
		t.Fatal(err)
	}
	return priv
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestKilledWhileReceiving(t *testing.T) {
	priv := crashKey(t)
	if dir := crash.Dir(); dir != "" {
		receiveUntilKilled(t, priv, dir)
		return
	}
	author, err := peer.IDFromPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	dir, seen := t.TempDir(), 0
	crash.Loop(t, "TestKilledWhileReceiving", dir, 21, func(round int, acked []string) {
		rep, err := commons.Fsck(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		wrote := len(acked) > seen // or it was killed before it marked the database as open
		seen = len(acked)
		if !rep.OK() || rep.CleanShutdown && wrote {
			t.Fatalf("round %d: clean %v, problems %v", round, rep.CleanShutdown, rep.Problems)
		}
		if round%2 == 1 { // the next kill hits a database that was never closed since
			return
		}
		newest := make(map[string]uint64)
		for _, a := range acked {
			var key string
			var rev uint64
			if _, err := fmt.Sscan(a, &key, &rev); err != nil {
				t.Fatal(err)
			}
			newest[key] = max(newest[key], rev)
		}
		db, err := commons.OpenDB(dir, commons.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stored := make(map[string]uint64)
		for _, r := range all(t, db) {
			stored[r.Key] = r.Revision
		}
		for key, rev := range newest {
			if next := db.NextRevision(commons.Writer{Organisation: author}, summary().Topic, key); stored[key] < rev || next != stored[key]+1 {
				t.Errorf("round %d: revision %d of %s was acknowledged, %d is stored, next is %d", round, rev, key, stored[key], next)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func receiveUntilKilled(t *testing.T, priv crypto.PrivKey, dir string) {
	db, err := commons.OpenDB(dir, commons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	author, err := peer.IDFromPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		w := wireRecord()
		// A body that fsck accepts, under a key that is not the body's: another kind.
		w.Kind, w.Key, w.Body = 90, fmt.Sprintf("k%d", i%crashKeys), make([]byte, 20<<10)
		w.Created, w.NotAfter = time.Now().Unix(), time.Now().Add(time.Hour).Unix()
		w.Revision = db.NextRevision(commons.Writer{Organisation: author}, summary().Topic, w.Key)
		r, err := commons.Seal(priv, w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := db.Put(t.Context(), r, true); err != nil || got != commons.Stored {
			t.Fatal(got, err)
		}
		crash.Ack(fmt.Sprint(r.Key, " ", r.Revision))
	}
}
