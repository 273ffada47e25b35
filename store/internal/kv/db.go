package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Errors of opening.
var (
	// ErrInUse says that another process has the database open.
	ErrInUse = errors.New("is in use by another process")
	// ErrKind says that the directory holds a database of another kind or format.
	ErrKind = errors.New("holds another kind of database")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("store: closed")
)

// Keys of this package start with a zero byte; no other package's do.
const (
	cleanKey = "\x00clean"
	kindKey  = "\x00kind"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	Notifier
	opts  Options
	dir   string
	kind  string
	clean bool

	mu     sync.RWMutex
	b      *badger.DB
	closed bool
	once   sync.Once
}

// Open opens the database in dir or creates it, with mode 0700. Kind names what
// the database holds and its format, such as "commons/1"; a directory of another
// kind is refused with [ErrKind], one that is open elsewhere with [ErrInUse], one that
// lacks files or has damaged ones with [ErrCorrupt], and one on a file system that is
// nearly full with [ErrDiskFull].
func Open(dir, kind string, opts Options) (*DB, error) {
	opts = opts.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: making %s: %w", dir, err)
	}
	if err := checkSpace(dir, opts.Free); err != nil {
		return nil, err
	}
	made, err := verify(dir, kind, opts.Logger)
	if err != nil {
		return nil, err
	}
	if made {
		// From here on the manifest may change.
		if err := writeFormat(dir, kind, ""); err != nil {
			return nil, spaceError(dir, err)
		}
	}
	b, err := openBadger(dir, opts.badger(dir))
	if err != nil {
		return nil, err
	}
	d := &DB{opts: opts, dir: dir, kind: kind, b: b}
	err = d.begin(made)
	if err == nil {
		err = spaceError(dir, d.unseal())
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return d, nil
}

// verify refuses a database with damaged or missing tables, and one that is in use. Of
// logs that are damaged it keeps a copy, and says so; empty ones it removes. Made says
// that the database had been created before.
func verify(dir, kind string, log *slog.Logger) (made bool, err error) {
	unlock, err := lockShared(dir)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := removeScratch(dir); err != nil {
		return false, err
	}
	if made, err = checkFormat(dir, kind); err != nil {
		return made, err
	}
	var damage []error
	unnamed, err := tableDamage(dir, func(name string, err error) {
		damage = append(damage, corrupt(dir, "%s: %w", name, err))
	})
	if err != nil {
		return made, err
	}
	if len(damage) > 0 {
		return made, damage[0]
	}
	if made && len(unnamed) > 0 {
		lost, err := lostTables(dir, unnamed)
		if err != nil {
			return made, err
		}
		if lost {
			return made, corrupt(dir, "%s lacks tables that are there: %s", badger.ManifestFilename, strings.Join(unnamed, ", "))
		}
	}
	kept, err := keepDamagedLogs(dir)
	for _, file := range kept {
		log.Error("database log is damaged: what was written last may be lost", "kept", file)
	}
	if err != nil {
		return made, err
	}
	return made, removeEmptyLogs(dir)
}

func openBadger(dir string, o badger.Options) (*badger.DB, error) {
	b, err := badger.Open(o)
	if log, ok := o.Logger.(*badgerLog); ok {
		log.opened(err)
	}
	if err == nil {
		return b, nil
	}
	// Badger has no sentinels for most of these.
	says := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(err.Error(), t) })
	}
	switch {
	case says("Another process is using this Badger database"):
		return nil, fmt.Errorf("store: %s %w", dir, ErrInUse)
	case says("no space left on device", "disk quota exceeded"):
		return nil, fmt.Errorf("%w in %s: %w", ErrDiskFull, dir, err)
	case says(badger.ErrEncryptionKeyMismatch.Error(), "key registry", "EOF"):
		return nil, corrupt(dir, "%s: %w", badger.KeyRegistryFileName, err)
	}
	return nil, fmt.Errorf("store: opening %s: %w", dir, err)
}

