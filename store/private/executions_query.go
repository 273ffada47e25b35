package private

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
	"github.com/karasu-project/karasu/store/internal/measure"
	"github.com/karasu-project/karasu/store/wire"
)

// EachExecution calls fn with every execution without its graph, in order of ID. An
// attempt that a later one followed has failed.
func (d *DB) EachExecution(ctx context.Context, fn func(StoredExecution) error) error {
	var p packer
	defer p.close()
	return d.kv.View(func(t *kv.Txn) error {
		return t.Each([]byte{executionPrefix}, func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			head, err := decodeHead(&p, key[1:], value)
			if err != nil {
				return err
			}
			e, err := wire.ToExecution(head.GetExecution())
			if err != nil {
				return fmt.Errorf("%w: execution %x: %w", ErrCorrupt, key[1:], err)
			}
			_, superseded, err := otherAttempts(t, head.GetExecution(), key[1:])
			if err != nil {
				return err
			}
			if superseded {
				e.Outcome = model.Failed
			}
			return fn(StoredExecution{e, toHints(head.GetHints()), hex.EncodeToString(key[1:]), head.GetRun()})
		})
	})
}

// CountExecutions counts executions, and those of them that are no run.
func (d *DB) CountExecutions(ctx context.Context) (all, unmatched int, err error) {
	err = d.kv.View(func(t *kv.Txn) error {
		return t.EachKey([]byte{executionPrefix}, func(key []byte) error {
			run, err := t.Has(append([]byte{runPrefix}, key[1:]...))
			all++
			if !run {
				unmatched++
			}
			return errors.Join(err, ctx.Err())
		})
	})
	return all, unmatched, err
}

// GetExecution returns an execution with its graph, by the ID of its run or the first
// digits of it, as for [DB.DeleteRuns]. The error wraps [ErrNoExecution],
// [ErrNoRun] or model.ErrInvalid.
func (d *DB) GetExecution(ctx context.Context, id string) (StoredExecution, error) {
	if err := ctx.Err(); err != nil {
		return StoredExecution{}, err
	}
	var p packer
	defer p.close()
	var out StoredExecution
	err := d.kv.View(func(t *kv.Txn) error {
		raw, err := findID(t, id)
		if err != nil {
			return err
		}
		head, err := getHead(t, &p, raw)
		if err != nil {
			return err
		}
		m := head.GetExecution()
		if m.Graph, err = getGraph(t, &p, raw, head.GetParts()); err != nil {
			return err
		}
		e, err := wire.ToExecution(m)
		if err != nil {
			return fmt.Errorf("%w: execution %x: %w", ErrCorrupt, raw, err)
		}
		out = StoredExecution{e, toHints(head.GetHints()), hex.EncodeToString(raw), head.GetRun()}
		return nil
	})
	return out, err
}

// GetRun returns a run by its ID or the first digits of it. The error wraps [ErrNoRun]
// or model.ErrInvalid.
func (d *DB) GetRun(ctx context.Context, id string) (model.Run, error) {
	if err := ctx.Err(); err != nil {
		return model.Run{}, err
	}
	var out model.Run
	err := d.kv.View(func(t *kv.Txn) error {
		raw, err := findID(t, id)
		if err != nil {
			return err
		}
		r, err := storedRun(t, raw)
		if err != nil {
			return err
		}
		if r == nil {
			return fmt.Errorf("%w: %s is an execution that is no run; see `karasu workloads --unmatched`", ErrNoRun, id)
		}
		out = *r
		return nil
	})
	return out, err
}

func getGraph(t *kv.Txn, p *packer, id []byte, parts uint32) (*karasuv1.StageGraph, error) {
	if parts == 0 {
		return nil, nil
	}
	var value []byte
	for i := range parts {
		part, err := t.Get(graphKey(id, i))
		if errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("%w: stages of execution %x lack part %d of %d", ErrCorrupt, id, i+1, parts)
		}
		if err != nil {
			return nil, err
		}
		value = append(value, part...)
	}
	raw, err := p.unpack(value)
	if err != nil {
		return nil, fmt.Errorf("stages of execution %x: %w", id, err)
	}
	var g karasuv1.StageGraph
	if err := proto.Unmarshal(raw, &g); err != nil {
		return nil, fmt.Errorf("%w: stages of execution %x: %w", ErrCorrupt, id, err)
	}
	return &g, nil
}

