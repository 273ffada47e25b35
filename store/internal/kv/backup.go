package kv

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// ErrBackup is wrapped by errors about a backup that is cut, damaged or of another kind.
var ErrBackup = errors.New("store: bad backup")

// A backup is Badger's: lists of keys and values in protobuf, each behind its length in
// 8 bytes (little endian). Values are framed as they are in the database.
const (
	// backupFrame is about how large a list becomes, in bytes. Badger's default of
	// 100 MiB would be held in memory twice.
	backupFrame = 4 << 20
	// maxBackupFrame is what is accepted: a list, a page of one of Badger's iterators
	// (4 MiB) for each of two goroutines, and room.
	maxBackupFrame = 16 << 20
	// maxBackupKey is Badger's own limit.
	maxBackupKey = 65000
	// maxKind bounds what an error repeats of a backup's kind.
	maxKind = 40
	// bitDelete marks a key that was deleted (badger v4, value.go).
	bitDelete = 1
)

// Backup writes all that the database holds at one moment, while it is in use. It ends
// with the context, or with the writer's error.
func (d *DB) Backup(ctx context.Context, w io.Writer) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	s := d.b.NewStream()
	s.NumGo, s.MaxSize, s.LogPrefix = 2, backupFrame, "backup"
	out := &contextWriter{ctx: ctx, w: w}
	if _, err := s.Backup(out, 0); err != nil {
		// Badger itself may tell only that it gave up then.
		return fmt.Errorf("store: backup of %s: %w", d.dir, cmp.Or(out.err, err))
	}
	return nil
}

// contextWriter fails once its context has ended, and remembers its first error.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (c *contextWriter) Write(b []byte) (n int, err error) {
	if err = c.ctx.Err(); err == nil {
		n, err = c.w.Write(b)
	}
	c.err = cmp.Or(c.err, err)
	return n, err
}

// VerifyBackup reads a backup of a kind whole and checks every value's checksum. It
// says how many keys it holds. Errors wrap [ErrBackup], or are the reader's.
func VerifyBackup(ctx context.Context, r io.Reader, kind string) (keys int, err error) {
	got := ""
	err = eachBackedUp(ctx, r, func(key, payload []byte) error {
		keys++
		if string(key) == kindKey {
			got = string(payload)
		}
		return nil
	})
	if err == nil && got != kind {
		err = fmt.Errorf("%w: it is of kind %q, want %q", ErrBackup, got[:min(len(got), maxKind)], kind)
	}
	return keys, err
}

// eachBackedUp calls fn with every key of a backup and its payload. Nothing in the
// backup is trusted.
func eachBackedUp(ctx context.Context, r io.Reader, fn func(key, payload []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var n uint64
		switch err := binary.Read(in, binary.LittleEndian, &n); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: it is cut", ErrBackup)
		case err != nil:
			return err
		case n > maxBackupFrame:
			return fmt.Errorf("%w: a list of %d bytes, at most %d", ErrBackup, n, maxBackupFrame)
		}
		if uint64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(in, buf); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it is cut", ErrBackup)
		} else if err != nil {
			return err
		}
		var list pb.KVList
		if err := proto.Unmarshal(buf, &list); err != nil {
			return fmt.Errorf("%w: %w", ErrBackup, err)
		}
		for _, kv := range list.GetKv() {
			if len(kv.GetMeta()) > 0 && kv.GetMeta()[0]&bitDelete != 0 {
				continue
			}
			key := kv.GetKey()
			if len(key) == 0 || len(key) > maxBackupKey {
				return fmt.Errorf("%w: a key of %d bytes", ErrBackup, len(key))
			}
			payload, err := unframe(key, kv.GetValue())
			if err != nil {
				return fmt.Errorf("%w: %w", ErrBackup, err)
			}
			if len(payload) > ValueThreshold {
				return fmt.Errorf("%w: a value of %d bytes, at most %d", ErrBackup, len(payload), ValueThreshold)
			}
			if err := fn(key, payload); err != nil {
				return err
			}
		}
	}
}

// restoreBatch is how many bytes are restored in one transaction.
const restoreBatch = 1 << 20

// Restore makes a database of a kind in dir, which must not hold one, from a backup,
// and closes it in order. Finish, if not nil, may change it in a last transaction. On an
// error the directory holds a part and should be removed.
func Restore(ctx context.Context, dir, kind string, r io.Reader, opts Options, finish func(*Txn) error) (err error) {
	d, err := Open(dir, kind, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	type pair struct{ key, payload []byte }
	var batch []pair
	size := 0
	flush := func() error {
		err := d.Update(func(t *Txn) error {
			for _, p := range batch {
				if err := t.Set(p.key, p.payload); err != nil {
					return err
				}
			}
			return nil
		})
		batch, size = batch[:0], 0
		return err
	}
	got := ""
	err = eachBackedUp(ctx, r, func(key, payload []byte) error {
		if key[0] == 0 { // this package's own
			if string(key) == kindKey {
				got = string(payload)
			}
			return nil
		}
		// Badger counts keys, values and some 30 bytes for each.
		if n := len(key) + len(payload) + 64; len(batch) > 0 && size+n > restoreBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, pair{key, payload})
		size += len(key) + len(payload) + 64
		return nil
	})
	if err == nil && got != kind {
		err = fmt.Errorf("%w: it is of kind %q, want %q", ErrBackup, got[:min(len(got), maxKind)], kind)
	}
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	if err == nil && finish != nil {
		err = d.Update(finish)
	}
	return err
}
