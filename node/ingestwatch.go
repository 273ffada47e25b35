package node

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/hadoop"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/ingest/spark"
	"github.com/karasu-project/karasu/store/ingest/watch"
	"github.com/karasu-project/karasu/store/private"
)

// watched is a folder of the configuration and its watcher, once that runs.
type watched struct {
	config WatchConfig
	folder string

	mu      sync.Mutex
	watcher *watch.Watcher
}

func newWatched(h Home, configs []WatchConfig) []*watched {
	var out []*watched
	for _, c := range configs {
		out = append(out, &watched{config: c, folder: c.folder(h)})
	}
	return out
}

// watch watches all folders until the context ends.
func (a *App) watch(ctx context.Context) {
	var loops sync.WaitGroup
	for _, w := range a.watched {
		loops.Go(func() { a.watchFolder(ctx, w) })
	}
	loops.Wait()
}

func (a *App) watchFolder(ctx context.Context, w *watched) {
	hints := naming.Hints{Infrastructure: w.config.Infrastructure, MachineType: w.config.MachineType}
	watcher := watch.New(watch.Options{
		Path: w.folder,
		Find: func(ctx context.Context) iter.Seq2[watch.Item, error] {
			return WatchItems(ctx, w.config.Kind, w.folder)
		},
		Store: func(ctx context.Context, item watch.Item, e model.Execution) (watch.Result, error) {
			done, err := a.ImportExecutions(ctx, []model.Execution{e}, hints)
			if err != nil {
				return 0, err
			}
			a.logger.InfoContext(ctx, "execution", "file", item.Path, "origin", e.Origin, "result", ImportResultText(done[0].GetResult()),
				"job", done[0].GetJob(), "reason", done[0].GetReason())
			return WatchResult(done[0].GetResult()), nil
		},
		Seen: func(ctx context.Context, item watch.Item) (bool, error) {
			return a.private.Watched(ctx, watchedFile(item))
		},
		Done: func(ctx context.Context, item watch.Item) error { return a.private.SetWatched(ctx, watchedFile(item)) },
		Forget: func(ctx context.Context, path string) error {
			return a.private.ForgetWatched(ctx, watchedFile(watch.Item{Path: path}).Path)
		},
		Unreadable: func(item watch.Item, err error) {
			a.logger.WarnContext(ctx, "a watched file cannot be imported", "file", item.Path, "error", err)
		},
		Rescan: time.Duration(w.config.Rescan), Quiet: time.Duration(w.config.Quiet),
	})
	w.mu.Lock()
	w.watcher = watcher
	w.mu.Unlock()
	watcher.Run(ctx)
}

// watchedFile stores names that are no UTF-8 as such that are.
func watchedFile(item watch.Item) private.WatchedFile {
	return private.WatchedFile{Path: strings.ToValidUTF8(item.Path, "\uFFFD"), Size: item.Size, Modified: item.Modified}
}

// watchStatus says how the watched folders stand.
func (a *App) watchStatus() []*karasuv1.WatchedFolder {
	var out []*karasuv1.WatchedFolder
	for _, w := range a.watched {
		m := &karasuv1.WatchedFolder{Kind: w.config.Kind, Path: w.folder}
		w.mu.Lock()
		watcher := w.watcher
		w.mu.Unlock()
		if watcher != nil {
			s := watcher.Status()
			m.Problem, m.Unreadable = s.Problem, uint32(s.Unreadable)
			m.Imported, m.Updated, m.Unchanged = uint32(s.Imported), uint32(s.Updated), uint32(s.Unchanged)
		}
		out = append(out, m)
	}
	return out
}

// WatchItems lists the records of a kind, one of [WatchKinds], in a folder for a watcher.
func WatchItems(ctx context.Context, kind, folder string) iter.Seq2[watch.Item, error] {
	if kind == "hadoop" {
		return hadoopItems(ctx, folder)
	}
	return sparkItems(ctx, folder)
}

func sparkItems(ctx context.Context, folder string) iter.Seq2[watch.Item, error] {
	return func(yield func(watch.Item, error) bool) {
		for l, err := range spark.FindPath(ctx, folder) {
			item := watch.Item{Path: l.Name, Size: l.Bytes, Modified: l.Modified, InProgress: l.InProgress}
			item.Read = func(ctx context.Context) (*model.Execution, error) { return l.Read(ctx, spark.Options{}) }
			if !yield(item, err) {
				return
			}
		}
	}
}

func hadoopItems(ctx context.Context, folder string) iter.Seq2[watch.Item, error] {
	return func(yield func(watch.Item, error) bool) {
		for f, err := range hadoop.FindPath(ctx, folder) {
			item := watch.Item{Path: f.Name, Size: f.Bytes, Modified: f.Modified}
			item.Read = func(ctx context.Context) (*model.Execution, error) { return f.Read(ctx, hadoop.Options{}) }
			if !yield(item, err) {
				return
			}
		}
	}
}

// WatchResult is the result for a watcher.
func WatchResult(r karasuv1.ImportResult) watch.Result {
	switch r {
	case karasuv1.ImportResult_IMPORT_RESULT_IMPORTED:
		return watch.Imported
	case karasuv1.ImportResult_IMPORT_RESULT_UPDATED:
		return watch.Updated
	default:
		return watch.Unchanged
	}
}

// ImportResultText is imported, updated or unchanged.
func ImportResultText(r karasuv1.ImportResult) string {
	switch r {
	case karasuv1.ImportResult_IMPORT_RESULT_IMPORTED:
		return "imported"
	case karasuv1.ImportResult_IMPORT_RESULT_UPDATED:
		return "updated"
	case karasuv1.ImportResult_IMPORT_RESULT_UNCHANGED:
		return "unchanged"
	}
	return "unknown"
}
