//go:build !unix || aix || solaris

package kv

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockShared only looks whether Badger's lock file is there: these systems have no
// lock that can be shared.
func lockShared(dir string) (unlock func(), err error) {
	if _, err := os.Stat(filepath.Join(dir, "LOCK")); err == nil {
		return nil, fmt.Errorf("store: %s %w", dir, ErrInUse)
	}
	return func() {}, nil
}
