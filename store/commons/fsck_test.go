package commons

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

func TestFsckFindsInconsistencies(t *testing.T) {
	priv, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	record := func(revision uint64, kind karasuv1.RecordKind) *Record {
		r, err := Seal(priv, &karasuv1.Record{
			Topic: "/karasu/1/aws/spark/sort", Kind: kind, Key: "k", Revision: revision,
			Created: now, NotAfter: now + 3600, Body: []byte("body"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := record(2, 90)
	const received, own = "\x00", "\x01"
	forged := bytes.Clone(r.Envelope)
	forged[len(forged)-1] ^= 1 // in the signature
	for _, c := range []struct {
		name       string
		key, value []byte
		want       string
		opens      bool
	}{
		{"nothing", nil, nil, "", true},
		{"signature", recordKey(r.ID), append([]byte(received), forged...), "bad record signature", true},
		{"another ID", recordKey(ID{1}), append([]byte(received), r.Envelope...), "is stored under", false},
		{"empty", recordKey(r.ID), nil, "is empty", false},
		{"no record", recordKey(r.ID), []byte(received + "x"), "malformed", false},
		{"older revision", recordKey(record(1, 90).ID), append([]byte(received), record(1, 90).Envelope...), "a newer one replaced it", true},
		{"own above the highest on record", recordKey(record(2, 90).ID), append([]byte(own), record(2, 90).Envelope...), "only 0 is on record", true},
		{"body", recordKey(record(3, karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY).ID),
			append([]byte(received), record(3, karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY).Envelope...), "body", true},
		{"revision on record", []byte("nxyz"), nil, "bad revision", false},
		{"unknown key", []byte("zz"), nil, `unknown key "zz"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := OpenDB(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Put(t.Context(), r, false); err != nil {
				t.Error(err)
			}
			if c.key != nil {
				if err := db.kv.Update(func(txn *kv.Txn) error { return txn.Set(c.key, c.value) }); err != nil {
					t.Error(err)
				}
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
			db, err = OpenDB(dir, Options{})
			if (err == nil) != c.opens || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("opening: %v", err)
			}
			if err == nil {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