// Renamed counts what [DB.Rename] did.
type Renamed struct {
	// Executions there are, and Runs that they are now.
	Executions, Runs int
	// Runs that were added, that changed, and that are gone.
	Added, Changed, Removed int
}

// Rename names every execution anew, each in a transaction of its own: a run moves to
// its new workload, comes, goes or stays.
func (d *DB) Rename(ctx context.Context, name Namer) (Renamed, error) {
	var out Renamed
	var ids [][]byte
	err := d.kv.View(func(t *kv.Txn) error {
		return t.EachKey([]byte{executionPrefix}, func(key []byte) error {
			ids = append(ids, slices.Clone(key[1:]))
			return ctx.Err()
		})
	})
	if err != nil {
		return out, err
	}
	var p packer
	defer p.close()
	defer func() {
		if out.Added+out.Changed+out.Removed > 0 {
			d.kv.Notify()
		}
	}()
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if err := d.rename(id, &p, name, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// errKeep ends a transaction that has nothing to write.
var errKeep = errors.New("nothing changed")

func (d *DB) rename(id []byte, p *packer, name Namer, out *Renamed) error {
	var had, has, changed bool
	gone := false
	once := func(t *kv.Txn) error {
		had, has, changed, gone = false, false, false, false
		head, err := getHead(t, p, id)
		if errors.Is(err, ErrNoExecution) { // deleted meanwhile
			gone = true
			return errKeep
		}
		if err != nil {
			return err
		}
		had = head.GetRun()
		var put Put
		if changed, err = place(t, id, head, name, &put); err != nil {
			return err
		}
		has = put.Run != nil
		if !changed && had == has {
			return errKeep
		}
		return setHead(t, p, id, head)
	}
	if err := d.kv.Update(once); err != nil && !errors.Is(err, errKeep) {
		return err
	}
	if gone {
		return nil
	}
	out.Executions++
	if has {
		out.Runs++
	}
	switch {
	case has && !had:
		out.Added++
	case had && !has:
		out.Removed++
	case changed:
		out.Changed++
	}
	return nil
}

// AttachMetrics sets the utilisation that is measured in stored runs and leaves the rest
// as it is, all or none. IDs are as for [DB.DeleteRuns].
func (d *DB) AttachMetrics(ctx context.Context, metrics map[string]model.Metrics) (updated, unchanged int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	if len(metrics) > MaxBatch {
		return 0, 0, fmt.Errorf("%w: %d runs at once, at most %d", ErrTooLarge, len(metrics), MaxBatch)
	}
	var p packer
	defer p.close()
	err = d.kv.Update(func(t *kv.Txn) error {
		updated, unchanged = 0, 0
		for prefix, m := range metrics {
			if err := m.Validate(); err != nil {
				return fmt.Errorf("run %s: %w", prefix, err)
			}
			id, err := findID(t, prefix)
			if err != nil {
				return err
			}
			old, err := storedRun(t, id)
			if err != nil {
				return err
			}
			if old == nil {
				return fmt.Errorf("%w: %s is an execution that no rule names", ErrNoRun, prefix)
			}
			if err := attach(t, &p, id, m); err != nil {
				return err
			}
			r := *old
			if r.Metrics = mergeMetrics(m, old.Metrics); sameRun(*old, r) {
				unchanged++
				continue
			}
			updated++
			if err := replaceRun(t, id, old, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	if updated > 0 {
		d.kv.Notify()
	}
	return updated, unchanged, nil
}

// attach keeps the utilisation with the run's execution, if there is one, so that it
// stays when the run is made anew.
func attach(t *kv.Txn, p *packer, id []byte, m model.Metrics) error {
	head, err := getHead(t, p, id)
	if errors.Is(err, ErrNoExecution) {
		return nil
	}
	if err != nil {
		return err
	}
	head.Attached = measure.ToProto(mergeMetrics(m, measure.FromProto(head.GetAttached())))
	return setHead(t, p, id, head)
}