// begin checks the kind, remembers whether the last shutdown was clean, and marks
// the database as open. Made says that it had been created before.
func (d *DB) begin(made bool) error {
	kind := d.kind
	return d.Update(func(t *Txn) error {
		got, err := t.Get([]byte(kindKey))
		switch {
		case errors.Is(err, ErrNotFound) && made:
			return corrupt(d.dir, "what it held is gone")
		case errors.Is(err, ErrNotFound):
			d.clean = true
			if err := t.Set([]byte(kindKey), []byte(kind)); err != nil {
				return err
			}
		case err != nil:
			return err
		case string(got) != kind:
			return fmt.Errorf("store: %s %w: %q, want %q", d.dir, ErrKind, got, kind)
		default:
			mark, err := t.Get([]byte(cleanKey))
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			d.clean = len(mark) == 1 && mark[0] == 1
		}
		return t.Set([]byte(cleanKey), []byte{0})
	})
}

// CleanShutdown says whether the database was closed in order before it was
// opened. A new one counts as clean.
func (d *DB) CleanShutdown() bool { return d.clean }

// Dir is the database's directory.
func (d *DB) Dir() string { return d.dir }

// Now reads the database's clock.
func (d *DB) Now() time.Time { return d.opts.Now() }

// View runs fn on a consistent snapshot.
func (d *DB) View(fn func(*Txn) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	return d.b.View(func(t *badger.Txn) error { return fn(&Txn{t}) })
}

// Update runs fn and writes what it set, all or nothing; it is on disk when
// Update returns nil. On a conflict with a concurrent update fn runs again.
// A transaction above [MaxTransaction] is refused with [ErrTooLarge], and any with
// [ErrDiskFull] where the file system is nearly full.
func (d *DB) Update(fn func(*Txn) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	if err := checkSpace(d.dir, d.opts.Free); err != nil {
		return err
	}
	for {
		err := d.b.Update(func(t *badger.Txn) error { return fn(&Txn{t}) })
		switch {
		case errors.Is(err, badger.ErrConflict):
			continue
		case errors.Is(err, badger.ErrTxnTooBig):
			return fmt.Errorf("%w: more than about %d bytes at once", ErrTooLarge, MaxTransaction)
		}
		return err
	}
}

// RunGC rewrites the value log at every interval until the context ends, which
// is not an error.
func (d *DB) RunGC(ctx context.Context) error {
	tick := time.NewTicker(d.opts.GCInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := d.gc(); err != nil {
				return err
			}
		}
	}
}

// gc rewrites files of the value log of which at least half is garbage.
func (d *DB) gc() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	if checkSpace(d.dir, d.opts.Free) != nil {
		return nil // collecting needs room first; who writes is told
	}
	for {
		err := d.b.RunValueLogGC(0.5)
		switch {
		case err == nil:
		case errors.Is(err, badger.ErrNoRewrite), errors.Is(err, badger.ErrRejected):
			return nil
		default:
			return fmt.Errorf("store: value log of %s: %w", d.dir, err)
		}
	}
}

// Close marks a clean shutdown and closes the database. It waits for running
// transactions. Later calls return nil. Where the file system is nearly full it returns
// [ErrDiskFull] and leaves the files as a crash would: what was acknowledged is in the
// logs, and the process keeps the lock until it ends.
func (d *DB) Close() error {
	var err error
	d.once.Do(func() {
		if err = checkSpace(d.dir, d.opts.Free); err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.closed = true
			return
		}
		err = d.Update(func(t *Txn) error { return t.Set([]byte(cleanKey), []byte{1}) })
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
		if cerr := d.b.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("store: closing %s: %w", d.dir, cerr))
		}
		if err == nil {
			err = d.seal()
		}
	})
	return err
}

// seal notes the manifest of a database that has been closed in order, unless
// another process has it open already.
func (d *DB) seal() error {
	unlock, err := lockShared(d.dir)
	if errors.Is(err, ErrInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	sum, err := manifestSum(d.dir)
	if err != nil {
		return fmt.Errorf("store: closing %s: %w", d.dir, err)
	}
	return writeFormat(d.dir, d.kind, sum)
}

// unseal notes that the manifest may change. A process that closed the database
// meanwhile may have written the note anew.
func (d *DB) unseal() error {
	if _, sum, err := readFormat(d.dir); err == nil && sum == "" {
		return nil
	}
	return writeFormat(d.dir, d.kind, "")
}
