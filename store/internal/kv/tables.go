package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// Badger (4.9.6) ends the process when it opens a damaged table: a block that
// cannot be decompressed is a nil pointer in one of its goroutines, an index that
// points nowhere is log.Fatal. So tables are verified here, before Badger sees
// them, and Badger is told to verify blocks as it reads them.

// tableDamage verifies the tables that the manifest of a database names and calls
// bad with those that are damaged, in order. Files that it does not name are what
// a crash left of a table that was being written; they are returned.
func tableDamage(dir string, bad func(name string, err error)) (unnamed []string, err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a new database
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	manifest, _, err := badger.ReplayManifestFile(f, 0, Options{}.withDefaults().badger(dir))
	if err != nil {
		bad(badger.ManifestFilename, err)
		return nil, nil
	}
	named := make(map[string]bool)
	for _, id := range slices.Sorted(maps.Keys(manifest.Tables)) {
		path := table.NewFilename(id, dir)
		named[path] = true
		if err := verifyTable(path, id); err != nil {
			bad(filepath.Base(path), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	for _, path := range files {
		if !named[path] {
			unnamed = append(unnamed, filepath.Base(path))
		}
	}
	return unnamed, nil
}

// lostTables says whether the manifest lacks a table that the database needs: one
// with the kind in it, which is written once, when the database is created. Unnamed
// are the tables that the manifest does not name; after a crash there may be some that
// nobody needs. It tells a manifest that was cut when there was no shutdown whose
// manifest is on record.
func lostTables(dir string, unnamed []string) (bool, error) {
	named, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	for _, path := range named {
		if slices.Contains(unnamed, filepath.Base(path)) {
			continue
		}
		if found, err := tableHolds(path, []byte(kindKey)); found || err != nil {
			return false, err
		}
	}
	found := false
	err = eachLog(dir, func(file string, end, _ int, _ bool) error {
		b, err := readSparse(file)
		if err != nil {
			return err
		}
		found = found || bytes.Contains(b[:min(end, len(b))], []byte(kindKey))
		return nil
	})
	return !found, err
}

// tableHolds looks for a key in a table that has been verified.
func tableHolds(path string, key []byte) (bool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	t, err := table.OpenInMemoryTable(b, 0, &table.Options{BlockSize: 4 << 10, Compression: options.Snappy})
	if err != nil {
		return false, fmt.Errorf("store: %s: %w", path, err)
	}
	it := t.NewIterator(0)
	defer func() { _ = it.Close() }() // in memory
	it.Seek(y.KeyWithTs(key, math.MaxUint64))
	return it.Valid() && bytes.Equal(y.ParseKey(it.Key()), key), nil
}

func verifyTable(path string, id uint64) (err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("a block cannot be decoded")
		}
	}()
	if err := verifyIndex(b); err != nil {
		return err
	}
	t, err := table.OpenInMemoryTable(b, id, &table.Options{
		ChkMode: options.OnTableRead, BlockSize: 4 << 10, Compression: options.Snappy,
	})
	if err != nil {
		return err
	}
	return t.VerifyChecksum()
}

// verifyIndex checks the end of a table (badger v4, table/builder.go): the index,
// its length, its checksum, and the checksum's length, all numbers big endian.
func verifyIndex(b []byte) error {
	take := func(n uint32) ([]byte, error) {
		if uint64(n) > uint64(len(b)) {
			return nil, errors.New("the table is cut or its end is damaged")
		}
		tail := b[len(b)-int(n):]
		b = b[:len(b)-int(n)]
		return tail, nil
	}
	part := func() ([]byte, error) {
		n, err := take(4)
		if err != nil {
			return nil, err
		}
		return take(binary.BigEndian.Uint32(n))
	}
	sum, err := part()
	if err != nil {
		return err
	}
	var want pb.Checksum
	if err := proto.Unmarshal(sum, &want); err != nil {
		return fmt.Errorf("checksum of the index: %w", err)
	}
	index, err := part()
	if err != nil {
		return err
	}
	return y.VerifyChecksum(index, &want)
}
