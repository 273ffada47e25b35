package kv

import (
	"fmt"
	"io/fs"
	"os"
)

// Probe writes to the database, so that it tells whether others could: it repeats the
// mark that the database is open. It costs one sync of the disk.
func (d *DB) Probe() error {
	return d.Update(func(t *Txn) error { return t.Set([]byte(cleanKey), []byte{0}) })
}

// DiskBytes is what the database's files take on disk, holes left out.
func (d *DB) DiskBytes() (int64, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if os.IsNotExist(err) {
			continue // Badger removed it meanwhile
		}
		if err != nil {
			return 0, fmt.Errorf("store: %w", err)
		}
		if e.Type()&fs.ModeType == 0 {
			total += allocated(info)
		}
	}
	return total, nil
}
