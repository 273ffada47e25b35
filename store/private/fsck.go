package private

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// Report is what [Fsck] found.
type Report = kv.Report

// ErrNoDatabase says that a directory holds no database.
var ErrNoDatabase = kv.ErrNoDatabase

// Fsck checks the database in dir and changes nothing: it reads every byte,
// decodes and validates every run, search and execution, and compares the indices with
// the runs and the runs with the executions. An error says that there was nothing to check ([ErrNoDatabase],
// [ErrInUse]); what is wrong is in the report, which holds private names.
func Fsck(ctx context.Context, dir string) (*Report, error) {
	// An index key is wanted by a run, found, or both.
	const wanted, found = 1, 2
	index := make(map[string]int)
	executions := newExecutionCheck()
	defer executions.close()
	var pack packer
	defer pack.close()
	return kv.Fsck(ctx, dir, kind, func(r *Report, key, payload []byte) {
		switch key[0] {
		case runPrefix:
			if len(key) != 1+runIDSize {
				r.Problemf("run under key %x", key)
				return
			}
			run, err := decodeRun(key, payload)
			if err != nil {
				r.Problemf("%v", err)
				return
			}
			executions.run(key[1:])
			for _, k := range indices(run, key[1:]) {
				index[string(k)] |= wanted
			}
		case topicPrefix, jobPrefix:
			index[string(key)] |= found
		case searchPrefix:
			s, err := decodeSearch(key, payload)
			if err == nil {
				_, err = checkSearch(s)
			}
			if err != nil {
				r.Problemf("%v", err)
			}
		case attemptPrefix:
			executions.attempt(r, key)
		case executionPrefix:
			executions.head(r, key, payload)
		case graphPrefix:
			executions.part(r, key, payload)
		case retractedPrefix:
			if _, _, err := parseRetracted(key); err != nil {
				r.Problemf("%v", err)
			}
		case watchPrefix:
			if _, err := decodeWatched(key, payload); err != nil {
				r.Problemf("%v", err)
			}
		case elasticPrefix:
			if _, err := pack.decodeElastic(key, payload); err != nil {
				r.Problemf("%v", err)
			}
		case secretKey[0]:
			if string(key) != secretKey || len(payload) != SecretSize {
				r.Problemf("secret of %d bytes under key %q", len(payload), key)
			}
		default:
			r.Problemf("unknown key %q", key)
		}
	}, func(r *Report) {
		executions.done(r)
		for _, k := range slices.Sorted(maps.Keys(index)) {
			id := hex.EncodeToString([]byte(k[max(0, len(k)-runIDSize):]))
			switch index[k] {
			case wanted:
				r.Problemf("run %s is missing from index %q", id, k[:1])
			case found:
				r.Problemf("index %q names run %s, which is not stored", k[:1], id)
			}
		}
	})
}
