//go:build unix

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/store/ingest/flink"
	"github.com/karasu-project/karasu/store/ingest/hadoop"
	"github.com/karasu-project/karasu/store/ingest/internal/local"
	"github.com/karasu-project/karasu/store/ingest/spark"
)

// folder has a file, links to files, to folders, to nothing and to themselves, and a pipe.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Skipf("the file system cannot do that: %v", err)
		}
	}
	check(os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for _, name := range []string{"a.jhist", "caf\xe9.jhist", "a.json", "caf\xe9.json"} {
		check(os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600))
	}
	for to, name := range map[string]string{"a.jhist": "link.jhist", "a.json": "link.json", "sub": "link-sub", ".": "sub/up", "none": "broken", "loop": "loop"} {
		check(os.Symlink(to, filepath.Join(dir, name)))
	}
	check(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	return dir
}

// TestFinders: each follows links to files only, and says what it does not follow.
func TestFinders(t *testing.T) {
	dir := folder(t)
	type seen struct {
		names    map[string]int64
		problems map[string]bool
	}
	look := func(s *seen, name string, bytes int64, err error) {
		if err != nil {
			s.problems[err.Error()[len(dir)+1:]] = true
			return
		}
		s.names[name[len(dir)+1:]] = bytes
	}
	got := map[string]*seen{}
	for _, kind := range []string{"spark", "hadoop", "flink"} {
		got[kind] = &seen{map[string]int64{}, map[string]bool{}}
	}
	for l, err := range spark.FindPath(t.Context(), dir) {
		look(got["spark"], l.Name, l.Bytes, err)
	}
	for f, err := range hadoop.FindPath(t.Context(), dir) {
		look(got["hadoop"], f.Name, f.Bytes, err)
	}
	for f, err := range flink.FindPath(t.Context(), dir) {
		look(got["flink"], f.Name, f.Bytes, err)
	}
	for kind, want := range map[string]map[string]int64{
		"spark":  {"a.jhist": 2, "a.json": 2, "caf\xe9.jhist": 2, "caf\xe9.json": 2, "link.jhist": 2, "link.json": 2},
		"hadoop": {"a.jhist": 2, "caf\xe9.jhist": 2, "link.jhist": 2},
		"flink":  {"a.json": 2, "caf\xe9.json": 2, "link.json": 2},
	} {
		if d := cmp.Diff(want, got[kind].names); d != "" {
			t.Errorf("%s: found (-want +got):\n%s", kind, d)
		}
		problems := map[string]bool{
			"broken: is a link to nothing": true, "loop: is a link that cannot be followed": true,
			"link-sub: is a link to a folder: name it itself to import it": true,
			"sub/up: is a link to a folder: name it itself to import it":   true,
		}
		if d := cmp.Diff(problems, got[kind].problems); d != "" {
			t.Errorf("%s: problems (-want +got):\n%s", kind, d)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := folder(t)
	for name, want := range map[string]error{"caf\xe9.jhist": nil, "link.jhist": nil, ".": nil, "pipe": local.ErrSpecial, "none": fs.ErrNotExist} {
		f, err := local.FS(dir).Open(name)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
	}
	if _, err := local.FS("/dev").Open("zero"); !errors.Is(err, local.ErrSpecial) {
		t.Errorf("a device: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	go func() { _, _ = w.WriteString("x"); _ = w.Close() }()
	f, err := local.FS("/dev/fd").Open(strconv.Itoa(int(r.Fd())))
	if err != nil {
		t.Fatalf("a pipe of the shell: %v", err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 2)
	if n, err := f.Read(b); n != 1 || err != nil {
		t.Errorf("read %d bytes (%v)", n, err)
	}
}
