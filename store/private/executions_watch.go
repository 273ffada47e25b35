package private

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// watchPrefix and the hash of a path hold what a watcher has read of it.
const watchPrefix = 'w'

// WatchedFile is what has been read of a file or a folder that is one log.
type WatchedFile struct {
	Path     string
	Size     int64
	Modified time.Time
}

// SetWatched notes what has been read.
func (d *DB) SetWatched(ctx context.Context, f WatchedFile) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	value, err := marshal(&karasuv1.WatchedFile{Path: f.Path, Size: f.Size, ModifiedUnixNanos: f.Modified.UnixNano()})
	if err != nil {
		return fmt.Errorf("watched file %q: %w", f.Path, err)
	}
	return d.kv.Update(func(t *kv.Txn) error { return t.Set(watchKey(f.Path), value) })
}

// Watched says whether a file was read as it is: with this size and time.
func (d *DB) Watched(ctx context.Context, f WatchedFile) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	same := false
	err := d.kv.View(func(t *kv.Txn) error {
		key := watchKey(f.Path)
		value, err := t.Get(key)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := decodeWatched(key, value)
		same = err == nil && m.GetSize() == f.Size && m.GetModifiedUnixNanos() == f.Modified.UnixNano()
		return err
	})
	return same, err
}

// ForgetWatched forgets what was read of a path; nothing is no error.
func (d *DB) ForgetWatched(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.kv.Update(func(t *kv.Txn) error {
		key := watchKey(path)
		if known, err := t.Has(key); err != nil || !known {
			return err
		}
		return t.Delete(key)
	})
}

func watchKey(path string) []byte {
	h := sha256.Sum256([]byte(path))
	return append([]byte{watchPrefix}, h[:16]...)
}

func decodeWatched(key, value []byte) (*karasuv1.WatchedFile, error) {
	var m karasuv1.WatchedFile
	if err := proto.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("%w: watched file %x: %w", ErrCorrupt, key[1:], err)
	}
	if string(watchKey(m.GetPath())) != string(key) {
		return nil, fmt.Errorf("%w: watched file %q is stored as %x", ErrCorrupt, m.GetPath(), key[1:])
	}
	return &m, nil
}
