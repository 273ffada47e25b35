package spark

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/internal/local"
)

// Log is the event log of one attempt of one application: a file, or a folder of files.
type Log struct {
	// Name is the file or folder as the user named it, with the path below it.
	Name   string
	Layout Layout
	// InProgress says that names tell that the application runs. After a crash it may
	// be wrong.
	InProgress bool
	// Bytes is the size of all files, as stored; Modified is when one of them last
	// changed. Together they tell whether there is something new to read.
	Bytes    int64
	Modified time.Time

	fsys    fs.FS
	root    string
	parts   []part
	version string // told by a file's name
	notes   []string
}

// part is one file of a log, in the order of events.
type part struct {
	name   string
	number int
	gap    bool // files are missing before it
}

// maxDepth bounds how deep below a folder logs are looked for.
const maxDepth = 16

// FindPath finds the logs of a local file or folder. See [Find].
func FindPath(ctx context.Context, name string) iter.Seq2[Log, error] {
	info, err := os.Stat(name) //nolint:gosec // the file that the user names
	if err != nil {
		return func(yield func(Log, error) bool) { yield(Log{}, err) }
	}
	if info.IsDir() {
		return Find(ctx, local.FS(name), ".", filepath.ToSlash(name))
	}
	dir, base := filepath.Split(filepath.Clean(name))
	return Find(ctx, local.FS(filepath.Clean(dir)), base, filepath.ToSlash(name))
}

// Find yields the logs of a file or of a folder and all below it, in order of names.
// Folders that are one log are not walked into; hidden files are passed over, and of
// links only those to files are followed; others come as a [*ingest.Problem].
// Any other file counts as a log: [Log.Read] says if it is none. What cannot be looked
// at comes as a [*ingest.Problem] in its place. Name is how users know root; empty is
// root itself.
func Find(ctx context.Context, fsys fs.FS, root, name string) iter.Seq2[Log, error] {
	if name == "" {
		name = root
	}
	return func(yield func(Log, error) bool) {
		info, err := fs.Stat(fsys, root)
		if err != nil {
			yield(Log{}, err)
			return
		}
		f := finder{ctx: ctx, fsys: fsys, yield: yield}
		if info.IsDir() {
			f.folder(root, name, 0)
			return
		}
		f.yield(f.file(root, name, info), nil)
	}
}

type finder struct {
	ctx   context.Context //nolint:containedctx // lives for one walk
	fsys  fs.FS
	yield func(Log, error) bool
}

// folder walks a folder. It returns whether to go on.
func (f *finder) folder(dir, name string, depth int) bool {
	if err := f.ctx.Err(); err != nil {
		f.yield(Log{}, err)
		return false
	}
	entries, err := fs.ReadDir(f.fsys, dir)
	if err != nil {
		return f.problem(name, "cannot be read: %v", err)
	}
	if layout := layoutOf(path.Base(slashed(name)), entries); layout != "" {
		l := Log{Name: name, Layout: layout, fsys: f.fsys, root: dir}
		l.arrange(entries)
		l.measure(entries)
		return f.yield(l, nil)
	}
	if depth >= maxDepth {
		return f.problem(name, "is more than %d folders deep: name it itself to import it", maxDepth)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at, known := path.Join(dir, e.Name()), strings.TrimSuffix(name, "/")+"/"+e.Name()
		if e.IsDir() {
			if !f.folder(at, known, depth+1) {
				return false
			}
			continue
		}
		if p := local.NotFollowed(f.fsys, at, known, e); p != nil {
			if !f.yield(Log{}, p) {
				return false
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			if !f.problem(known, "cannot be read: %v", err) {
				return false
			}
			continue
		}
		if info.Mode().IsRegular() && !f.yield(f.file(at, known, info), nil) {
			return false
		}
	}
	return true
}

func slashed(name string) string { return strings.TrimSuffix(filepath.ToSlash(name), "/") }

func (f *finder) problem(name, format string, args ...any) bool {
	return f.yield(Log{}, &ingest.Problem{File: name, Text: fmt.Sprintf(format, args...)})
}

func (f *finder) file(at, name string, info fs.FileInfo) Log {
	return Log{Name: name, Layout: File, InProgress: strings.HasSuffix(at, inProgress),
		Bytes: info.Size(), Modified: info.ModTime(),
		fsys: f.fsys, root: at, parts: []part{{name: at}}}
}

// measure sums the sizes of the parts. Status files count for the time of change: they
// tell that an application ended.
func (l *Log) measure(entries []fs.DirEntry) {
	used := make(map[string]bool)
	for _, p := range l.parts {
		used[path.Base(p.name)] = true
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() {
			continue
		}
		if info.ModTime().After(l.Modified) {
			l.Modified = info.ModTime()
		}
		if used[e.Name()] {
			l.Bytes += info.Size()
		}
	}
}
