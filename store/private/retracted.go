package private

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// retractedPrefix, a byte for what it is and its name say what the user took back from
// sharing.
const (
	retractedPrefix = 'x'
	retractedJob    = 'j'
	retractedTopic  = 't'
)

// maxRetracted bounds a name in bytes, and how many there are.
const (
	maxRetractedName = 1024
	maxRetracted     = 100_000
)

// Retracted is what the user took back from sharing, and what must not leave until it is
// let. Both are sorted.
type Retracted struct {
	// Jobs by name, and topics by pattern.
	Jobs, Topics []string
}

// Retracted returns what is taken back.
func (d *DB) Retracted(ctx context.Context) (Retracted, error) {
	var out Retracted
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err := d.kv.View(func(t *kv.Txn) error {
		return t.EachKey([]byte{retractedPrefix}, func(key []byte) error {
			name, job, err := parseRetracted(key)
			switch {
			case err != nil:
				return err
			case job:
				out.Jobs = append(out.Jobs, name)
			default:
				out.Topics = append(out.Topics, name)
			}
			return nil
		})
	})
	slices.Sort(out.Jobs)
	slices.Sort(out.Topics)
	return out, err
}

// Retract takes back a job or, if that is empty, a topic pattern, and says whether that
// changed anything; undo lets it leave again.
func (d *DB) Retract(ctx context.Context, job, topic string, undo bool) (changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	key := append([]byte{retractedPrefix, retractedTopic}, topic...)
	if job != "" {
		key = append([]byte{retractedPrefix, retractedJob}, job...)
	}
	if _, _, err := parseRetracted(key); err != nil {
		return false, fmt.Errorf("retract: a name must be 1 to %d bytes of UTF-8", maxRetractedName)
	}
	err = d.kv.Update(func(t *kv.Txn) error {
		known, err := t.Has(key)
		changed = err == nil && known == undo
		switch {
		case err != nil || !changed:
			return err
		case undo:
			return t.Delete(key)
		}
		n := 0
		if err := t.EachKey([]byte{retractedPrefix}, func([]byte) error { n++; return nil }); err != nil {
			return err
		}
		if n >= maxRetracted {
			return fmt.Errorf("retract: %d names are retracted already; a topic pattern takes many at once", n)
		}
		return t.Set(key, []byte{1})
	})
	return changed && err == nil, err
}

// parseRetracted reverses the key of a retraction.
func parseRetracted(key []byte) (name string, job bool, err error) {
	if len(key) < 3 || len(key) > 2+maxRetractedName || key[0] != retractedPrefix ||
		key[1] != retractedJob && key[1] != retractedTopic || !utf8.Valid(key) {
		return "", false, fmt.Errorf("%w: retraction under key %q", ErrCorrupt, key)
	}
	return string(key[2:]), key[1] == retractedJob, nil
}
