package kv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// ErrNoDatabase says that a directory holds no database.
var ErrNoDatabase = errors.New("holds no database")

// maxProblems bounds the problems that a report spells out.
const maxProblems = 50

// Report is what a check found.
type Report struct {
	// Dir and Kind of the database.
	Dir, Kind string
	// CleanShutdown says whether it was closed in order. After a crash it is
	// false, which is no problem by itself.
	CleanShutdown bool
	// Keys counts what is stored, and Bytes the payloads.
	Keys  int
	Bytes int64
	// CutOff counts bytes of writes that a crash cut off. They were never
	// acknowledged, and the next start drops them.
	CutOff int64
	// NothingSince says that the database was opened after its last shutdown in order, and
	// holds nothing that was written since. A crash at once after the start leaves that,
	// and so does a log that was emptied.
	NothingSince bool
	// Problems are the first 50, Bad counts all.
	Problems []string
	Bad      int
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return r.Bad == 0 }

// Problemf notes a problem.
func (r *Report) Problemf(format string, args ...any) {
	r.Bad++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Fsck reads everything in a database of a kind that no process has open, and
// changes nothing: Badger repairs and removes files even when it opens a
// database for reading, so it gets a copy in a directory of its own in this one.
// Each is called with every key of other packages and its payload, done once
// after the last. What is wrong with the data is in the report; an error says
// that there is nothing to check ([ErrNoDatabase], [ErrInUse]), no way to, or that
// the context ended.
func Fsck(ctx context.Context, dir, kind string, each func(r *Report, key, payload []byte), done func(*Report)) (rep *Report, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store: %s %w", dir, ErrNoDatabase)
	}
	unlock, err := lockShared(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	rep = &Report{Dir: dir, Kind: kind}
	made, err := checkFormat(dir, kind)
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrKind) {
		rep.Problemf("%v", err)
		return rep, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, badger.ManifestFilename)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store: %s %w", dir, ErrNoDatabase)
	}
	if err := checkLogs(dir, rep); err != nil {
		return nil, err
	}
	inLogs := rep.Bad
	unnamed, err := tableDamage(dir, func(name string, err error) { rep.Problemf("%s: %v", name, err) })
	if err != nil {
		return nil, err
	}
	if rep.Bad > inLogs {
		return rep, nil // Badger would not survive opening it
	}
	tmp, err := scratch(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	b, err := openCopy(tmp)
	if err != nil {
		rep.Problemf("cannot be opened: %s", strings.ReplaceAll(err.Error(), tmp, dir))
		return rep, nil
	}
	holds := rep.read(ctx, b, each)
	if err := b.Close(); err != nil {
		rep.Problemf("cannot be closed: %v", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A crash right after the first start leaves a database that holds nothing yet.
	if fresh := rep.Keys == 0 && len(unnamed) == 0 && !made; holds != kind && !fresh {
		rep.Problemf("holds a database of kind %q, want %q", holds, kind)
		rep.Kind = holds
	}
	if _, sum, err := readFormat(dir); err == nil && sum == "" && rep.CleanShutdown {
		rep.NothingSince = true
	}
	if rep.CleanShutdown && len(unnamed) > 0 {
		rep.Problemf("the manifest lacks tables that are there: %s", strings.Join(unnamed, ", "))
	}
	if done != nil && rep.Kind == kind {
		done(rep)
	}
	return rep, nil
}

// openCopy opens a copy. Badger panics on some damage.
func openCopy(dir string) (b *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	o := Options{Logger: slog.New(slog.DiscardHandler)}.withDefaults().badger(dir)
	// Tables are linked and not copied, and a compaction would cut them to nothing.
	return badger.Open(o.WithSyncWrites(false).WithNumCompactors(0).WithNumLevelZeroTablesStall(1 << 20))
}

// read goes through all keys and returns the kind of the database.
func (r *Report) read(ctx context.Context, b *badger.DB, each func(r *Report, key, payload []byte)) (kind string) {
	defer func() {
		if p := recover(); p != nil {
			r.Problemf("cannot be read: panic: %v", p)
		}
	}()
	clean := false
	err := b.View(func(txn *badger.Txn) error {
		t := &Txn{txn}
		return t.iterate(nil, true, func(item *badger.Item) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.Keys++
			key := item.KeyCopy(nil)
			payload, err := value(item)
			if err != nil {
				r.Problemf("%v", err)
				return nil
			}
			r.Bytes += int64(len(payload))
			switch {
			case string(key) == kindKey:
				kind = string(payload)
			case string(key) == cleanKey:
				clean = len(payload) == 1 && payload[0] == 1
			case len(key) > 0 && key[0] == 0:
				r.Problemf("unknown key %q", key)
			case each != nil:
				each(r, key, payload)
			}
			return nil
		})
	})
	if err != nil {
		r.Problemf("cannot be read: %v", err)
	}
	r.CleanShutdown = clean
	return kind
}
