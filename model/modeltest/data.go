// Package modeltest helps tests that use public measurements. The measurements are
// not part of this repository: they are read from $KARASU_DATA, or from the folder
// shared/data beside the checkout.
package modeltest

import (
	"os"
	"path/filepath"
	"testing"
)

// Data returns the path of a file or folder among the public measurements, such as
// "scout/scout.csv". Where it is absent the test is skipped with a message, or
// fails if KARASU_REQUIRE_DATA is set, as it is in continuous integration.
func Data(tb testing.TB, name string) string {
	tb.Helper()
	path, err := find(name)
	if err == nil {
		return path
	}
	if os.Getenv("KARASU_REQUIRE_DATA") != "" {
		tb.Fatalf("public measurements are required but absent: %v", err)
	}
	tb.Skipf("needs public measurements (set KARASU_DATA): %v", err)
	return ""
}

func find(name string) (string, error) {
	if dir := os.Getenv("KARASU_DATA"); dir != "" {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path) //nolint:gosec // whoever runs the tests says where the measurements are
		return path, err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "..", "shared", "data", name)
	_, err = os.Stat(path)
	return path, err
}

// moduleRoot is the nearest folder upwards that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", os.ErrNotExist
		}
		dir = parent
	}
}
