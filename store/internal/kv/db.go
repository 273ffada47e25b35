package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	clean bool

	mu     sync.RWMutex
	b      *badger.DB
	closed bool
	once   sync.Once
}

// Open opens the database in dir or creates it, with mode 0700. Kind names what
// the database holds and its format, such as "commons/1"; a directory of another
// kind is refused with [ErrKind], one that is open elsewhere with [ErrInUse].
func Open(dir, kind string, opts Options) (*DB, error) {
	opts = opts.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: making %s: %w", dir, err)
	}
	if err := verify(dir, opts.Logger); err != nil {
		return nil, err
	}
	b, err := openBadger(dir, opts.badger(dir))
	if err != nil {
		return nil, err
	}
	d := &DB{opts: opts, dir: dir, b: b}
	if err := d.begin(kind); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return d, nil
}

// verify refuses a database with damaged tables, and one that is in use. Of logs
// that are damaged it keeps a copy, and says so; empty ones it removes.
func verify(dir string, log *slog.Logger) error {
	unlock, err := lockShared(dir)
	if err != nil {
		return err
	}
	defer unlock()
	var damage []error
	if _, err := tableDamage(dir, func(name string, err error) {
		damage = append(damage, fmt.Errorf("%w: %s in %s: %w; restore a backup, or move the directory away to start anew", ErrCorrupt, name, dir, err))
	}); err != nil {
		return err
	}
	if len(damage) > 0 {
		return damage[0]
	}
	kept, err := keepDamagedLogs(dir)
	for _, file := range kept {
		log.Error("database log is damaged: what was written last may be lost", "kept", file)
	}
	if err != nil {
		return err
	}
	return removeEmptyLogs(dir)
}

func openBadger(dir string, o badger.Options) (*badger.DB, error) {
	b, err := badger.Open(o)
	switch {
	case err == nil:
		return b, nil
	// Badger has no sentinel for it.
	case strings.Contains(err.Error(), "Another process is using this Badger database"):
		return nil, fmt.Errorf("store: %s %w", dir, ErrInUse)
	}
	return nil, fmt.Errorf("store: opening %s: %w", dir, err)
}

// begin checks the kind, remembers whether the last shutdown was clean, and marks
// the database as open.
func (d *DB) begin(kind string) error {
	return d.Update(func(t *Txn) error {
		got, err := t.Get([]byte(kindKey))
		switch {
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
// A transaction above [MaxTransaction] is refused with [ErrTooLarge].
func (d *DB) Update(fn func(*Txn) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
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
// transactions. Later calls return nil.
func (d *DB) Close() error {
	var err error
	d.once.Do(func() {
		err = d.Update(func(t *Txn) error { return t.Set([]byte(cleanKey), []byte{1}) })
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
		if cerr := d.b.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("store: closing %s: %w", d.dir, cerr))
		}
	})
	return err
}
