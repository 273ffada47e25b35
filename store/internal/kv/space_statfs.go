//go:build linux || darwin || freebsd

package kv

import (
	"io/fs"
	"syscall"
)

// freeSpace is how many bytes an ordinary user may still write to the file system of
// a directory.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // of another type on other systems
}

// allocated is what a file takes on disk: Badger's logs are allocated ahead, and mostly
// holes.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
