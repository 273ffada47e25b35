package node_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/backup"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// takeBackup returns a backup of a running node and its last message.
func takeBackup(t *testing.T, app *node.App) ([]byte, *karasuv1.BackupResponse) {
	t.Helper()
	var b bytes.Buffer
	var last *karasuv1.BackupResponse
	err := app.Backup(t.Context(), func(m *karasuv1.BackupResponse) error {
		b.Write(m.GetChunk())
		last = m
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), last
}

// startAt starts a node on loopback in a home that is there.
func startAt(t *testing.T, home node.Home) *node.App {
	t.Helper()
	config, err := node.LoadConfig(home)
	if err != nil {
		t.Fatal(err)
	}
	loopback := p2p.Loopback()
	app, err := node.New(t.Context(), home, config, node.Options{Network: &loopback, NoAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return app
}

func oneFolder(dir string) node.Home {
	return node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
}

func mustStop(t *testing.T, app *node.App) {
	t.Helper()
	if err := app.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestBackupRestored: a home is copied while its daemon runs, goes on, and is lost. The
// restored one is the same peer with the same runs and records, and what it signs from
// then on replaces what the lost one signed after the backup, instead of contradicting it.
func TestBackupRestored(t *testing.T) {
	app := startNode(t, "acme", nil, node.Options{})
	reader := startNode(t, "globex", nil, node.Options{})
	to := reader.Network().Addrs()[0].String()
	if err := app.Network().Connect(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has what was shared", func() bool { return received(reader) == 2 })
	file, last := takeBackup(t, app)
	if last.GetPeerId() != app.Network().ID().String() || last.GetOrganisation() != "acme" || len(last.GetLeftOut()) != 0 {
		t.Errorf("last message %v", last)
	}

	// After the backup: new runs, new revisions.
	more := pagerankRuns()
	for i := range more {
		more[i].Configuration.ScaleOut += 10
	}
	if _, _, err := app.ImportRuns(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	revisions := func(app *node.App) (most uint64) {
		for _, h := range app.Commons().Held(nil) {
			if h.State == commons.Counts {
				most = max(most, h.Revision)
			}
		}
		return most
	}
	eventually(t, "the reader has the second revision", func() bool { return revisions(reader) == 2 })
	mustStop(t, app)

	restored := oneFolder(filepath.Join(t.TempDir(), "made", "home"))
	done, err := restored.Restore(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if done.Manifest.PeerID != app.Network().ID().String() || done.PrivateKeys == 0 || done.CommonsKeys == 0 {
		t.Errorf("%+v", done)
	}
	if info, err := os.Stat(restored.ConfigDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(restored.ConfigDir), "*")); len(left) != 1 || err != nil {
		t.Errorf("left %v", left)
	}
	again := startAt(t, restored)
	defer mustStop(t, again)
	if again.Network().ID() != app.Network().ID() {
		t.Error("another identity")
	}
	status, err := again.Status(t.Context())
	if err != nil || status.GetRuns() != 3 || status.GetOwnRecords() != 2 {
		t.Errorf("%v, %v", status, err)
	}
	// Other runs than those that were lost: another body for the same key.
	other := pagerankRuns()
	for i := range other {
		other[i].Configuration.ScaleOut += 20
	}
	if _, _, err := again.ImportRuns(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := again.Network().Connect(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has what the restored node signed", func() bool { return revisions(reader) > 1_700_000_000 })
	for _, h := range reader.Commons().Held(nil) {
		if h.State == commons.Equivocates {
			t.Errorf("record %s of revision %d contradicts another", h.Key, h.Revision)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	app := startNode(t, "acme", nil, node.Options{})
	if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	file, _ := takeBackup(t, app)
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		home node.Home
		file []byte
		want error
	}{
		"a folder with something in it": {oneFolder(full), file, node.ErrHomeExists},
		"a file that is cut":            {oneFolder(filepath.Join(dir, "a")), file[:len(file)-9], backup.ErrDamaged},
		"a file with another identity":  {oneFolder(filepath.Join(dir, "b")), foreign(t, file), backup.ErrDamaged},
		"two folders":                   {node.Home{ConfigDir: filepath.Join(dir, "c"), DataDir: filepath.Join(dir, "d")}, file, nil},
	} {
		_, err := c.home.Restore(t.Context(), bytes.NewReader(c.file))
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left %v (%v)", left, err)
	}
	// An empty folder is fine, such as one that a service manager made.
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := oneFolder(empty).Restore(t.Context(), bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
}

// foreign is a backup that says that it is of another peer.
func foreign(t *testing.T, file []byte) []byte {
	t.Helper()
	var s backup.Source
	dir := t.TempDir()
	err := backup.Read(bytes.NewReader(file), backup.Visitor{
		Manifest: func(m backup.Manifest) error {
			s.Manifest = m
			s.Manifest.PeerID = "12D3KooWothers"
			return nil
		},
		File: func(part backup.Part, name string, data []byte) error {
			s.Files = append(s.Files, backup.File{Part: part, Name: name, Path: filepath.Join(dir, name)})
			return os.WriteFile(filepath.Join(dir, name), data, 0o600)
		},
		Private: func(r io.Reader) error { return copied(r, &s.Private) },
		Commons: func(r io.Reader) error { return copied(r, &s.Commons) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// copied keeps what a reader has for a writer.
func copied(r io.Reader, to *func(context.Context, io.Writer) error) error {
	b, err := io.ReadAll(r)
	*to = func(_ context.Context, w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
	return err
}
