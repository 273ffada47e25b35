package watch_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is one in memory, with a clock that the test turns.
type folder struct {
	now    time.Time
	items  map[string]watch.Item
	broken error
	// what the watcher did
	stored, refused []string
	forgotten       []string
	seen            map[string]watch.Item
	failStore       error
	waited          []string
	// result of storing; nil is Imported
	result func(origin string) watch.Result
}

func newFolder() *folder {
	return &folder{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), items: map[string]watch.Item{}, seen: map[string]watch.Item{}}
}

// put writes a record: its text says how it reads.
func (f *folder) put(name, text string) {
	f.items[name] = watch.Item{
		Path: name, Size: int64(len(text)), Modified: f.now, InProgress: strings.HasSuffix(name, ".inprogress"),
		Read: func(context.Context) (*model.Execution, error) {
			switch {
			case strings.HasSuffix(text, "end"):
				return &model.Execution{Origin: text, Outcome: model.OK}, nil
			case strings.HasSuffix(text, "cut"):
				return &model.Execution{Origin: text, Outcome: model.OK, Quality: model.Quality{Cut: true}}, nil
			case strings.HasPrefix(text, "app"):
				return &model.Execution{Origin: text}, nil
			case text == "gone":
				return nil, fs.ErrNotExist
			}
			return nil, &ingest.Problem{Text: "is no log"}
		},
	}
}

func (f *folder) watcher() *watch.Watcher {
	return watch.New(watch.Options{
		Now: func() time.Time { return f.now }, Settle: time.Second, Quiet: time.Minute, Rescan: 30 * time.Second,
		Find: func(context.Context) iter.Seq2[watch.Item, error] {
			return func(yield func(watch.Item, error) bool) {
				if f.broken != nil && !yield(watch.Item{}, f.broken) {
					return
				}
				var names []string
				for n := range f.items {
					names = append(names, n)
				}
				slices.Sort(names)
				for _, n := range names {
					if !yield(f.items[n], nil) {
						return
					}
				}
			}
		},
		Store: func(_ context.Context, _ watch.Item, e model.Execution) (watch.Result, error) {
			if f.failStore != nil {
				return 0, f.failStore
			}
			f.stored = append(f.stored, e.Origin)
			if f.result != nil {
				return f.result(e.Origin), nil
			}
			return watch.Imported, nil
		},
		Seen: func(_ context.Context, i watch.Item) (bool, error) {
			s, ok := f.seen[i.Path]
			return ok && s.Size == i.Size && s.Modified.Equal(i.Modified), nil
		},
		Done:       func(_ context.Context, i watch.Item) error { f.seen[i.Path] = i; return nil },
		Forget:     func(_ context.Context, path string) error { f.forgotten = append(f.forgotten, path); return nil },
		Waiting:    func(i watch.Item, _ error) { f.waited = append(f.waited, i.Path) },
		Unreadable: func(i watch.Item, _ error) { f.refused = append(f.refused, i.Path) },
	})
}

// look turns the clock on and looks, as often as the watcher asks, for some time.
func (f *folder) look(t *testing.T, w *watch.Watcher, span time.Duration) {
	t.Helper()
	end := f.now.Add(span)
	for i := 0; ; i++ {
		next, err := w.Look(t.Context())
		if err != nil || i > 1000 {
			t.Fatalf("look %d: %v", i, err)
		}
		if !next.After(f.now) {
			t.Fatalf("it wants to look again at %s, and it is %s", next, f.now)
		}
		if next.After(end) {
			f.now = end
			return
		}
		f.now = next
	}
}

func (f *folder) want(t *testing.T, what string, stored, refused []string) {
	t.Helper()
	if d := cmp.Diff([][]string{stored, refused}, [][]string{f.stored, f.refused}); d != "" {
		t.Errorf("%s: stored and refused (-want +got):\n%s", what, d)
	}
	f.stored, f.refused = nil, nil
}

func TestEachOnceWhenItIsComplete(t *testing.T) {
	f := newFolder()
	w := f.watcher()
	f.put("a", "app a end")
	f.put("b.inprogress", "app b")
	f.put("c", "app c half")
	f.put("d", "hello")
	f.put("e", "app e cut")
	f.look(t, w, 0)
	f.want(t, "at once", nil, nil)
	f.look(t, w, 2*time.Second)
	f.want(t, "complete ones within seconds", []string{"app a end"}, nil)
	f.put("c", "app c half and end")
	f.look(t, w, 5*time.Second)
	f.want(t, "the other half came", []string{"app c half and end"}, nil)
	delete(f.items, "b.inprogress")
	f.put("b", "app b end")
	f.look(t, w, 5*time.Second)
	f.want(t, "renamed", []string{"app b end"}, nil)
	if d := cmp.Diff([]string{"b.inprogress"}, f.forgotten); d != "" {
		t.Errorf("forgotten (-want +got):\n%s", d)
	}
	f.look(t, w, 2*time.Minute)
	f.want(t, "quiet for long", []string{"app e cut"}, []string{"d"})
	f.look(t, w, 10*time.Minute)
	f.want(t, "nothing new", nil, nil)
	if s := w.Status(); s != (watch.Status{Imported: 4, Unreadable: 1}) {
		t.Errorf("status %+v", s)
	}

	// Another process knows what this one stored.
	w = f.watcher()
	f.look(t, w, 10*time.Minute)
	f.want(t, "after a restart", nil, []string{"d"})
	f.put("e", "app e now whole end")
	f.put("f.inprogress", "app f killed")
	f.look(t, w, 5*time.Second)
	f.want(t, "changed", []string{"app e now whole end"}, nil)
	f.look(t, w, 2*time.Minute)
	f.want(t, "killed", []string{"app f killed"}, nil)
}

