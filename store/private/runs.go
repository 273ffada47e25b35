package private

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
	"github.com/karasu-project/karasu/store/wire"
)

// MaxBatch bounds the runs that are stored at once. They go to disk in one
// transaction of 2 MiB, which has room for so many unless names are very long.
const MaxBatch = 2000

// Filter selects runs; the zero value selects all.
type Filter struct {
	// Job selects the runs of one job; empty is any.
	Job string
	// Topic selects the runs of one topic; nil is any.
	Topic *model.Topic
}

// WorkloadCount counts the runs of one workload.
type WorkloadCount struct {
	// Workload's input size is the median over its runs where it is known; arguments
	// are left out, since they may differ between runs.
	Workload            model.Workload
	OK, Failed, Timeout int
}

// Runs is the count of all outcomes.
func (w WorkloadCount) Runs() int { return w.OK + w.Failed + w.Timeout }

// AddRuns stores runs, all or none, and says how many were new and how many were
// stored already (or are in the batch twice). Every run must name its job. The
// error wraps model.ErrInvalid and says which run is invalid, or [ErrTooLarge].
func (d *DB) AddRuns(ctx context.Context, runs []model.Run) (added, unchanged int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	clean, err := validate(runs)
	if err != nil {
		return 0, 0, err
	}
	err = d.kv.Update(func(t *kv.Txn) error {
		added, err = addRuns(t, clean)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if added > 0 {
		d.kv.Notify()
	}
	return added, len(runs) - added, nil
}

// validate returns the runs normalised.
func validate(runs []model.Run) ([]model.Run, error) {
	if len(runs) > MaxBatch {
		return nil, fmt.Errorf("%w: %d runs at once, at most %d", ErrTooLarge, len(runs), MaxBatch)
	}
	clean := slices.Clone(runs)
	for i := range clean {
		r := &clean[i]
		r.Workload = r.Workload.Normalize()
		err := r.Validate()
		if err == nil && r.Workload.Job == "" {
			err = &model.FieldError{Field: "job", Problem: "is missing"}
		}
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, len(runs), err)
		}
	}
	return clean, nil
}

func addRuns(t *kv.Txn, runs []model.Run) (added int, err error) {
	for _, r := range runs {
		m := wire.FromRun(r)
		id, err := hex.DecodeString(m.GetId())
		if err != nil {
			return 0, fmt.Errorf("run ID: %w", err)
		}
		key := append([]byte{runPrefix}, id...)
		present, err := t.Has(key)
		if err != nil {
			return 0, err
		}
		if present {
			continue
		}
		m.Id = "" // the key holds it
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return 0, fmt.Errorf("run %x: %w", id, err)
		}
		if err := t.Set(key, value); err != nil {
			return 0, err
		}
		for _, index := range indices(r, id) {
			if err := t.Set(index, nil); err != nil {
				return 0, err
			}
		}
		added++
	}
	return added, nil
}

// indices are the keys that lead to a run.
func indices(r model.Run, id []byte) [][]byte {
	tail := append(binary.BigEndian.AppendUint64(nil, order(r)), id...)
	return [][]byte{
		append(indexPrefix(topicPrefix, r.Workload.Topic().String()), tail...),
		append(indexPrefix(jobPrefix, r.Workload.Job), tail...),
	}
}

// indexPrefix ends in a zero byte, which neither topics nor jobs hold.
func indexPrefix(kind byte, name string) []byte {
	return append(append([]byte{kind}, name...), 0)
}

// order maps the start to a number that sorts alike as big-endian bytes; unknown
// comes first. Validated starts are after 1990.
func order(r model.Run) uint64 { return uint64(wire.FromTime(r.Start)) }

const runIDSize = 16

