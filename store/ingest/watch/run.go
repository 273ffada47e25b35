package watch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxFolders bounds the folders that the system is asked to watch; what lies in
	// others is found by the timer.
	maxFolders = 2000
	maxDepth   = 16
	// gap is the least time between two looks, so that a busy folder does not keep
	// the watcher listing.
	gap = 250 * time.Millisecond
)

// Run watches until the context ends, which is no error: it returns nothing else. A
// folder that vanishes, or is not there yet, is waited for.
func (w *Watcher) Run(ctx context.Context) {
	events := newNotifier()
	defer events.close()
	for {
		events.follow(w.o.Path)
		next, err := w.Look(ctx)
		if err != nil {
			return
		}
		timer := time.NewTimer(max(gap, next.Sub(w.o.Now())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-events.wake():
			timer.Stop()
			select {
			case <-ctx.Done():
				return
			case <-time.After(gap):
			}
			events.drain()
		}
	}
}

// notifier asks the system to tell of changes. Where it cannot, the timer has to do.
type notifier struct {
	fs      *fsnotify.Watcher
	folders map[string]bool
	changed chan struct{}
}

func newNotifier() *notifier {
	n := &notifier{folders: map[string]bool{}, changed: make(chan struct{}, 1)}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return n
	}
	n.fs = w
	go func() {
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
			case _, ok := <-w.Errors: // such as an overflow: something changed
				if !ok {
					return
				}
			}
			select {
			case n.changed <- struct{}{}:
			default:
			}
		}
	}()
	return n
}

func (n *notifier) wake() <-chan struct{} { return n.changed }

func (n *notifier) drain() {
	select {
	case <-n.changed:
	default:
	}
}

func (n *notifier) close() {
	if n.fs != nil {
		_ = n.fs.Close() // it only held watches
	}
}

// follow watches the folder and those below it.
func (n *notifier) follow(root string) {
	if n.fs == nil {
		return
	}
	there := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() || len(there) >= maxFolders {
			if err == nil && d.IsDir() || err != nil && d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		if path != root && strings.HasPrefix(d.Name(), ".") || strings.Count(rel, string(filepath.Separator)) >= maxDepth {
			return fs.SkipDir
		}
		there[path] = true
		// Adding what is watched already is cheap, and mends a folder that was replaced.
		_ = n.fs.Add(path) // where the system's limit is reached the timer has to do
		return nil
	})
	for path := range n.folders {
		if !there[path] {
			_ = n.fs.Remove(path) // mostly it is gone
		}
	}
	n.folders = there
}
