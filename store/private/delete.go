package private

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// ErrNoRun says that no run has the ID asked for.
var ErrNoRun = errors.New("no such run")

// MinIDDigits is how many leading hex digits may stand for a run's ID.
const MinIDDigits = 8

// DeleteRuns deletes runs and takes them out of the searches that hold them, all or
// none, in one transaction. Each ID is whole or its first digits, at least
// [MinIDDigits], where no other run begins with them; the same one twice counts
// once. It says how many runs were deleted and how many searches held some of them.
// The error wraps model.ErrInvalid for what is no ID or begins several, and
// [ErrNoRun].
func (d *DB) DeleteRuns(ctx context.Context, ids []string) (runs, searches int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	if len(ids) > MaxBatch {
		return 0, 0, fmt.Errorf("%w: %d runs at once, at most %d", ErrTooLarge, len(ids), MaxBatch)
	}
	err = d.kv.Update(func(t *kv.Txn) error {
		gone := make(map[string]bool, len(ids))
		for _, id := range ids {
			key, err := findRun(t, id)
			if err != nil {
				return err
			}
			gone[hex.EncodeToString(key[1:])] = true
		}
		for id := range gone {
			if err := deleteRun(t, id); err != nil {
				return err
			}
		}
		runs = len(gone)
		searches, err = leaveSearches(t, gone)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if runs > 0 {
		d.kv.Notify()
	}
	return runs, searches, nil
}

// findRun returns the key of the only run whose ID begins with the digits.
func findRun(t *kv.Txn, id string) ([]byte, error) {
	digits := strings.ToLower(strings.TrimSpace(id))
	prefix, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil || len(digits) < MinIDDigits || len(digits) > 2*runIDSize || strings.Trim(digits, "0123456789abcdef") != "" {
		problem := fmt.Sprintf("must be at least %d hex digits of an ID, as runs list shows them: %q", MinIDDigits, id)
		return nil, &model.FieldError{Field: "id", Problem: problem}
	}
	var found []byte
	several := false
	err = t.EachKey(append([]byte{runPrefix}, prefix...), func(key []byte) error {
		if strings.HasPrefix(hex.EncodeToString(key[1:]), digits) {
			several = found != nil
			found = slices.Clone(key)
		}
		if several {
			return &model.FieldError{Field: "id", Problem: fmt.Sprintf("%s begins the IDs of several runs; give more digits (runs list --json has all)", digits)}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fmt.Errorf("%w: %s; see `karasu runs list`", ErrNoRun, digits)
	}
	return found, nil
}

func deleteRun(t *kv.Txn, id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return fmt.Errorf("run ID: %w", err)
	}
	key := append([]byte{runPrefix}, raw...)
	value, err := t.Get(key)
	if err != nil {
		return err
	}
	r, err := decodeRun(key, value)
	if err != nil {
		return err
	}
	for _, index := range indices(r, raw) {
		if err := t.Delete(index); err != nil {
			return err
		}
	}
	return t.Delete(key)
}

// leaveSearches rewrites the searches that hold runs which are gone and counts them.
func leaveSearches(t *kv.Txn, gone map[string]bool) (int, error) {
	changed := make(map[string][]byte)
	err := t.Each([]byte{searchPrefix}, func(key, value []byte) error {
		s, err := decodeSearch(key, value)
		if err != nil {
			return err
		}
		before := len(s.GetRuns())
		s.Runs = slices.DeleteFunc(s.Runs, func(r *karasuv1.Run) bool { return gone[r.GetId()] })
		if len(s.Runs) == before {
			return nil
		}
		changed[string(key)], err = proto.MarshalOptions{Deterministic: true}.Marshal(s)
		return err
	})
	var errs []error
	for key, value := range changed {
		errs = append(errs, t.Set([]byte(key), value))
	}
	return len(changed), errors.Join(append(errs, err)...)
}
