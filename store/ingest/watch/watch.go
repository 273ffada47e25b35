package watch

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

// Defaults of the options.
const (
	// DefaultRescan bounds how late a record is found without a word of the system.
	DefaultRescan = 30 * time.Second
	// DefaultSettle is how long a record has not changed when it is read.
	DefaultSettle = time.Second
	// DefaultQuiet is how long one that is not complete has not changed when it is
	// taken as it is.
	DefaultQuiet = 10 * time.Minute
	// retry is when something that failed for no reason of its own is tried again.
	retry = 30 * time.Second
)

// Item is one record in the folder: a file, or a folder that is one log.
type Item struct {
	// Path tells it from others.
	Path string
	// Size in bytes and time of the last change; both together tell a change.
	Size     int64
	Modified time.Time
	// InProgress says that the record itself tells that it is still written.
	InProgress bool
	// Read reads it. A [*ingest.Problem] says that it is no record, or not yet.
	Read func(context.Context) (*model.Execution, error)
}

// Result is what became of what was stored.
type Result int

// The results.
const (
	Imported Result = iota
	Updated
	Unchanged
)

// Options of a watch. Find, Store and the two about what was read must be set.
type Options struct {
	// Path of the folder.
	Path string
	// Find lists what is in it. A [*ingest.Problem] is about a part of the folder; any
	// other error says that the folder cannot be read now.
	Find func(ctx context.Context) iter.Seq2[Item, error]
	// Store takes what was read. It is called for one item at a time.
	Store func(ctx context.Context, item Item, e model.Execution) (Result, error)
	// Seen says whether an item was stored as it is, Done notes that, and Forget that the
	// item is gone; nil forgets nothing.
	Seen   func(ctx context.Context, item Item) (bool, error)
	Done   func(ctx context.Context, item Item) error
	Forget func(ctx context.Context, path string) error
	// Unreadable is told of an item that is no record; nil is nobody.
	Unreadable func(item Item, err error)
	// Waiting is told of an item that was read before it is quiet and is no record yet,
	// or, where the error is nil, not a complete one; nil is nobody.
	Waiting func(item Item, err error)
	// Rescan, Settle and Quiet are 0 for the defaults.
	Rescan, Settle, Quiet time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// Watcher watches one folder. [Watcher.Run] may be called once; the rest is safe for
// concurrent use.
type Watcher struct {
	o     Options
	items map[string]*state
	round int

	mu      sync.Mutex
	problem string
	results [Unchanged + 1]int
	bad     int
}

// state is what is known of an item that is in the folder.
type state struct {
	size     int64
	modified time.Time
	// since is when the watcher first saw it as it is.
	since time.Time
	// done says that there is nothing to do until it changes.
	done bool
	// tried says that it was read as it is, and was not complete.
	tried bool
	// again is when to try what failed; zero is at once.
	again time.Time
	// bad says that it could not be read or stored.
	bad bool
	// mark is the last round in which it was there.
	mark int
}

// New returns a watcher that has not looked yet.
func New(o Options) *Watcher {
	if o.Rescan == 0 {
		o.Rescan = DefaultRescan
	}
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Watcher{o: o, items: make(map[string]*state)}
}

// Status is how a watch stands.
type Status struct {
	// Problem says why the folder cannot be read now; empty where all is well.
	Problem string
	// Imported, Updated and Unchanged count what Store said. Unreadable are the items in the
	// folder that are no record, or cannot be read or stored.
	Imported, Updated, Unchanged, Unreadable int
}

// Status says how the watch stands.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{w.problem, w.results[Imported], w.results[Updated], w.results[Unchanged], w.bad}
}

