package private

import (
	"bytes"
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
// none, in one transaction. The executions that they were made of go with them; the ID
// of an execution that is no run deletes that. Each ID is whole or its first digits, at least
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
			raw, err := findID(t, id)
			if err != nil {
				return err
			}
			gone[hex.EncodeToString(raw)] = true
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

// findID returns the only ID, of a run or an execution, that begins with the digits.
func findID(t *kv.Txn, id string) ([]byte, error) {
	digits := strings.ToLower(strings.TrimSpace(id))
	prefix, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil || len(digits) < MinIDDigits || len(digits) > 2*runIDSize || strings.Trim(digits, "0123456789abcdef") != "" {
		problem := fmt.Sprintf("must be at least %d hex digits of an ID, as runs list shows them: %q", MinIDDigits, id)
		return nil, &model.FieldError{Field: "id", Problem: problem}
	}
	var found []byte
	for _, kind := range []byte{runPrefix, executionPrefix} {
		err = t.EachKey(append([]byte{kind}, prefix...), func(key []byte) error {
			if !strings.HasPrefix(hex.EncodeToString(key[1:]), digits) {
				return nil
			}
			if found != nil && !bytes.Equal(found, key[1:]) {
				return &model.FieldError{Field: "id", Problem: fmt.Sprintf("%s begins the IDs of several runs; give more digits (runs list --json has all)", digits)}
			}
			found = slices.Clone(key[1:])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s; see `karasu runs list`", ErrNoRun, digits)
	}
	return found, nil
}

// deleteRun deletes a run and the execution that it was made of, or an execution that
// is none.
func deleteRun(t *kv.Txn, id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return fmt.Errorf("run ID: %w", err)
	}
	if err := deleteExecution(t, raw); err != nil {
		return err
	}
	r, err := storedRun(t, raw)
	if err != nil || r == nil {
		return err
	}
	return removeRun(t, raw, *r)
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
