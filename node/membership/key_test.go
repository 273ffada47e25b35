package membership_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/store/commons"
)

func TestKeyFileOfAnother(t *testing.T) {
	a, err := newKey(t).Encode("")
	if err != nil {
		t.Fatal(err)
	}
	id, err := newKey(t).ID()
	if err != nil {
		t.Fatal(err)
	}
	own, err := membership.ParseKey(a, "")
	if err != nil {
		t.Fatal(err)
	}
	was, err := own.ID()
	if err != nil {
		t.Fatal(err)
	}
	swapped := bytes.ReplaceAll(a, []byte(was.String()), []byte(id.String()))
	for _, file := range [][]byte{nil, []byte("{}"), []byte("nonsense"), swapped, bytes.Repeat([]byte(" "), 1<<20)} {
		if _, err := membership.ParseKey(file, ""); !errors.Is(err, membership.ErrKey) {
			t.Errorf("%d bytes: error %v, want %v", len(file), err, membership.ErrKey)
		}
	}
}

func TestGrantFile(t *testing.T) {
	organisation, host := newKey(t), idOf(t, newKey(t).Private)
	grant := func(k *membership.Key) *membership.Grant {
		g, err := k.Delegate(membership.Terms{Host: host, Writer: "w", Valid: 24 * time.Hour}, "acme", noon)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	write := func(data []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := membership.WriteFile(path, data); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
		}
		return path
	}
	g := grant(organisation)
	path := write(g.Encode())
	got, err := membership.ReadGrant(path)
	if err != nil || got.Delegation.Host != host || got.Delegation.Writer != "w" || got.Record.ID != g.Record.ID {
		t.Errorf("%+v, %v", got, err)
	}
	if r, err := membership.ReadRecord(path); err != nil || r.ID != g.Record.ID {
		t.Errorf("its record: %v", err)
	}
	mixed := &membership.Grant{Delegation: g.Delegation, Record: grant(newKey(t)).Record}
	if _, err := membership.ReadGrant(write(mixed.Encode())); !errors.Is(err, membership.ErrFile) {
		t.Errorf("record of another delegation: error %v, want %v", err, membership.ErrFile)
	}
	request := membership.Request{Host: host, Writer: ""}
	if r, err := membership.ReadRequest(write(request.Encode())); err != nil || r != request {
		t.Errorf("request %+v, %v; want %+v", r, err, request)
	}
	if _, err := membership.ReadRequest(path); !errors.Is(err, membership.ErrFile) {
		t.Errorf("a delegation as a request: error %v, want %v", err, membership.ErrFile)
	}
	if _, err := membership.ReadGrant(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

func TestRotate(t *testing.T) {
	k := newKey(t)
	r, err := k.Rotate(noon.Add(-time.Hour), "acme", noon)
	if err != nil {
		t.Fatal(err)
	}
	got, err := commons.DecodeRotation(r)
	if want := (commons.Rotation{Epoch: 1, Since: noon.Add(-time.Hour)}); err != nil || *got != want || k.Epoch != 1 {
		t.Errorf("rotation %+v (%v), epoch %d; want %+v, 1", got, err, k.Epoch, want)
	}
	if life := r.NotAfter.Sub(r.Created); life < commons.MaxDelegated {
		t.Errorf("the rotation lives for %s, which a delegation outlives", life)
	}
	if g, err := k.Delegate(membership.Terms{Host: idOf(t, newKey(t).Private), Valid: time.Hour}, "", noon); err != nil || g.Delegation.Epoch != 1 {
		t.Errorf("the next delegation: %+v, %v", g, err)
	}
}
