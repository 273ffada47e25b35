package private

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
	"github.com/karasu-project/karasu/store/wire"
)

// MaxSearch bounds a stored search in bytes: thousands of reported runs.
const MaxSearch = 1 << 20

// PutSearch stores a search under its job's name, in place of the one before, and
// with it runs (such as the one just reported), all or nothing. The workload is
// stored normalised. The error wraps model.ErrInvalid or [ErrTooLarge].
func (d *DB) PutSearch(ctx context.Context, s *karasuv1.Search, runs ...model.Run) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := checkSearch(s)
	if err != nil {
		return err
	}
	clean, err := validate(runs)
	if err != nil {
		return err
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return fmt.Errorf("search: %w: %w", model.ErrInvalid, err)
	}
	if len(value) > MaxSearch {
		return fmt.Errorf("%w: search of %d bytes, at most %d", ErrTooLarge, len(value), MaxSearch)
	}
	err = d.kv.Update(func(t *kv.Txn) error {
		if _, err := addRuns(t, clean); err != nil {
			return err
		}
		return t.Set(searchKey(s.GetSettings().GetWorkload().GetJob()), value)
	})
	if err != nil {
		return err
	}
	d.kv.Notify()
	return nil
}

// checkSearch returns a copy with the workload normalised and the runs checked.
func checkSearch(s *karasuv1.Search) (*karasuv1.Search, error) {
	w, err := wire.ToWorkload(s.GetSettings().GetWorkload())
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if w.Job == "" {
		return nil, fmt.Errorf("search: %w", &model.FieldError{Field: "job", Problem: "is missing"})
	}
	s = proto.CloneOf(s)
	s.Settings.Workload = wire.FromWorkload(w)
	for i, m := range s.GetRuns() {
		r, err := wire.ToRun(m)
		if err != nil {
			return nil, fmt.Errorf("search: run %d: %w", i+1, err)
		}
		s.Runs[i] = wire.FromRun(r)
	}
	if _, err := wire.ToTime("created", s.GetCreatedUnixMillis()); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return s, nil
}

// GetSearch returns the search of a job. The error wraps [ErrNotFound].
func (d *DB) GetSearch(ctx context.Context, job string) (*karasuv1.Search, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var s *karasuv1.Search
	err := d.kv.View(func(t *kv.Txn) error {
		key := searchKey(job)
		value, err := t.Get(key)
		if errors.Is(err, ErrNotFound) {
			return noSearch(job)
		}
		if err != nil {
			return err
		}
		s, err = decodeSearch(key, value)
		return err
	})
	return s, err
}

// ListSearches returns all searches by name of job.
func (d *DB) ListSearches(ctx context.Context) ([]*karasuv1.Search, error) {
	var out []*karasuv1.Search
	err := d.kv.View(func(t *kv.Txn) error {
		return t.Each([]byte{searchPrefix}, func(key, value []byte) error {
			s, err := decodeSearch(key, value)
			if err != nil {
				return err
			}
			out = append(out, s)
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// DeleteSearch forgets the search of a job; runs stay. The error wraps [ErrNotFound].
func (d *DB) DeleteSearch(ctx context.Context, job string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.kv.Update(func(t *kv.Txn) error {
		present, err := t.Has(searchKey(job))
		if err != nil {
			return err
		}
		if !present {
			return noSearch(job)
		}
		return t.Delete(searchKey(job))
	})
	if err != nil {
		return err
	}
	d.kv.Notify()
	return nil
}

func noSearch(job string) error {
	return fmt.Errorf("%w: search for job %q", ErrNotFound, model.NormalizeName(job))
}

func searchKey(job string) []byte {
	return append([]byte{searchPrefix}, model.NormalizeName(job)...)
}

func decodeSearch(key, value []byte) (*karasuv1.Search, error) {
	var s karasuv1.Search
	if err := proto.Unmarshal(value, &s); err != nil {
		return nil, fmt.Errorf("%w: search %q: %w", ErrCorrupt, key[1:], err)
	}
	if job := s.GetSettings().GetWorkload().GetJob(); string(searchKey(job)) != string(key) {
		return nil, fmt.Errorf("%w: search for %q is stored as %q", ErrCorrupt, job, key[1:])
	}
	return &s, nil
}
