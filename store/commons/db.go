package commons

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// Errors of the database, beside those of [Open].
var (
	// ErrNotFound says that no such record is stored.
	ErrNotFound = kv.ErrNotFound
	// ErrInUse says that another process has the database open.
	ErrInUse = kv.ErrInUse
	// ErrCorrupt says that stored bytes are not what was written.
	ErrCorrupt = kv.ErrCorrupt
	// ErrDiskFull says that the file system has too little room to go on safely.
	ErrDiskFull = kv.ErrDiskFull
	// ErrClosed says that the database has been closed.
	ErrClosed = kv.ErrClosed
)

// kind names the format of the database.
const kind = "commons/1"

// Keys: 'r' and an ID hold a byte of flags and the envelope; 'n' and a slot hold
// the highest revision that was put there as own; 's' holds the source of own records,
// and 'b', after a restore, the revision above which own records are signed.
const (
	recordPrefix = 'r'
	floorPrefix  = 'n'
	sourceKey    = "s"
	baseKey      = "b"
	flagOwn      = 1
)

// maxBatch bounds the envelopes of one transaction, in bytes.
const maxBatch = 1 << 20

// Options of the database. The zero value is what a daemon uses.
type Options struct {
	// Logger gets Badger's messages; nil discards them.
	Logger *slog.Logger
	// Now is the clock by which records expire; nil means time.Now.
	Now func() time.Time
}

// DB holds records. It is safe for concurrent use. What describes records is in
// memory (about 600 bytes each), their envelopes are on disk.
type DB struct {
	kv *kv.DB
	// index has a lock of its own, which is taken last.
	index *Index

	mu    sync.RWMutex
	slots map[slot][]*meta
	byID  map[ID]*meta
	// topics has the first record of each slot.
	topics map[model.Topic]map[*meta]struct{}
	floors map[slot]uint64
	// base does not change while the database is open.
	base uint64
	// rotations are what organisations said of their epochs.
	rotations map[peer.ID]Rotation
}

// OpenDB opens the database in dir or creates it. The error wraps [ErrInUse]
// where another process has it open, [ErrCorrupt] where it is damaged.
func OpenDB(dir string, opts Options) (*DB, error) {
	k, err := kv.Open(dir, kind, kv.Options{Logger: opts.Logger, Now: opts.Now})
	if err != nil {
		return nil, err
	}
	d := &DB{
		kv: k, index: NewIndex(k.Now), slots: make(map[slot][]*meta), byID: make(map[ID]*meta),
		topics: make(map[model.Topic]map[*meta]struct{}), floors: make(map[slot]uint64),
		rotations: make(map[peer.ID]Rotation),
	}
	if err = d.load(); err == nil && len(d.rotations) > 0 {
		_, err = d.drop(d.ended)
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return d, nil
}

// load fills the index from what is stored.
func (d *DB) load() error {
	return d.kv.View(func(t *kv.Txn) error {
		err := t.Each([]byte{recordPrefix}, func(key, value []byte) error {
			r, own, err := decodeStored(key, value)
			if err != nil {
				return err
			}
			m := metaOf(r, own)
			held, _ := merge(d.slots[m.slot], m)
			d.replace(m.slot, held)
			return nil
		})
		if err != nil {
			return err
		}
		if d.base, err = loadBase(t); err != nil {
			return err
		}
		return t.Each([]byte{floorPrefix}, func(key, value []byte) error {
			s, err := parseSlot(key)
			if err != nil || len(value) != 8 {
				return fmt.Errorf("%w: revision under %q", ErrCorrupt, key)
			}
			d.floors[s] = binary.BigEndian.Uint64(value)
			return nil
		})
	})
}

// decodeStored parses a stored record without checking its signature again.
func decodeStored(key, value []byte) (*Record, bool, error) {
	if len(value) < 1 {
		return nil, false, fmt.Errorf("%w: record %x is empty", ErrCorrupt, key)
	}
	r, err := reopen(value[1:])
	if err != nil {
		return nil, false, fmt.Errorf("%w: record %x: %w", ErrCorrupt, key, err)
	}
	if string(recordKey(r.ID)) != string(key) {
		return nil, false, fmt.Errorf("%w: record %s is stored under %x", ErrCorrupt, r.ID, key)
	}
	return r, value[0]&flagOwn != 0, nil
}

// replace sets what a slot holds, in memory. The caller holds the lock.
func (d *DB) replace(s slot, held []*meta) {
	d.noteRotation(s, held)
	for i, m := range d.slots[s] {
		if i == 0 {
			delete(d.topics[s.topic], m)
		}
		delete(d.byID, m.id)
		if !slices.Contains(held, m) {
			d.index.remove(m)
		}
	}
	if len(held) == 0 {
		delete(d.slots, s)
		if len(d.topics[s.topic]) == 0 {
			delete(d.topics, s.topic)
		}
		return
	}
	d.slots[s] = held
	for _, m := range held {
		d.byID[m.id] = m
		d.index.insert(m)
	}
	if d.topics[s.topic] == nil {
		d.topics[s.topic] = make(map[*meta]struct{})
	}
	d.topics[s.topic][held[0]] = struct{}{}
}

// Put stores a record that has passed [Open] and says what became of it. Own
// marks it as this node's. What was reported as stored is on disk. A record
// whose time is not acceptable is refused with [ErrFuture] or [ErrExpired].
func (d *DB) Put(ctx context.Context, r *Record, own bool) (Outcome, error) {
	o, err := d.PutAll(ctx, []*Record{r}, own)
	if err != nil {
		return 0, err
	}
	return o[0], nil
}

// PutAll is [DB.Put] for many records, with few waits for the disk. On an error
// it returns the outcomes of those that are stored: a prefix of records.
func (d *DB) PutAll(ctx context.Context, records []*Record, own bool) ([]Outcome, error) {
	var done []Outcome
	for len(done) < len(records) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		n, size, now := 0, 0, d.kv.Now()
		var unacceptable error
		for _, r := range records[len(done):] {
			if unacceptable = r.CheckTime(now); unacceptable != nil {
				break
			}
			if size += len(r.Envelope); n > 0 && size > maxBatch {
				break
			}
			n++
		}
		if n == 0 {
			return done, unacceptable
		}
		outcomes, err := d.put(records[len(done):len(done)+n], own, now)
		if err != nil {
			return done, err
		}
		done = append(done, outcomes...)
	}
	return done, nil
}

