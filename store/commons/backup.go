package commons

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// ErrBackup is wrapped by errors about a backup that is cut, damaged or of another kind.
var ErrBackup = kv.ErrBackup

// Backup writes all that the database holds at one moment, while it is in use.
func (d *DB) Backup(ctx context.Context, w io.Writer) error { return d.kv.Backup(ctx, w) }

// VerifyBackup reads a backup whole, checks every checksum and says how many keys it
// holds. It writes nothing; signatures are for [Fsck], after [Restore].
func VerifyBackup(ctx context.Context, r io.Reader) (keys int, err error) {
	return kv.VerifyBackup(ctx, r, kind)
}

// Restore makes a database in dir, which must not hold one, from a backup.
//
// Since the backup, records may have been signed that it does not know, and another
// body under one of their revisions would be equivocation. So revisions of records
// that are signed from now on begin above the seconds since 1970: nobody signs one key
// more than once a second for long, so that is above what was signed before.
func Restore(ctx context.Context, dir string, r io.Reader, now time.Time) error {
	return kv.Restore(ctx, dir, kind, r, kv.Options{}, func(t *kv.Txn) error {
		return t.Set([]byte(baseKey), binary.BigEndian.AppendUint64(nil, uint64(max(now.Unix(), 0))))
	})
}

// loadBase reads the revision above which a restored database signs.
func loadBase(t *kv.Txn) (uint64, error) {
	b, err := t.Get([]byte(baseKey))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(b) != 8 {
		err = fmt.Errorf("%w: base of revisions has %d bytes, want 8", ErrCorrupt, len(b))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// SigningRevision is the revision for a new record of this node whose [DB.NextRevision]
// is given: that, or above all that was signed before the database was restored from a
// backup.
func (d *DB) SigningRevision(next uint64) uint64 { return max(next, d.base+1) }

// Probe says whether the database can be written to, by writing to it.
func (d *DB) Probe() error { return d.kv.Probe() }

// DiskBytes is what the database takes on disk.
func (d *DB) DiskBytes() (int64, error) { return d.kv.DiskBytes() }
