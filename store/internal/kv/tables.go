package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