// put stores records in one transaction, all or none.
func (d *DB) put(records []*Record, own bool, now time.Time) ([]Outcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var (
		outcomes []Outcome
		next     = make(map[slot][]*meta)
		floors   = make(map[slot]uint64)
	)
	err := d.kv.Update(func(t *kv.Txn) error {
		outcomes = outcomes[:0]
		clear(next)
		clear(floors)
		for _, r := range records {
			m := metaOf(r, own)
			if d.ended(m) {
				outcomes = append(outcomes, Stale)
				continue
			}
			held, pending := next[m.slot]
			if !pending {
				held = d.slots[m.slot]
			}
			after, outcome := merge(live(held, now.Unix()), m)
			if outcome == Duplicate && own {
				after = claim(after, m.id)
			}
			if err := d.write(t, r, held, after); err != nil {
				return err
			}
			next[m.slot] = after
			outcomes = append(outcomes, outcome)
			if own && r.Revision > max(d.floors[m.slot], floors[m.slot]) {
				floors[m.slot] = r.Revision
				if err := t.Set(slotKey(m.slot), binary.BigEndian.AppendUint64(nil, r.Revision)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	changed, rotated := false, false
	for s, held := range next {
		changed = changed || !slices.Equal(d.slots[s], held)
		d.replace(s, held)
		rotated = rotated || isRotation(s)
	}
	for s, n := range floors {
		d.floors[s] = n
	}
	if changed {
		d.kv.Notify()
	}
	if rotated {
		// What is left by an error here is gone after the next start.
		_, err = d.dropLocked(d.ended)
	}
	return outcomes, err
}

// claim marks a held record as own.
func claim(held []*meta, id ID) []*meta {
	held = slices.Clone(held)
	for i, m := range held {
		if m.id == id && !m.own {
			c := *m
			c.own = true
			held[i] = &c
		}
	}
	return held
}

// write brings the disk from what a slot held to what it holds after r arrived.
func (d *DB) write(t *kv.Txn, r *Record, before, after []*meta) error {
	for _, m := range before {
		if !slices.ContainsFunc(after, func(a *meta) bool { return a.id == m.id }) {
			if err := t.Delete(recordKey(m.id)); err != nil {
				return err
			}
		}
	}
	for _, m := range after {
		if m.id != r.ID || slices.Contains(before, m) {
			continue
		}
		var flags byte
		if m.own {
			flags |= flagOwn
		}
		if err := t.Set(recordKey(m.id), append([]byte{flags}, r.Envelope...)); err != nil {
			return err
		}
	}
	return nil
}

// NextRevision returns the revision for the next record under a key: one above
// the highest that is stored or was ever put as own.
func (d *DB) NextRevision(by Writer, topic model.Topic, key string) uint64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := slot{by.Organisation, by.Name, topic, key}
	top := d.floors[s]
	for _, m := range d.slots[s] {
		top = max(top, m.revision)
	}
	if top == math.MaxUint64 {
		return top
	}
	return top + 1
}

// Sweep deletes what had expired at the given time and says how much that was.
func (d *DB) Sweep(now time.Time) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var expired []slot
	for s, held := range d.slots {
		if len(live(held, now.Unix())) == 0 {
			expired = append(expired, s)
		}
	}
	return d.deleteSlots(expired)
}

// Subscribe returns a channel that says that records changed (changes coalesce),
// and a function that ends the subscription and closes the channel.
func (d *DB) Subscribe() (<-chan struct{}, func()) { return d.kv.Subscribe() }

// CleanShutdown says whether the database was closed in order before it was opened.
func (d *DB) CleanShutdown() bool { return d.kv.CleanShutdown() }

// RunGC keeps the files compact until the context ends, which is no error.
func (d *DB) RunGC(ctx context.Context) error { return d.kv.RunGC(ctx) }

// Close closes the database. Later calls return nil.
func (d *DB) Close() error { return d.kv.Close() }

func recordKey(id ID) []byte { return append([]byte{recordPrefix}, id[:]...) }

// slotKey puts the parts of a slot one after the other. The author's bytes come
// behind their length; topics, keys and writers hold no zero byte.
func slotKey(s slot) []byte {
	b := []byte{floorPrefix, byte(len(s.author))}
	b = append(b, s.author...)
	b = append(b, s.topic.String()...)
	b = append(b, 0)
	b = append(b, s.key...)
	if s.writer == "" {
		return b
	}
	b = append(b, 0)
	return append(b, s.writer...)
}
