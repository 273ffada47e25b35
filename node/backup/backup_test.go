package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/node/backup"
)

// database writes so many bytes that tell where they belong.
func database(name string, n int) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := w.Write([]byte(strings.Repeat(name, n/len(name)+1)[:n]))
		return err
	}
}

func source(t testing.TB) backup.Source {
	t.Helper()
	dir := t.TempDir()
	var files []backup.File
	for part, names := range map[backup.Part][]string{backup.Config: {"config.toml", "identity.key"}, backup.Data: {"peers.json"}} {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("the "+name), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, backup.File{Part: part, Name: name, Path: path})
		}
	}
	files = append(files, backup.File{Part: backup.Config, Name: "api.token", Path: filepath.Join(dir, "gone")})
	return backup.Source{
		Manifest: backup.Manifest{Version: "v1", Created: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC), Organisation: "acme", PeerID: "12D3"},
		Files:    files, Private: database("private", 3<<20), Commons: database("commons", 1000),
	}
}

func write(t testing.TB, s backup.Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := backup.Write(t.Context(), &b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents is all that a visitor is given.
type contents struct {
	manifest backup.Manifest
	files    map[string]string
	private  string
	commons  string
}

func read(b []byte) (c contents, err error) {
	c.files = make(map[string]string)
	whole := func(to *string) func(io.Reader) error {
		return func(r io.Reader) error {
			b, err := io.ReadAll(r)
			*to = string(b)
			return err
		}
	}
	err = backup.Read(bytes.NewReader(b), backup.Visitor{
		Manifest: func(m backup.Manifest) error { c.manifest = m; return nil },
		File: func(part backup.Part, name string, data []byte) error {
			c.files[string(part)+"/"+name] = string(data)
			return nil
		},
		Private: whole(&c.private), Commons: whole(&c.commons),
	})
	return c, err
}

func TestWriteAndRead(t *testing.T) {
	s := source(t)
	got, err := read(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"config/config.toml": "the config.toml", "config/identity.key": "the identity.key", "data/peers.json": "the peers.json"}
	if d := cmp.Diff(want, got.files); d != "" {
		t.Error(d)
	}
	if got.manifest.Organisation != "acme" || got.manifest.Format != backup.Format || !got.manifest.Created.Equal(s.Manifest.Created) {
		t.Errorf("%+v", got.manifest)
	}
	if len(got.private) != 3<<20 || !strings.HasPrefix(got.private, "privateprivate") || len(got.commons) != 1000 {
		t.Errorf("databases of %d and %d bytes", len(got.private), len(got.commons))
	}
}

// TestReadsWhatVisitorsLeave: the checksums are compared whatever a visitor reads.
func TestReadsWhatVisitorsLeave(t *testing.T) {
	nothing := func(io.Reader) error { return nil }
	v := backup.Visitor{
		Manifest: func(backup.Manifest) error { return nil },
		File:     func(backup.Part, string, []byte) error { return nil },
		Private:  nothing, Commons: nothing,
	}
	if err := backup.Read(bytes.NewReader(write(t, source(t))), v); err != nil {
		t.Error(err)
	}
	refused := errors.New("no")
	v.Commons = func(io.Reader) error { return refused }
	if err := backup.Read(bytes.NewReader(write(t, source(t))), v); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestEveryCutIsNoticed: no beginning of a backup passes for a whole one.
func TestEveryCutIsNoticed(t *testing.T) {
	s := source(t)
	s.Private = database("private", 500)
	b := write(t, s)
	for n := range len(b) {
		if _, err := read(b[:n]); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
	want, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x10
		// Some bits, such as those of the time in gzip's header, are of no account.
		if got, err := read(c); err == nil && !cmp.Equal(want, got, cmp.AllowUnexported(contents{})) {
			t.Fatalf("byte %d of %d was changed, and so is what is read", i, len(b))
		}
	}
}

type entry struct {
	name, data string
	kind       byte
}

// pack writes a tar.gz as somebody else would.
func pack(t testing.TB, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Size: int64(len(e.data)), Mode: 0o600}
		if e.kind != tar.TypeReg {
			h.Size, h.Linkname, e.data = 0, "/etc/passwd", ""
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileFiles(t *testing.T) {
	manifest := entry{name: "karasu-backup.json", data: `{"format": 1}`}
	private, commons := entry{name: "private/00000", data: "x"}, entry{name: "commons/00000", data: "x"}
	many := []entry{manifest}
	for i := range 65 {
		many = append(many, entry{name: fmt.Sprintf("data/f%d.json", i)})
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"no gzip":          {[]byte("hello, this is no gzip file"), "does not begin as a gzip file"},
		"nothing in it":    {pack(t, nil), "it is cut"},
		"no manifest":      {pack(t, []entry{private}), `begins with "private/00000"`},
		"later format":     {pack(t, []entry{{name: "karasu-backup.json", data: `{"format": 2}`}, private}), "its format is 2"},
		"no JSON":          {pack(t, []entry{{name: "karasu-backup.json", data: `{`}, private}), "karasu-backup.json"},
		"folders up":       {pack(t, []entry{manifest, {name: "config/../../.ssh/authorized_keys"}, private}), "cannot be called"},
		"absolute":         {pack(t, []entry{manifest, {name: "/etc/passwd"}, private}), "database is missing"},
		"hidden":           {pack(t, []entry{manifest, {name: "config/.profile"}, private}), "cannot be called"},
		"a link":           {pack(t, []entry{manifest, {name: "config/x.toml", kind: tar.TypeSymlink}, private}), "is no file"},
		"a device":         {pack(t, []entry{manifest, {name: "config/x.toml", kind: tar.TypeChar}, private}), "is no file"},
		"too many files":   {pack(t, many), "more than 64 files"},
		"a large manifest": {pack(t, []entry{{name: "karasu-backup.json", data: strings.Repeat(" ", 2<<20)}, private}), "at most"},
		"a large part":     {pack(t, []entry{manifest, {name: "private/00000", data: strings.Repeat("x", 1<<20+1)}, commons}), "at most"},
		"an empty part":    {pack(t, []entry{manifest, {name: "private/00000"}, commons}), "an empty part"},
		"parts out of order": {
			pack(t, []entry{manifest, private, {name: "private/00002", data: "x"}, commons}), "the commons database is missing",
		},
		"no commons":     {pack(t, []entry{manifest, private, {name: "SHA256SUMS"}}), "the commons database is missing"},
		"wrong sums":     {pack(t, []entry{manifest, private, commons, {name: "SHA256SUMS", data: "x"}}), "checksums do not fit"},
		"no sums":        {pack(t, []entry{manifest, private, commons}), "it is cut"},
		"something else": {pack(t, []entry{manifest, private, commons, {name: "more"}}), `unknown entry "more"`},
	} {
		if _, err := read(c.file); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	s := source(f)
	s.Private, s.Commons = database("private", 30), database("commons", 30)
	f.Add(write(f, s))
	f.Add(pack(f, []entry{{name: "karasu-backup.json", data: `{"format": 1}`}, {name: "config/a.toml", data: "x"}, {name: "private/00000", data: "x"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := read(b); err != nil && !errors.Is(err, backup.ErrDamaged) {
			t.Fatal(err)
		}
	})
}
