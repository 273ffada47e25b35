package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, dir string, opts Options) *DB {
	t.Helper()
	d, err := Open(dir, "test/1", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func set(t *testing.T, d *DB, key, value string) {
	t.Helper()
	if err := d.Update(func(txn *Txn) error { return txn.Set([]byte(key), []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

func TestFrame(t *testing.T) {
	key, payload := []byte("key"), []byte("payload")
	f := frame(key, payload)
	got, err := unframe(key, f)
	if err != nil || !bytes.Equal(got, payload) {
		t.Fatal(got, err)
	}
	if got, err := unframe(key, frame(key, nil)); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if _, err := unframe([]byte("kez"), f); !errors.Is(err, ErrCorrupt) {
		t.Errorf("under another key: %v", err)
	}
	for i := range f {
		b := bytes.Clone(f)
		b[i] ^= 1
		if _, err := unframe(key, b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := unframe(key, f[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
}

func TestTransactions(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	for _, k := range []string{"b2", "a1", "b1", "c"} {
		set(t, d, k, "v"+k)
	}
	failed := errors.New("no")
	if err := d.Update(func(txn *Txn) error { return errors.Join(txn.Set([]byte("b3"), nil), failed) }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := d.Update(func(txn *Txn) error { return txn.Delete([]byte("b2")) }); err != nil {
		t.Error(err)
	}
	set(t, d, "b4", "")
	err := d.View(func(txn *Txn) error {
		var got []string
		err := txn.Each([]byte("b"), func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		})
		if d := cmp.Diff([]string{"b1=vb1", "b4="}, got); d != "" {
			t.Error(d)
		}
		if _, err := txn.Get([]byte("b2")); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if has, err := txn.Has([]byte("a1")); !has || err != nil {
			t.Error(has, err)
		}
		return errors.Join(err, txn.EachKey(nil, func([]byte) error { return failed }))
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	err = d.Update(func(txn *Txn) error {
		for i := range 10 {
			if err := txn.Set(fmt.Appendf(nil, "large%d", i), make([]byte, 500<<10)); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("5 MB at once: %v", err)
	}
}

func TestKindAndShutdown(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, Options{})
	if !d.CleanShutdown() {
		t.Error("a new database counts as crashed")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.View(func(*Txn) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := d.gc(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := Open(dir, "test/2", Options{}); !errors.Is(err, ErrKind) {
		t.Errorf("another kind: %v", err)
	}
	// A refused opening leaves the database as it was, and unlocked.
	if d = open(t, dir, Options{}); !d.CleanShutdown() {
		t.Error("a refused opening counts as a crash")
	}
	if rep, err := Fsck(t.Context(), t.TempDir(), "test/1", nil, nil); !errors.Is(err, ErrNoDatabase) {
		t.Error(rep, err)
	}
	if _, err := Open(filepath.Join(dir, "MANIFEST"), "test/1", Options{}); err == nil {
		t.Error("a file passes for a directory")
	}
}

func TestLogsAndGC(t *testing.T) {
	var log bytes.Buffer
	d := open(t, t.TempDir(), Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), GCInterval: time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.RunGC(ctx); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if s := log.String(); !strings.Contains(s, "level=DEBUG msg=\"badger: ") || strings.Contains(s, "level=ERROR") {
		t.Error(s)
	}
}

// entry writes an entry as Badger's logs hold it.
func entry(key, value string) []byte {
	b := []byte{0, 0}
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = binary.AppendUvarint(b, 0)
	b = append(append(b, key...), value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func TestWALTail(t *testing.T) {
	head, zeros := make([]byte, walHeader), make([]byte, 100)
	one, two := entry("key-one-01234567", "value"), entry("key-two-01234567", "value")
	flip := func(b []byte, i int) []byte {
		b = bytes.Clone(b)
		b[i] ^= 0x10
		return b
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	end := walHeader + len(one)
	for _, c := range []struct {
		name      string
		log       []byte
		end, used int
		damaged   bool
	}{
		{"nothing", nil, 0, 0, false},
		{"header", head, walHeader, 0, false},
		{"allocated", join(head, zeros), walHeader, 0, false},
		{"entries", join(head, one, two, zeros), end + len(two), 0, false},
		{"no room behind", join(head, one, two), end + len(two), 0, false},
		{"cut off", join(head, one, two[:len(two)-6], zeros), end, len(two) - 6, false},
		{"cut off in the header", join(head, one, []byte{0, 0, 16}, zeros), end, 3, false},
		{"damaged in the middle", join(head, one, flip(two, 8), one, zeros), end, len(two) + len(one), true},
		{"damaged length in the middle", join(head, one, flip(two, 2), one, zeros), end, len(two) + len(one), true},
		{"damaged at the end", join(head, one, flip(two, len(two)-6), zeros), end, len(two), true},
	} {
		gotEnd, used, damaged := walTail(c.log)
		if gotEnd != c.end || used != c.used || damaged != c.damaged {
			t.Errorf("%s: end %d, used %d, damaged %v, want %d, %d, %v", c.name, gotEnd, used, damaged, c.end, c.used, c.damaged)
		}
	}
}

func FuzzWALTail(f *testing.F) {
	f.Add(bytes.Join([][]byte{make([]byte, walHeader), entry("key-one-01234567", "value"), {1, 2, 3}, entry("key-two-01234567", "")}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if end, used, _ := walTail(b); end+used > len(b) || used < 0 {
			t.Fatal(end, used)
		}
	})
}

// fill writes what a test then damages. Values are told apart by their text.
func fill(t *testing.T, d *DB) {
	t.Helper()
	for i := range 50 {
		set(t, d, fmt.Sprintf("k%02d", i), fmt.Sprintf("value-%02d-%s", i, strings.Repeat("x", 300)))
	}
}

func check(t *testing.T, dir string) *Report {
	t.Helper()
	before := snapshot(t, dir)
	rep, err := Fsck(t.Context(), dir, "test/1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, snapshot(t, dir)); d != "" {
		t.Errorf("the check changed files: %s", d)
	}
	return rep
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = fmt.Sprintf("%d bytes, %x", len(b), sha256.Sum256(b))
	}
	return out
}

// crashed returns a copy of an open database's files: what a kill leaves.
func crashed(t *testing.T, d *DB) string {
	t.Helper()
	dir := t.TempDir()
	if err := copyFiles(t.Context(), d.Dir(), dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func damage(t *testing.T, dir, pattern string, change func(b []byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %v: %v", pattern, snapshot(t, dir), err)
	}
	b, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[len(files)-1], change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func at(t *testing.T, b []byte, text string) int {
	t.Helper()
	i := bytes.Index(b, []byte(text))
	if i < 0 {
		t.Fatalf("%q is not in the file", text)
	}
	return i
}

func TestFsckAfterShutdownAndCrash(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	crash := crashed(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, d.Dir()); !rep.OK() || !rep.CleanShutdown || rep.Keys != 52 || rep.CutOff != 0 {
		t.Errorf("%+v", rep)
	}
	if rep := check(t, crash); !rep.OK() || rep.CleanShutdown || rep.Keys != 52 {
		t.Errorf("%+v", rep)
	}
	if rep, err := Fsck(t.Context(), d.Dir(), "other/1", nil, nil); err != nil || rep.Bad != 1 || !strings.Contains(rep.Problems[0], `"test/1"`) {
		t.Error(rep, err)
	}
}

func TestFsckFindsDamage(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		crash         bool
		change        func(t *testing.T, b []byte) []byte
		want          string
	}{
		{"byte in a log", "*.mem", true, func(t *testing.T, b []byte) []byte { b[at(t, b, "value-25")] ^= 1; return b }, "damaged"},
		{"last byte of a log", "*.mem", true, func(t *testing.T, b []byte) []byte { b[at(t, b, "value-49")] ^= 1; return b }, "damaged"},
		{"byte in a table", "*.sst", false, func(_ *testing.T, b []byte) []byte { b[len(b)/3] ^= 1; return b }, ".sst: "},
		{"table cut", "*.sst", false, func(_ *testing.T, b []byte) []byte { return b[:len(b)/2] }, ".sst: "},
		{"table emptied", "*.sst", false, func(*testing.T, []byte) []byte { return nil }, ".sst: "},
		{"byte in the manifest", "MANIFEST", false, func(_ *testing.T, b []byte) []byte { b[len(b)-2] ^= 1; return b }, "MANIFEST is not"},
		{"manifest cut", "MANIFEST", false, func(_ *testing.T, b []byte) []byte { return b[:len(b)-2] }, "MANIFEST is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, t.TempDir(), Options{})
			fill(t, d)
			dir := crashed(t, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if !c.crash {
				dir = d.Dir()
			}
			damage(t, dir, c.pattern, func(b []byte) []byte { return c.change(t, b) })
			rep := check(t, dir)
			if rep.OK() || !strings.Contains(strings.Join(rep.Problems, "\n"), c.want) {
				t.Errorf("%+v", rep)
			}
		})
	}
}

func TestFsckFindsValuesThatAreNotFrames(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	if err := d.Update(func(txn *Txn) error { return txn.t.Set([]byte("k25"), []byte("raw")) }); err != nil {
		t.Fatal(err)
	}
	if err := d.View(func(txn *Txn) error { _, err := txn.Get([]byte("k25")); return err }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Get: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, d.Dir()); rep.Bad != 1 || rep.Keys != 52 {
		t.Errorf("%+v", rep)
	}
}

func TestCrashWhileALogIsMade(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	dir := crashed(t, d)
	for _, name := range []string{"00009.mem", "000009.vlog"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if rep := check(t, dir); !rep.OK() || rep.Keys != 52 {
		t.Errorf("%+v", rep)
	}
	err := open(t, dir, Options{}).View(func(txn *Txn) error {
		_, err := txn.Get([]byte("k49"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCrashAtTheFirstStart(t *testing.T) {
	dir := t.TempDir()
	b, err := openBadger(dir, Options{}.withDefaults().badger(dir))
	if err != nil {
		t.Fatal(err)
	}
	crash := t.TempDir()
	if err := errors.Join(copyFiles(t.Context(), dir, crash, false), b.Close()); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, crash); !rep.OK() || rep.Keys != 0 {
		t.Errorf("%+v", rep)
	}
	open(t, crash, Options{})
}

func TestStartKeepsDamagedLogs(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	dir := crashed(t, d)
	damage(t, dir, "*.mem", func(b []byte) []byte { b[at(t, b, "value-25")] ^= 1; return b })
	var log bytes.Buffer
	after := open(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "level=ERROR msg=\"database log is damaged") {
		t.Error(log.String())
	}
	err := after.View(func(txn *Txn) error {
		_, err := txn.Get([]byte("k24"))
		return err
	})
	if err != nil {
		t.Errorf("what is before the damage is lost: %v", err)
	}
	if err := after.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, dir); rep.Bad != 1 || !rep.CleanShutdown || !strings.Contains(rep.Problems[0], "earlier start") {
		t.Errorf("%+v", rep)
	}
	if err := open(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "*"+damagedSuffix)); len(kept) != 1 || err != nil {
		t.Error(kept, err)
	}
}

func TestDamagedTableIsRefusedAtStart(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, d.Dir(), "*.sst", func(b []byte) []byte { b[len(b)/3] ^= 1; return b })
	before := snapshot(t, d.Dir())
	_, err := Open(d.Dir(), "test/1", Options{})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), d.Dir()) {
		t.Errorf("got %v", err)
	}
	if d := cmp.Diff(before, snapshot(t, d.Dir())); d != "" {
		t.Error(d)
	}
}

func TestFsckIgnoresWhatACrashCutOff(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	dir := crashed(t, d)
	damage(t, dir, "*.mem", func(b []byte) []byte {
		// The last transaction's entry is half there, as in the middle of a copy.
		i := at(t, b, "value-49")
		clear(b[i+100:])
		return b
	})
	rep := check(t, dir)
	if !rep.OK() || rep.CutOff == 0 || rep.Keys != 51 {
		t.Errorf("%+v", rep)
	}
}
