package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/internal/local"
)

const (
	extension  = ".jhist"
	confSuffix = "_conf.xml"
	maxDepth   = 16
)

// File is the history of one job.
type File struct {
	// Name is the file as the user named it, with the path below it.
	Name string
	// Bytes and Modified tell whether there is something new to read.
	Bytes    int64
	Modified time.Time

	fsys     fs.FS
	at, conf string // conf is empty where there is none
}

// FindPath finds the histories of a local file or folder. See [Find].
func FindPath(ctx context.Context, name string) iter.Seq2[File, error] {
	info, err := os.Stat(name)
	if err != nil {
		return func(yield func(File, error) bool) { yield(File{}, err) }
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if info.IsDir() || base == "" {
		return Find(ctx, local.FS(name), ".", filepath.ToSlash(name))
	}
	if dir == "" {
		dir = "."
	}
	return Find(ctx, local.FS(dir), base, filepath.ToSlash(name))
}

// Find yields the histories of a folder and all below it, in order of names: files
// that end in .jhist. A file that is named itself counts as one, whatever its name.
// Hidden files are passed over. What cannot be looked at, and links to what is no file,
// come as an [*ingest.Problem] in their place. Name is how users know root.
func Find(ctx context.Context, fsys fs.FS, root, name string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		info, err := fs.Stat(fsys, root)
		switch {
		case err != nil:
			yield(File{}, err)
		case !info.IsDir():
			yield(file(fsys, root, name, info), nil)
		default:
			folder(ctx, fsys, root, name, 0, yield)
		}
	}
}

// folder walks a folder. It returns whether to go on.
func folder(ctx context.Context, fsys fs.FS, dir, name string, depth int, yield func(File, error) bool) bool {
	problem := func(name, format string, args ...any) bool {
		return yield(File{}, &ingest.Problem{File: name, Text: fmt.Sprintf(format, args...)})
	}
	if err := ctx.Err(); err != nil {
		yield(File{}, err)
		return false
	}
	if depth > maxDepth {
		return problem(name, "is more than %d folders deep: name it itself to import it", maxDepth)
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return problem(name, "cannot be read: %v", err)
	}
	for _, e := range entries {
		at, known := path.Join(dir, e.Name()), strings.TrimSuffix(name, "/")+"/"+e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if !folder(ctx, fsys, at, known, depth+1, yield) {
				return false
			}
		case local.NotFollowed(fsys, at, known, e) != nil:
			if !yield(File{}, local.NotFollowed(fsys, at, known, e)) {
				return false
			}
		case strings.HasSuffix(e.Name(), extension) && e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				if !problem(known, "cannot be read: %v", err) {
					return false
				}
				continue
			}
			if !yield(file(fsys, at, known, info), nil) {
				return false
			}
		}
	}
	return true
}

// file describes a history and looks for the configuration beside it.
func file(fsys fs.FS, at, name string, info fs.FileInfo) File {
	f := File{Name: name, Bytes: info.Size(), Modified: info.ModTime(), fsys: fsys, at: at}
	if id := jobID.FindString(path.Base(at)); id != "" {
		conf := path.Join(path.Dir(at), id+confSuffix)
		if info, err := fs.Stat(fsys, conf); err == nil && info.Mode().IsRegular() {
			f.conf = conf
		}
	}
	return f
}

// Read reads the history, with the configuration beside it. See [ReadStream].
func (f File) Read(ctx context.Context, o Options) (*model.Execution, error) {
	in, err := f.fsys.Open(f.at)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	var conf io.Reader
	if f.conf != "" {
		c, err := f.fsys.Open(f.conf)
		if err != nil {
			return nil, err
		}
		defer c.Close() //nolint:errcheck // only read
		conf = c
	}
	return ReadStream(ctx, in, f.Name, conf, o)
}

// Executions yields the executions of all histories of a local file or folder. What
// cannot be used comes as an [*ingest.Problem] in its place; any other error is the
// last.
func Executions(ctx context.Context, name string, o Options) iter.Seq2[*model.Execution, error] {
	return func(yield func(*model.Execution, error) bool) {
		for f, err := range FindPath(ctx, name) {
			var e *model.Execution
			if err == nil {
				e, err = f.Read(ctx, o)
			}
			var p *ingest.Problem
			if !yield(e, err) || err != nil && !errors.As(err, &p) {
				return
			}
		}
	}
}
