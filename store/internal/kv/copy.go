package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyBlock is the unit in which files are copied. Blocks of zeros become holes:
// Badger allocates its logs ahead, tens of MiB of which are rarely in use.
const copyBlock = 64 << 10

// scratchPattern names the copies that checks make, which never outlive them unless
// the process is killed.
const scratchPattern = ".fsck-*"

// scratch copies a database into a new directory, mode 0700, in the database's own,
// and removes those that processes which were killed left behind.
func scratch(ctx context.Context, dir string) (tmp string, err error) {
	if err := removeScratch(dir); err != nil {
		return "", err
	}
	if err := checkSpace(dir, freeSpace); err != nil {
		return "", err
	}
	if tmp, err = os.MkdirTemp(dir, scratchPattern); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	if err := copyFiles(ctx, dir, tmp, true); err != nil {
		return "", errors.Join(spaceError(dir, err), os.RemoveAll(tmp))
	}
	return tmp, nil
}

func removeScratch(dir string) error {
	stale, err := filepath.Glob(filepath.Join(dir, scratchPattern))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, d := range stale {
		unlock, err := lockShared(d)
		if errors.Is(err, ErrInUse) {
			continue
		}
		if err != nil {
			return err
		}
		unlock()
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// copyFiles copies the regular files of a directory, or links its tables where the
// file system can: Badger never writes to them again.
func copyFiles(ctx context.Context, from, to string, link bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !e.Type().IsRegular() || e.Name() == "LOCK" {
			continue
		}
		if empty, err := emptyLog(e); err != nil || empty {
			if err != nil {
				return fmt.Errorf("store: %w", err)
			}
			continue
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if link && filepath.Ext(source) == ".sst" && os.Link(source, target) == nil {
			continue
		}
		if err := copyFile(source, target); err != nil {
			return fmt.Errorf("store: copying %s: %w", e.Name(), err)
		}
	}
	return nil
}

// emptyLog says whether a file is a log without a byte. A crash between making a
// log and allocating it leaves one, and Badger (4.9.6) then refuses to open the
// database ever after: "Create a new file".
func emptyLog(e fs.DirEntry) (bool, error) {
	if ext := filepath.Ext(e.Name()); ext != ".mem" && ext != ".vlog" {
		return false, nil
	}
	info, err := e.Info()
	return err == nil && info.Size() == 0, err
}

// removeEmptyLogs removes the logs that would keep Badger from opening.
func removeEmptyLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, e := range entries {
		empty, err := emptyLog(e)
		if err == nil && empty {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buf := make([]byte, copyBlock)
	var size int64
	for {
		n, err := io.ReadFull(in, buf)
		if n > 0 && !allZero(buf[:n]) {
			if _, err := out.WriteAt(buf[:n], size); err != nil {
				return err
			}
		}
		size += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return out.Truncate(size)
		case err != nil:
			return err
		}
	}
}

// allZero compares b with itself, one byte on, which runs at the speed of memory.
func allZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}