func TestWhatFailsIsTriedAgain(t *testing.T) {
	f := newFolder()
	w := f.watcher()
	f.put("a", "app a end")
	f.failStore = errors.New("the disk is full")
	f.look(t, w, 5*time.Second)
	f.want(t, "disk full", nil, []string{"a"})
	f.failStore = nil
	f.look(t, w, time.Minute)
	f.want(t, "disk not full", []string{"app a end"}, nil)

	f.put("b", "gone") // between listing and reading
	f.look(t, w, time.Minute)
	f.want(t, "gone", nil, nil)

	f.items, f.broken = map[string]watch.Item{}, fs.ErrNotExist
	f.look(t, w, time.Minute)
	if s := w.Status(); s.Problem != "the folder is not there" {
		t.Errorf("status of a folder that vanished: %+v", s)
	}
	f.broken = &ingest.Problem{File: "x", Text: "cannot be read"}
	f.put("c", "app c end")
	f.look(t, w, time.Minute)
	f.want(t, "a part of the folder", []string{"app c end"}, nil)
	if s := w.Status(); s.Problem != "x: cannot be read" {
		t.Errorf("status: %+v", s)
	}
	f.broken = nil
	f.put("a", "app a end")
	f.items["a"] = func() watch.Item { i := f.items["a"]; i.Modified = f.seen["a"].Modified; return i }()
	f.look(t, w, time.Minute)
	f.want(t, "it comes back as it was", nil, nil)
	if s := w.Status(); s.Problem != "" {
		t.Errorf("status: %+v", s)
	}
}

// TestRun watches a real folder that comes later, with a folder in it.
func TestRun(t *testing.T) {
	root := filepath.Join(t.TempDir(), "logs")
	var mu sync.Mutex
	var stored []string
	w := watch.New(watch.Options{
		Path: root, Settle: 10 * time.Millisecond, Rescan: 100 * time.Millisecond,
		Find: func(context.Context) iter.Seq2[watch.Item, error] {
			return func(yield func(watch.Item, error) bool) {
				err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					info, err := d.Info()
					if err != nil {
						return err
					}
					yield(watch.Item{Path: path, Size: info.Size(), Modified: info.ModTime(), Read: func(context.Context) (*model.Execution, error) {
						return &model.Execution{Origin: filepath.Base(path), Outcome: model.OK}, nil
					}}, nil)
					return nil
				})
				if err != nil {
					yield(watch.Item{}, err)
				}
			}
		},
		Store: func(_ context.Context, _ watch.Item, e model.Execution) (watch.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			stored = append(stored, e.Origin)
			return watch.Imported, nil
		},
		Seen: func(context.Context, watch.Item) (bool, error) { return false, nil },
		Done: func(context.Context, watch.Item) error { return nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s did not come; stored %q, status %+v", what, stored, w.Status())
			}
		}
	}
	until("the problem", func() bool { return w.Status().Problem == "the folder is not there" })
	if err := os.MkdirAll(filepath.Join(root, "2026"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "2026/b", "2026/c"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		until(name, func() bool { return w.Status().Imported == i+1 })
	}
	until("no problem", func() bool { return w.Status().Problem == "" })
	cancel()
	<-ended
	if d := cmp.Diff([]string{"a", "b", "c"}, stored); d != "" {
		t.Errorf("stored (-want +got):\n%s", d)
	}
}

// TestCounts: results are counted as Store tells them, and what cannot be read by item.
func TestCounts(t *testing.T) {
	f := newFolder()
	results := map[string]watch.Result{"app-1 end": watch.Imported, "app-1 again end": watch.Unchanged, "app-1 more end": watch.Updated}
	f.result = func(origin string) watch.Result { return results[origin] }
	f.put("a", "app-1 end")
	f.put("b", "app-1 again end")
	f.put("c", "app-1 more end")
	f.put("notes", "hello")
	f.put("cut", "app cut")
	w := f.watcher()
	look := func(want watch.Status) {
		t.Helper()
		f.now = f.now.Add(2 * time.Second)
		if _, err := w.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := w.Status(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
	want := watch.Status{Imported: 1, Updated: 1, Unchanged: 1, Unreadable: 1}
	look(want)
	look(want)
	if d := cmp.Diff([]string{"cut", "notes"}, f.waited); d != "" {
		t.Errorf("waiting (-want +got):\n%s", d)
	}
	f.now = f.now.Add(2 * time.Minute)
	want.Imported++ // the cut one, as it is
	look(want)
	delete(f.items, "notes")
	want.Unreadable = 0
	look(want)
}
