package kv

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// closed returns the directory of a database with tables that was closed in order.
func closed(t *testing.T) string {
	t.Helper()
	d := open(t, t.TempDir(), Options{})
	fill(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d.Dir()
}

func cutTo(n int) func(b []byte) []byte { return func(b []byte) []byte { return b[:min(n, len(b))] } }

// TestMissingFilesAreRefused: Badger would take each for a new database, or remove the
// tables, and what the database held would be gone for good.
func TestMissingFilesAreRefused(t *testing.T) {
	remove := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			for _, f := range files {
				err = errors.Join(err, os.Remove(f))
			}
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
		}
	}
	cut := func(name string, n int) func(*testing.T, string) {
		return func(t *testing.T, dir string) { damage(t, dir, name, cutTo(n)) }
	}
	for name, c := range map[string]struct {
		harm func(*testing.T, string)
		want string
	}{
		"no manifest":            {remove("MANIFEST"), "MANIFEST is missing"},
		"no manifest, no format": {func(t *testing.T, dir string) { remove("MANIFEST")(t, dir); remove("FORMAT")(t, dir) }, "MANIFEST is missing, but"},
		"only the format":        {remove("[^F]*"), "MANIFEST is missing"},
		"empty manifest":         {cut("MANIFEST", 0), "MANIFEST"},
		"manifest's head":        {cut("MANIFEST", 8), "MANIFEST is not what it was"},
		"manifest cut":           {cut("MANIFEST", 20), "MANIFEST is not what it was"},
		"after a crash": {func(t *testing.T, dir string) {
			if err := writeFormat(dir, "test/1", ""); err != nil {
				t.Fatal(err)
			}
			cut("MANIFEST", 8)(t, dir)
		}, "MANIFEST lacks tables"},
		"no tables":          {remove("*.sst"), ".sst"},
		"empty key registry": {cut("KEYREGISTRY", 0), "KEYREGISTRY"},
		"key registry cut":   {cut("KEYREGISTRY", 20), "KEYREGISTRY"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := closed(t)
			c.harm(t, dir)
			before := snapshot(t, dir)
			var log bytes.Buffer
			_, err := Open(dir, "test/1", Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("got %v, want %v with %q", err, ErrCorrupt, c.want)
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log.String())
			}
			after := snapshot(t, dir)
			for _, file := range []string{"FORMAT"} {
				delete(before, file)
				delete(after, file)
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Error(d)
			}
			if rep := check(t, dir); rep.OK() {
				t.Error("the check finds nothing")
			}
		})
	}
}

// TestEmptiedDatabaseIsRefused: it was created, but what tells its kind is gone.
func TestEmptiedDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	b, err := openBadger(dir, Options{}.withDefaults().badger(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Close(), writeFormat(dir, "test/1", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "test/1", Options{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("got %v", err)
	}
}

func TestKindIsKept(t *testing.T) {
	dir := closed(t)
	if _, err := Open(dir, "other/1", Options{}); !errors.Is(err, ErrKind) {
		t.Errorf("got %v", err)
	}
	if err := open(t, dir, Options{}).Close(); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestFsckCleansUp(t *testing.T) {
	dir := closed(t)
	stale := filepath.Join(dir, ".fsck-stale")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err := Fsck(ctx, dir, "test/1", func(*Report, []byte, []byte) {
		if seen++; seen > 1 {
			return
		}
		found, _ := filepath.Glob(filepath.Join(dir, ".fsck-*"))
		if len(found) != 1 || found[0] == stale {
			t.Errorf("copies %v", found)
		} else if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info.Mode(), err)
		}
		cancel()
	}, nil)
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%d keys, error %v", seen, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".fsck-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestDiskFull(t *testing.T) {
	free := int64(1 << 40)
	dir := t.TempDir()
	d := open(t, dir, Options{Free: func(string) (int64, error) { return free, nil }})
	set(t, d, "a", "b")
	free = 47 << 20
	err := d.Update(func(txn *Txn) error { return txn.Set([]byte("c"), []byte("d")) })
	if want := "no space left in " + dir + ": 47 MB free, 48 MB needed"; !errors.Is(err, ErrDiskFull) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Open(t.TempDir(), "test/1", Options{Free: func(string) (int64, error) { return free, nil }}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("opening: %v", err)
	}
	free = 1 << 40
	set(t, d, "c", "d")
}

// TestCloseOnAFullDisk: nothing is written, and nothing acknowledged is lost.
func TestCloseOnAFullDisk(t *testing.T) {
	free := int64(1 << 40)
	d, err := Open(t.TempDir(), "test/1", Options{Free: func(string) (int64, error) { return free, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.b.Close() })
	fill(t, d)
	free = 0
	before := snapshot(t, d.Dir())
	if err := d.Close(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, snapshot(t, d.Dir())); diff != "" {
		t.Error(diff)
	}
	if rep := check(t, crashed(t, d)); !rep.OK() || rep.Keys != 52 {
		t.Errorf("%+v", rep)
	}
}
