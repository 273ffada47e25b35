package private

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// Errors of the database. A run or a search that is invalid wraps model.ErrInvalid.
var (
	// ErrNotFound says that no such search is stored.
	ErrNotFound = kv.ErrNotFound
	// ErrInUse says that another process has the database open.
	ErrInUse = kv.ErrInUse
	// ErrCorrupt says that stored bytes are not what was written.
	ErrCorrupt = kv.ErrCorrupt
	// ErrDiskFull says that the file system has too little room to go on safely.
	ErrDiskFull = kv.ErrDiskFull
	// ErrTooLarge says that a batch or a search is too large to be stored at once.
	ErrTooLarge = kv.ErrTooLarge
	// ErrClosed says that the database has been closed.
	ErrClosed = kv.ErrClosed
)

// kind names the format of the database.
const kind = "private/1"

// Keys: 'r' and a run's ID hold the run. 't' and a topic, and 'j' and a job, then
// a zero byte, the start and the ID hold nothing: they are indices. 'q' and a job
// hold a search, 's' the secret. For executions,
// watched files and training jobs see there.
const (
	runPrefix    = 'r'
	topicPrefix  = 't'
	jobPrefix    = 'j'
	searchPrefix = 'q'
	secretKey    = "s"
)

// SecretSize is the length of [DB.Secret] in bytes.
const SecretSize = 32

// Options of the database. The zero value is what a daemon uses.
type Options struct {
	// Logger gets Badger's messages; nil discards them.
	Logger *slog.Logger
}

// DB holds runs and searches. It is safe for concurrent use.
type DB struct{ kv *kv.DB }

// OpenDB opens the database in dir or creates it. The error wraps [ErrInUse]
// where another process has it open, [ErrCorrupt] where it is damaged.
func OpenDB(dir string, opts Options) (*DB, error) {
	k, err := kv.Open(dir, kind, kv.Options{Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	return &DB{k}, nil
}

// Secret returns the key of this organisation's pseudonyms: 32 random bytes that
// are made once and never change.
func (d *DB) Secret(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var secret []byte
	get := func(t *kv.Txn) (err error) {
		secret, err = t.Get([]byte(secretKey))
		return err
	}
	err := d.kv.View(get)
	if errors.Is(err, ErrNotFound) {
		err = d.kv.Update(func(t *kv.Txn) error {
			if err := get(t); !errors.Is(err, ErrNotFound) {
				return err
			}
			secret = make([]byte, SecretSize)
			if _, err := rand.Read(secret); err != nil {
				return fmt.Errorf("making a secret: %w", err)
			}
			return t.Set([]byte(secretKey), secret)
		})
	}
	if err == nil && len(secret) != SecretSize {
		err = fmt.Errorf("%w: secret of %d bytes, want %d", ErrCorrupt, len(secret), SecretSize)
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// Subscribe returns a channel that says that runs or searches changed (changes
// coalesce), and a function that ends the subscription and closes the channel.
func (d *DB) Subscribe() (<-chan struct{}, func()) { return d.kv.Subscribe() }

// CleanShutdown says whether the database was closed in order before it was opened.
func (d *DB) CleanShutdown() bool { return d.kv.CleanShutdown() }

// RunGC keeps the files compact until the context ends, which is no error.
func (d *DB) RunGC(ctx context.Context) error { return d.kv.RunGC(ctx) }

// Close closes the database. Later calls return nil.
func (d *DB) Close() error { return d.kv.Close() }
