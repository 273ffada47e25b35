package main

import (
	"os"

	"github.com/karasu-project/karasu/store/ingest/runtable"
)

// readMapping reads a file that says what columns mean.
func readMapping(path string) (*runtable.Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return runtable.ReadMapping(f, path)
}
