package node_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/store/commons"
)

// copyHome copies a home as it lies on disk, as a kill would leave it where its daemon
// runs. Blocks of zeros are left out: logs are allocated ahead.
func copyHome(t *testing.T, from node.Home) node.Home {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from.ConfigDir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from.ConfigDir, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular() || e.Name() == "LOCK":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		used := bytes.TrimRight(b, "\x00")
		return errors.Join(os.WriteFile(target, used, 0o600), os.Truncate(target, int64(len(b))))
	})
	if err != nil {
		t.Fatal(err)
	}
	return oneFolder(to)
}

// harm changes the part in use of the newest file that matches, and says whether there
// is one.
func harm(t *testing.T, dir, pattern string, change func(used []byte) []byte) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		return false
	}
	path := files[len(files)-1]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(bytes.TrimRight(b, "\x00")), 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// zeroTail sets the last n bytes to zero.
func zeroTail(b []byte, n int) []byte {
	clear(b[max(0, len(b)-n):])
	return b
}

// TestTailsOfTheCommons cuts off and zeroes the ends of every file of the commons, after a
// shutdown and after a crash. Either nothing is missing, or the check says so; and the
// daemon starts, or says what to do instead. In the end it has again what was its peer's.
func TestTailsOfTheCommons(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node some thirty times")
	}
	reader := startNode(t, "globex", nil, node.Options{})
	theirs := pagerankRuns()
	for i := range theirs {
		theirs[i].Workload.Algorithm = "sort"
	}
	if _, _, err := reader.ImportRuns(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	to := reader.Network().Addrs()[0].String()
	home := oneFolder(t.TempDir())
	if err := home.Init("acme", node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	// start connects a node on a home, and gives it up where it does not start.
	start := func(h node.Home) (*node.App, error) {
		config, err := node.LoadConfig(h)
		if err != nil {
			t.Fatal(err)
		}
		loopback := p2p.Loopback()
		app, err := node.New(t.Context(), h, config, node.Options{Network: &loopback, NoAPI: true})
		if err != nil {
			return nil, err
		}
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(errors.Join(err, app.Stop(context.Background())))
		}
		if err := app.Network().Connect(t.Context(), to); err != nil {
			t.Fatal(errors.Join(err, app.Stop(context.Background())))
		}
		_ = app.Sync(t.Context()) // else the one with the higher id would wait for the other
		return app, nil
	}
	victim, err := start(home)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the victim has the peer's records", func() bool { return received(victim) == 2 })
	mustStop(t, victim) // now there are tables
	if victim, err = start(home); err != nil {
		t.Fatal(err)
	}
	if _, _, err := victim.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the victim has shared its own", func() bool { return received(reader) == 2 })
	crashed := copyHome(t, home)
	mustStop(t, victim)
	closed := copyHome(t, home)

	for _, state := range []struct {
		name string
		home node.Home
	}{{"after a crash", crashed}, {"after a shutdown", closed}} {
		whole, err := commons.Fsck(t.Context(), state.home.CommonsDir())
		if err != nil || !whole.OK() || whole.CutOff != 0 {
			t.Fatalf("%s: %+v, %v", state.name, whole, err)
		}
		for _, pattern := range []string{"*.sst", "*.mem", "*.vlog", "MANIFEST"} {
			for name, change := range map[string]func([]byte) []byte{
				"half of it cut off":    func(b []byte) []byte { return b[:len(b)/2] },
				"all of it cut off":     func([]byte) []byte { return nil },
				"its last bytes zeroed": func(b []byte) []byte { return zeroTail(b, 7) },
			} {
				h := copyHome(t, state.home)
				if !harm(t, h.CommonsDir(), pattern, change) {
					continue
				}
				t.Run(state.name+", "+pattern+": "+name, func(t *testing.T) {
					report, err := commons.Fsck(t.Context(), h.CommonsDir())
					if err != nil {
						t.Fatal(err)
					}
					told := !report.OK() || report.CutOff > 0 || report.NothingSince
					if !told && report.Keys < whole.Keys {
						t.Errorf("%d of %d keys are left, and the check says nothing", report.Keys, whole.Keys)
					}
					app, err := start(h)
					if err != nil {
						if !told {
							t.Errorf("the daemon refuses to start, and the check says nothing: %v", err)
						}
						if !errors.Is(err, commons.ErrCorrupt) || !strings.Contains(err.Error(), "restore a backup, or move the directory away") {
							t.Errorf("refuses with %v", err)
						}
						if err := os.Rename(h.CommonsDir(), h.CommonsDir()+".damaged"); err != nil {
							t.Fatal(err)
						}
						if app, err = start(h); err != nil {
							t.Fatal(err)
						}
					}
					defer mustStop(t, app)
					eventually(t, "the peer's records are here again", func() bool { return received(app) == 2 })
					eventually(t, "own records are here again", func() bool {
						own := 0
						for _, topic := range app.Commons().Topics() {
							own += topic.Own
						}
						return own == 2
					})
				})
			}
		}
	}
}
