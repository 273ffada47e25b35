package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node/backup"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

// Restored says what is in a backup.
type Restored struct {
	Manifest backup.Manifest
	// PrivateKeys and CommonsKeys count the entries of the databases.
	PrivateKeys, CommonsKeys int
}

// restorePattern names folders of restores that are under way, beside the home.
const restorePattern = ".karasu-restore-*"

// VerifyBackup reads a backup whole and checks all of its checksums, and that its
// identity is the one it names. It writes nothing. The error wraps
// [backup.ErrDamaged].
func VerifyBackup(ctx context.Context, r io.Reader) (Restored, error) {
	var out Restored
	configured, identified := false, false
	count := func(verify func(context.Context, io.Reader) (int, error), n *int) func(io.Reader) error {
		return func(r io.Reader) (err error) {
			*n, err = verify(ctx, r)
			return asDamage(err)
		}
	}
	err := backup.Read(r, backup.Visitor{
		Manifest: func(m backup.Manifest) error { out.Manifest = m; return nil },
		File: func(part backup.Part, name string, data []byte) error {
			if part != backup.Config {
				return nil
			}
			configured = configured || name == configName
			if name != identityName {
				return nil
			}
			identified = true
			return checkIdentity(data, out.Manifest.PeerID)
		},
		Private: count(private.VerifyBackup, &out.PrivateKeys),
		Commons: count(commons.VerifyBackup, &out.CommonsKeys),
	})
	if err == nil && (!configured || !identified) {
		err = fmt.Errorf("%w: %s or %s is missing", backup.ErrDamaged, configName, identityName)
	}
	return out, err
}

// asDamage says of a database's errors that they are about the backup.
func asDamage(err error) error {
	if errors.Is(err, private.ErrBackup) {
		return fmt.Errorf("%w: %w", backup.ErrDamaged, err)
	}
	return err
}

func checkIdentity(raw []byte, want string) error {
	key, err := crypto.UnmarshalPrivateKey(raw)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", backup.ErrDamaged, identityName, err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", backup.ErrDamaged, identityName, err)
	}
	if id.String() != want {
		return fmt.Errorf("%w: its identity is %s, and it says that it is of %q", backup.ErrDamaged, id, clipped(want))
	}
	return nil
}

// clipped shortens what a file says.
func clipped(s string) string { return s[:min(len(s), 60)] }

// Restore makes a home from a backup: in whole, or not at all. The home must be one
// folder that is not there or is empty. The backup is verified before anything is
// written; what is written is checked once more, by [private.Fsck] and [commons.Fsck],
// and then put in its place. Errors about the file wrap [backup.ErrDamaged].
func (h Home) Restore(ctx context.Context, file io.ReadSeeker) (done Restored, err error) {
	if err := h.vacant(); err != nil {
		return Restored{}, err
	}
	if done, err = VerifyBackup(ctx, file); err != nil {
		return done, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	parent := filepath.Dir(h.ConfigDir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	dir, err := os.MkdirTemp(parent, restorePattern) // mode 0700
	if err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	made := Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := made.fill(ctx, file); err != nil {
		return done, err
	}
	if err := made.inspect(ctx); err != nil {
		return done, err
	}
	if err := syncDir(dir); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	// Only a folder that is still empty is removed.
	if err := os.Remove(h.ConfigDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return done, fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(dir, h.ConfigDir); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	return done, syncDir(parent)
}

// vacant says why nothing can be restored to a home.
func (h Home) vacant() error {
	if h.ConfigDir != h.DataDir {
		return errors.New("restore: a backup becomes a home of one folder; name it with --home DIR")
	}
	entries, err := os.ReadDir(h.ConfigDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s is not empty; restore into a new folder, or move what is there away", ErrHomeExists, h.ConfigDir)
	}
	return nil
}

// fill writes what a backup holds.
func (h Home) fill(ctx context.Context, r io.Reader) error {
	return backup.Read(r, backup.Visitor{
		Manifest: func(backup.Manifest) error { return nil },
		File: func(_ backup.Part, name string, data []byte) error {
			if !backedUp(name) {
				return fmt.Errorf("%w: it holds a file %q", backup.ErrDamaged, name)
			}
			if err := writeNew(filepath.Join(h.ConfigDir, name), data); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			return nil
		},
		Private: func(r io.Reader) error { return asDamage(private.Restore(ctx, h.PrivateDir(), r)) },
		Commons: func(r io.Reader) error { return asDamage(commons.Restore(ctx, h.CommonsDir(), r, time.Now())) },
	})
}

// inspect checks a home that was just made.
func (h Home) inspect(ctx context.Context) error {
	if _, err := LoadConfig(h); err != nil {
		return err
	}
	if _, err := h.Identity(); err != nil {
		return err
	}
	for _, db := range []struct {
		dir  string
		fsck func(context.Context, string) (*private.Report, error)
	}{{h.PrivateDir(), private.Fsck}, {h.CommonsDir(), commons.Fsck}} {
		report, err := db.fsck(ctx, db.dir)
		if err != nil {
			return err
		}
		if !report.OK() {
			return fmt.Errorf("%w: the %s database: %s", backup.ErrDamaged, filepath.Base(db.dir), report.Problems[0])
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
