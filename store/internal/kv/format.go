package kv

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// formatFile stands beside Badger's files once a database has been created. Its
// first line is the kind. After a shutdown in order the second is the SHA-256 of the
// manifest: Badger takes a manifest that is missing or cut for what there is, and
// removes all tables that it does not name.
const formatFile = "FORMAT"

// restoreHint ends every error about files that are missing or damaged.
const restoreHint = "restore a backup, or move the directory away to start anew"

func corrupt(dir, format string, args ...any) error {
	return fmt.Errorf("%w in %s: %w; %s", ErrCorrupt, dir, fmt.Errorf(format, args...), restoreHint)
}

// checkFormat refuses a directory whose manifest is not the one that the files in it
// belong to. Made says that a database had been created there.
func checkFormat(dir, kind string) (made bool, err error) {
	got, sum, err := readFormat(dir)
	switch {
	case err == nil && got != kind:
		return true, fmt.Errorf("store: %s %w: %q, want %q", dir, ErrKind, got, kind)
	case err == nil:
		made = true
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	manifest, err := manifestSum(dir)
	switch {
	case err == nil:
		if sum != "" && sum != manifest {
			return made, corrupt(dir, "%s is not what it was at the last shutdown", badger.ManifestFilename)
		}
		return made, nil
	case !errors.Is(err, fs.ErrNotExist):
		return made, fmt.Errorf("store: %w", err)
	case made:
		return made, corrupt(dir, "%s is missing", badger.ManifestFilename)
	}
	for _, pattern := range []string{"*.sst", "*.vlog", "*.mem"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
		if len(files) > 0 {
			return false, corrupt(dir, "%s is missing, but %s is there", badger.ManifestFilename, filepath.Base(files[0]))
		}
	}
	return false, nil
}

func readFormat(dir string) (kind, sum string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		return "", "", fmt.Errorf("store: %w", err)
	}
	kind, rest, _ := strings.Cut(string(b), "\n")
	return kind, strings.TrimSpace(rest), nil
}

// writeFormat replaces the file whole, and returns once that is on disk.
func writeFormat(dir, kind, sum string) (err error) {
	text := kind + "\n"
	if sum != "" {
		text += sum + "\n"
	}
	path := filepath.Join(dir, formatFile)
	defer func() {
		if err != nil {
			err = fmt.Errorf("store: writing %s: %w", path, err)
		}
	}()
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func manifestSum(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
