package commons

import (
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// SourceSize is the length of a source in bytes.
const SourceSize = 16

// Source returns the id of the private database from which own records were made, or
// nil where none is noted. It tells a private database that was lost from one whose
// runs were deleted.
func (d *DB) Source() ([]byte, error) {
	var source []byte
	err := d.kv.View(func(t *kv.Txn) (err error) {
		source, err = t.Get([]byte(sourceKey))
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return source, err
}

// SetSource notes the id of the private database from which own records are made.
func (d *DB) SetSource(source []byte) error {
	if len(source) != SourceSize {
		return fmt.Errorf("commons: source of %d bytes, want %d", len(source), SourceSize)
	}
	return d.kv.Update(func(t *kv.Txn) error { return t.Set([]byte(sourceKey), source) })
}
