//go:build unix && !aix && !solaris

package kv

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockShared takes the lock that Badger holds on a database's directory, shared,
// so that no process opens it while it is being read.
func lockShared(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		_ = f.Close() // opened for reading
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("store: %s %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("store: locking %s: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}