func (w *Watcher) count(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// Look goes through the folder once, reads what is ready, and returns when to look next
// at the latest. An error is of the context only.
func (w *Watcher) Look(ctx context.Context) (next time.Time, err error) {
	w.round++
	next = w.o.Now().Add(w.o.Rescan)
	problem := ""
	for item, err := range w.o.Find(ctx) {
		if ctx.Err() != nil {
			return next, ctx.Err()
		}
		var part *ingest.Problem
		switch {
		case errors.As(err, &part) && part.LeftOut:
		case errors.As(err, &part):
			problem = part.Error()
		case err != nil:
			problem = describe(err)
		default:
			at := w.one(ctx, item)
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return next, err
	}
	w.count(func() { w.problem = problem })
	if problem == "" { // else what is not seen may still be there
		for path, s := range w.items {
			if s.mark == w.round {
				continue
			}
			if w.o.Forget == nil || w.o.Forget(ctx, path) == nil { // else in the next round
				w.setBad(s, false)
				delete(w.items, path)
			}
		}
	}
	return next, nil
}

func describe(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the folder is not there"
	}
	return err.Error()
}

// one looks at an item and returns when to look again; zero is when something changes.
func (w *Watcher) one(ctx context.Context, item Item) time.Time {
	now := w.o.Now()
	s, known := w.items[item.Path]
	if known && s.size != item.Size || known && !s.modified.Equal(item.Modified) {
		w.setBad(s, false)
	}
	if !known || s.size != item.Size || !s.modified.Equal(item.Modified) {
		s = &state{size: item.Size, modified: item.Modified, since: now}
		w.items[item.Path] = s
		seen, err := w.o.Seen(ctx, item)
		if err != nil {
			s.again = now.Add(retry)
		}
		s.done = seen
	}
	s.mark = w.round
	switch {
	case s.done:
		return time.Time{}
	case now.Before(s.again):
		return s.again
	}
	// Clocks of file servers may differ from this one: what was seen unchanged counts,
	// too.
	unchanged := max(now.Sub(s.since), now.Sub(item.Modified))
	quiet := unchanged >= w.o.Quiet
	if !quiet && (item.InProgress || s.tried) {
		return now.Add(w.o.Quiet - unchanged)
	}
	if unchanged < w.o.Settle {
		return now.Add(w.o.Settle - unchanged)
	}
	if !w.take(ctx, item, s, quiet) {
		s.again = w.o.Now().Add(retry)
		return s.again
	}
	if !s.done {
		return now.Add(w.o.Quiet - unchanged)
	}
	return time.Time{}
}

// setBad notes whether an item cannot be read.
func (w *Watcher) setBad(s *state, bad bool) {
	if s.bad == bad {
		return
	}
	s.bad = bad
	w.count(func() {
		if bad {
			w.bad++
		} else {
			w.bad--
		}
	})
}

func (w *Watcher) waiting(item Item, err error) {
	if w.o.Waiting != nil {
		w.o.Waiting(item, err)
	}
}

// take reads an item. It returns false where that failed for a reason that may pass.
func (w *Watcher) take(ctx context.Context, item Item, s *state, quiet bool) bool {
	e, err := item.Read(ctx)
	var problem *ingest.Problem
	switch {
	case errors.As(err, &problem):
		w.setBad(s, true)
		if !quiet { // perhaps it is no record yet
			s.tried = true
			w.waiting(item, err)
			return true
		}
		if w.o.Unreadable != nil {
			w.o.Unreadable(item, err)
		}
		s.done = true // until it changes, or a later version looks at it
		return true
	case err != nil:
		if ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
			w.setBad(s, true)
			if w.o.Unreadable != nil {
				w.o.Unreadable(item, err)
			}
		}
		return false
	case !quiet && (!e.Finished() || e.Quality.Cut):
		s.tried = true
		w.setBad(s, false)
		w.waiting(item, nil)
		return true
	default:
		result, err := w.o.Store(ctx, item, *e)
		if err != nil {
			if ctx.Err() == nil {
				w.setBad(s, true)
				if w.o.Unreadable != nil {
					w.o.Unreadable(item, err)
				}
			}
			return false
		}
		w.setBad(s, false)
		w.count(func() { w.results[result]++ })
	}
	s.done = w.o.Done(ctx, item) == nil
	return s.done
}
