//go:build unix

package main

import "syscall"

// keepPrivate makes the files that this process creates its user's only: Badger leaves
// the mode of its files to the process.
func keepPrivate() { syscall.Umask(0o077) }