// Runs returns the runs that the filter selects, by start and then ID; unknown
// starts come first.
func (d *DB) Runs(ctx context.Context, f Filter) ([]model.Run, error) {
	type stored struct {
		id    string
		start uint64
		run   model.Run
	}
	var found []stored
	err := d.kv.View(func(t *kv.Txn) error {
		return eachRun(ctx, t, f, func(id []byte, r model.Run) { found = append(found, stored{string(id), order(r), r}) })
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b stored) int {
		return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.id, b.id))
	})
	var runs []model.Run
	for _, s := range found {
		runs = append(runs, s.run)
	}
	return runs, nil
}

func eachRun(ctx context.Context, t *kv.Txn, f Filter, fn func(id []byte, r model.Run)) error {
	job := model.NormalizeName(f.Job)
	each := func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := decodeRun(key, value)
		if err != nil {
			return err
		}
		if (job == "" || r.Workload.Job == job) && (f.Topic == nil || r.Workload.Topic() == *f.Topic) {
			fn(key[1:], r)
		}
		return nil
	}
	var index []byte
	switch {
	case job != "":
		index = indexPrefix(jobPrefix, job)
	case f.Topic != nil:
		index = indexPrefix(topicPrefix, f.Topic.String())
	default:
		return t.Each([]byte{runPrefix}, each)
	}
	return t.EachKey(index, func(key []byte) error {
		if len(key) != len(index)+8+runIDSize {
			return fmt.Errorf("%w: index key %q", ErrCorrupt, key)
		}
		run := append([]byte{runPrefix}, key[len(key)-runIDSize:]...)
		value, err := t.Get(run)
		if err != nil {
			return err
		}
		return each(run, value)
	})
}

// decodeRun reads a stored run, which must have the ID of its key.
func decodeRun(key, value []byte) (model.Run, error) {
	var m karasuv1.Run
	if err := proto.Unmarshal(value, &m); err != nil {
		return model.Run{}, fmt.Errorf("%w: run %x: %w", ErrCorrupt, key[1:], err)
	}
	r, err := wire.ToRun(&m)
	if err != nil {
		return model.Run{}, fmt.Errorf("%w: run %x: %w", ErrCorrupt, key[1:], err)
	}
	if id := hex.EncodeToString(key[1:]); r.ID() != id {
		return model.Run{}, fmt.Errorf("%w: run %s is stored as %s", ErrCorrupt, r.ID(), id)
	}
	return r, nil
}

// CountRuns returns the number of stored runs.
func (d *DB) CountRuns(ctx context.Context) (int, error) {
	n := 0
	err := d.kv.View(func(t *kv.Txn) error {
		return t.EachKey([]byte{runPrefix}, func([]byte) error {
			n++
			return ctx.Err()
		})
	})
	return n, err
}

// Workloads counts runs by workload, in order of topic, job and data set.
func (d *DB) Workloads(ctx context.Context) ([]WorkloadCount, error) {
	counts := make(map[string]*WorkloadCount)
	sizes := make(map[string][]float64)
	err := d.kv.View(func(t *kv.Txn) error {
		return eachRun(ctx, t, Filter{}, func(_ []byte, r model.Run) {
			id := r.Workload.Identity()
			c := counts[id]
			if c == nil {
				c = &WorkloadCount{Workload: r.Workload}
				c.Workload.Arguments = nil
				counts[id] = c
			}
			if r.Workload.InputBytes > 0 {
				sizes[id] = append(sizes[id], r.Workload.InputBytes)
			}
			switch r.Outcome {
			case model.OK:
				c.OK++
			case model.Failed:
				c.Failed++
			case model.Timeout:
				c.Timeout++
			}
		})
	})
	if err != nil {
		return nil, err
	}
	out := make([]WorkloadCount, 0, len(counts))
	for id, c := range counts {
		c.Workload.InputBytes = median(sizes[id])
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b WorkloadCount) int {
		x, y := a.Workload, b.Workload
		return cmp.Or(strings.Compare(x.Infrastructure, y.Infrastructure), strings.Compare(x.Framework, y.Framework),
			strings.Compare(x.Algorithm, y.Algorithm), strings.Compare(x.Job, y.Job), strings.Compare(x.Dataset, y.Dataset))
	})
	return out, nil
}

// median returns the lower median, which was measured; 0 of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
