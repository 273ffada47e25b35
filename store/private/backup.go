package private

import (
	"context"
	"io"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// ErrBackup is wrapped by errors about a backup that is cut, damaged or of another kind.
var ErrBackup = kv.ErrBackup

// Backup writes all that the database holds at one moment, while it is in use.
func (d *DB) Backup(ctx context.Context, w io.Writer) error { return d.kv.Backup(ctx, w) }

// VerifyBackup reads a backup whole, checks every checksum and says how many keys it
// holds. It writes nothing.
func VerifyBackup(ctx context.Context, r io.Reader) (keys int, err error) {
	return kv.VerifyBackup(ctx, r, kind)
}

// Restore makes a database in dir, which must not hold one, from a backup.
func Restore(ctx context.Context, dir string, r io.Reader) error {
	return kv.Restore(ctx, dir, kind, r, kv.Options{}, nil)
}

// Probe says whether the database can be written to, by writing to it.
func (d *DB) Probe() error { return d.kv.Probe() }

// DiskBytes is what the database takes on disk.
func (d *DB) DiskBytes() (int64, error) { return d.kv.DiskBytes() }
