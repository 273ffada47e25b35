package flink

import (
	"context"
	"errors"
	"fmt"
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

const maxDepth = 16

// File is a file with one job.
type File struct {
	// Name is the file as the user named it, with the path below it.
	Name string
	// Bytes and Modified tell whether there is something new to read.
	Bytes    int64
	Modified time.Time

	fsys fs.FS
	at   string
}

// Read reads the file. See [Read].
func (f File) Read(ctx context.Context) (*model.Execution, error) {
	in, err := f.fsys.Open(f.at)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	return Read(ctx, in, f.Name)
}

// FindPath yields the jobs of a local file or folder, in order of names: a file that
// is named itself, and of a folder and all below it those that end in .json or have a
// job's id as their name, as archives do. Hidden files are passed over. What cannot be
// looked at, and links to what is no file, come as an [*ingest.Problem] in their place.
func FindPath(ctx context.Context, name string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		info, err := os.Stat(name)
		if err != nil {
			yield(File{}, err)
			return
		}
		if !info.IsDir() {
			dir, base := filepath.Split(filepath.Clean(name))
			if dir == "" {
				dir = "."
			}
			yield(File{Name: filepath.ToSlash(name), Bytes: info.Size(), Modified: info.ModTime(), fsys: local.FS(dir), at: base}, nil)
			return
		}
		fsys, prefix := local.FS(name), strings.TrimSuffix(filepath.ToSlash(name), "/")+"/"
		err = fs.WalkDir(fsys, ".", func(at string, e fs.DirEntry, err error) error {
			base := path.Base(at)
			problem := func(text string) error {
				if !yield(File{}, &ingest.Problem{File: prefix + at, Text: text}) {
					return fs.SkipAll
				}
				return nil
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return problem(fmt.Sprintf("cannot be read: %v", err))
			case e.IsDir() && strings.Count(at, "/") >= maxDepth:
				if err := problem(fmt.Sprintf("is more than %d folders deep: name it itself to import it", maxDepth)); err != nil {
					return err
				}
				return fs.SkipDir
			case e.IsDir() && at != "." && strings.HasPrefix(base, "."):
				return fs.SkipDir
			case !strings.HasPrefix(base, ".") && local.NotFollowed(fsys, at, prefix+at, e) != nil:
				if !yield(File{}, local.NotFollowed(fsys, at, prefix+at, e)) {
					return fs.SkipAll
				}
				return nil
			case !e.Type().IsRegular() || strings.HasPrefix(base, ".") || !strings.HasSuffix(base, ".json") && !validID(base):
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return problem(fmt.Sprintf("cannot be read: %v", err))
			}
			if !yield(File{Name: prefix + at, Bytes: info.Size(), Modified: info.ModTime(), fsys: fsys, at: at}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(File{}, err)
		}
	}
}

// Executions yields the executions of all jobs of a local file or folder. What cannot
// be used, or is skipped, comes as an [*ingest.Problem] in its place; any other error
// is the last.
func Executions(ctx context.Context, name string) iter.Seq2[*model.Execution, error] {
	return func(yield func(*model.Execution, error) bool) {
		for f, err := range FindPath(ctx, name) {
			var e *model.Execution
			if err == nil {
				e, err = f.Read(ctx)
			}
			var p *ingest.Problem
			if !yield(e, err) || err != nil && !errors.As(err, &p) {
				return
			}
		}
	}
}
