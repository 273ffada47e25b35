package kv

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrDiskFull says that the file system has too little room to go on safely.
var ErrDiskFull = errors.New("no space left")

// minFree is what has to be free before the database is opened or written to, in
// bytes. Badger maps its logs into memory and allocates them as they are written, so
// a file system that is full ends the process with SIGBUS and not with an error. What
// one transaction can set off before the next check is a memtable's log, the table
// that the memtable before it becomes, and a value log: 48 MiB.
const minFree = 2*MemTableSize + ValueLogFileSize

// checkSpace refuses to go on where there is less room than [minFree].
func checkSpace(dir string, free func(dir string) (int64, error)) error {
	n, err := free(dir)
	if err != nil {
		return fmt.Errorf("store: free space of %s: %w", dir, err)
	}
	if n < minFree {
		return fmt.Errorf("%w in %s: %d MB free, %d MB needed", ErrDiskFull, dir, n>>20, minFree>>20)
	}
	return nil
}

// spaceError makes an error of the file system's an [ErrDiskFull].
func spaceError(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w in %s: %w", ErrDiskFull, dir, err)
	}
	return err
}

// Space says how many bytes are free where a directory is, and how many a database
// needs to be opened and written to.
func Space(dir string) (free, needed int64, err error) {
	free, err = freeSpace(dir)
	return free, minFree, err
}
