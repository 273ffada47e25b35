package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// content reads all keys of other packages.
func content(t *testing.T, d *DB) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := d.View(func(txn *Txn) error {
		return txn.Each(nil, func(key, payload []byte) error {
			if key[0] != 0 {
				out[string(key)] = string(payload)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func backup(t *testing.T, d *DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.Backup(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBackupAndRestore: what is deleted stays deleted, large values come along, and the
// original can be written to all the time.
func TestBackupAndRestore(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	for i := range 6 {
		set(t, d, fmt.Sprint("large", i), strings.Repeat(fmt.Sprint(i), 900<<10))
	}
	if err := d.Update(func(txn *Txn) error { return txn.Delete([]byte("k07")) }); err != nil {
		t.Fatal(err)
	}
	want := content(t, d)
	var b bytes.Buffer
	first := true
	err := d.Backup(t.Context(), writerFunc(func(p []byte) (int, error) {
		if first { // the moment has been taken
			first = false
			set(t, d, "later", "x")
		}
		return b.Write(p)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := VerifyBackup(t.Context(), bytes.NewReader(b.Bytes()), "test/1"); n != len(want)+2 || err != nil {
		t.Errorf("%d keys (%v), want %d", n, err, len(want)+2)
	}
	dir := t.TempDir()
	finish := func(txn *Txn) error { return txn.Set([]byte("zfinish"), []byte("y")) }
	if err := Restore(t.Context(), dir, "test/1", &b, Options{}, finish); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, dir); !rep.OK() || !rep.CleanShutdown {
		t.Errorf("%+v", rep)
	}
	want["zfinish"] = "y"
	if diff := cmp.Diff(want, content(t, open(t, dir, Options{}))); diff != "" {
		t.Error(diff)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestBackupEnds(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Backup(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	full := errors.New("no room")
	if err := d.Backup(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Backup(t.Context(), io.Discard); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestBadBackups(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	good := backup(t, d)
	flip := bytes.Clone(good)
	flip[bytes.Index(flip, []byte("value-25"))] ^= 1
	huge := binary.LittleEndian.AppendUint64(nil, 1<<60)
	for name, c := range map[string]struct {
		backup []byte
		kind   string
		want   string
	}{
		"cut":            {good[:len(good)-1], "test/1", "it is cut"},
		"cut in a size":  {good[:5], "test/1", "it is cut"},
		"empty":          {nil, "test/1", `it is of kind ""`},
		"another kind":   {good, "test/2", `it is of kind "test/1", want "test/2"`},
		"a byte":         {flip, "test/1", "checksum"},
		"a huge list":    {huge, "test/1", "a list of 1152921504606846976 bytes"},
		"no list":        {append(binary.LittleEndian.AppendUint64(nil, 3), 0xff, 0xff, 0xff), "test/1", "bad backup"},
		"what no one is": {[]byte("PK\x03\x04 this is a zip file and no backup"), "test/1", "bytes, at most"},
	} {
		_, err := VerifyBackup(t.Context(), bytes.NewReader(c.backup), c.kind)
		if !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err := Restore(t.Context(), t.TempDir(), c.kind, bytes.NewReader(c.backup), Options{}, nil); !errors.Is(err, ErrBackup) {
			t.Errorf("%s: restored with %v", name, err)
		}
	}
}

func FuzzBackup(f *testing.F) {
	d, err := Open(f.TempDir(), "test/1", Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := d.Update(func(txn *Txn) error { return txn.Set([]byte("key"), []byte("value")) }); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(d.Backup(f.Context(), &b), d.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<60))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := VerifyBackup(t.Context(), bytes.NewReader(b), "test/1"); err == nil && n == 0 || err != nil && !errors.Is(err, ErrBackup) {
			t.Fatal(n, err)
		}
	})
}

func TestProbe(t *testing.T) {
	free := int64(1 << 40)
	d := open(t, t.TempDir(), Options{Free: func(string) (int64, error) { return free, nil }})
	fill(t, d)
	if err := d.Probe(); err != nil {
		t.Error(err)
	}
	if n, err := d.DiskBytes(); n < 15_000 || n > 100<<20 || err != nil {
		t.Errorf("%d bytes (%v)", n, err)
	}
	free = 0
	if err := d.Probe(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v", err)
	}
	free = 1 << 40
}
