// Package local is a folder of this computer to find records in: as [os.DirFS], but with
// names that are no UTF-8, with links to files as if they were the files, and without
// what never ends, such as devices.
package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/karasu-project/karasu/store/ingest"
)

// ErrSpecial says that something is neither a file nor a folder.
var ErrSpecial = errors.New("is a pipe, a device or a socket and no file")

// FS is the path of a folder.
type FS string

var (
	_ fs.StatFS    = FS("")
	_ fs.ReadDirFS = FS("")
)

func (f FS) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Open opens a file or folder. Of all else only a pipe that a shell gave, such as
// <(zcat log), can be opened: a named one may wait forever.
func (f FS) Open(name string) (fs.File, error) {
	at := f.path(name)
	file, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() && !ofShell(at, info.Mode()) {
		err = &fs.PathError{Op: "open", Path: at, Err: ErrSpecial}
	}
	if err != nil {
		_ = file.Close() // nothing was read
		return nil, err
	}
	return file, nil
}

func ofShell(at string, mode fs.FileMode) bool {
	return mode&fs.ModeNamedPipe != 0 && (strings.HasPrefix(at, "/dev/fd/") || strings.HasPrefix(at, "/proc/self/fd/") || at == "/dev/stdin")
}

// Stat follows links.
func (f FS) Stat(name string) (fs.FileInfo, error) { return os.Stat(f.path(name)) }

// ReadDir lists a folder in order of names. A link to a regular file is listed as that
// file under the link's name; other links as links: see [NotFollowed].
func (f FS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(f.path(name))
	for i, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		info, err := os.Stat(filepath.Join(f.path(name), e.Name()))
		if err == nil && info.Mode().IsRegular() {
			entries[i] = fs.FileInfoToDirEntry(renamed{info, e.Name()})
		}
	}
	return entries, err
}

type renamed struct {
	fs.FileInfo
	name string
}

func (r renamed) Name() string { return r.name }

// NotFollowed says of an entry that is a link why it is left out: it leads to no file. It
// returns nil for all else.
func NotFollowed(fsys fs.FS, at, name string, e fs.DirEntry) *ingest.Problem {
	if e.Type()&fs.ModeSymlink == 0 {
		return nil
	}
	text := "is a link to what is no file"
	info, err := fs.Stat(fsys, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = "is a link to nothing"
	case err != nil:
		text = "is a link that cannot be followed"
	case info.IsDir():
		text = "is a link to a folder: name it itself to import it"
	}
	return &ingest.Problem{File: name, Text: text, LeftOut: true}
}
