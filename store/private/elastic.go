package private

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// elasticPrefix and a byte for what it is, then: of a training job that runs its ID; of one
// that has finished the time in milliseconds (big endian) and the ID. Values are packed JSON.
const (
	elasticPrefix   = 'l'
	elasticRunning  = 'r'
	elasticFinished = 'f'
)

const (
	// MaxElasticJob bounds what is stored of a job in bytes, packed: it has to fit into a
	// transaction. States of jobs with hundreds of pods have some 20 KB.
	MaxElasticJob = 512 << 10
	// elasticBatch is how many bytes of jobs are stored in one transaction.
	elasticBatch = 1 << 20
)

// ElasticJob is a training job and what is known of it, as JSON that the store does not
// look into.
type ElasticJob struct {
	ID    string
	State json.RawMessage
}

// PutElasticJobs stores the states of jobs that run, each in place of the one before. Where
// it fails, some of them may be stored. The error wraps [ErrTooLarge] or model.ErrInvalid.
func (d *DB) PutElasticJobs(ctx context.Context, jobs ...ElasticJob) error {
	values := make([][]byte, len(jobs))
	var p packer
	defer p.close()
	for i, j := range jobs {
		v, err := p.elastic(j)
		if err != nil {
			return err
		}
		values[i] = v
	}
	for from := 0; from < len(jobs); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to, size := from, 0
		for to < len(jobs) && (to == from || size+len(values[to]) <= elasticBatch) {
			size += len(values[to]) + len(jobs[to].ID)
			to++
		}
		err := d.kv.Update(func(t *kv.Txn) error {
			for i := from; i < to; i++ {
				if err := t.Set(runningKey(jobs[i].ID), values[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// FinishElasticJob takes a job from those that run to those that have finished, in one
// transaction, and forgets the oldest of these where there are more than keep. It signals
// a change.
func (d *DB) FinishElasticJob(ctx context.Context, at time.Time, j ElasticJob, keep int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var p packer
	value, err := p.elastic(j)
	if err != nil {
		return err
	}
	err = d.kv.Update(func(t *kv.Txn) error {
		var old [][]byte
		prefix := []byte{elasticPrefix, elasticFinished}
		if err := t.EachKey(prefix, func(key []byte) error { old = append(old, key); return nil }); err != nil {
			return err
		}
		for i := 0; i <= len(old)-keep; i++ {
			if err := t.Delete(old[i]); err != nil {
				return err
			}
		}
		if err := t.Delete(runningKey(j.ID)); err != nil {
			return err
		}
		return t.Set(finishedKey(at, j.ID), value)
	})
	if err == nil {
		d.kv.Notify()
	}
	return err
}

// ElasticJobs returns the jobs that run, by ID, or those that have finished, the first to
// finish first.
func (d *DB) ElasticJobs(ctx context.Context, finished bool) ([]ElasticJob, error) {
	var p packer
	defer p.close()
	prefix := []byte{elasticPrefix, elasticRunning}
	if finished {
		prefix[1] = elasticFinished
	}
	var out []ElasticJob
	err := d.kv.View(func(t *kv.Txn) error {
		return t.Each(prefix, func(key, value []byte) error {
			j, err := p.decodeElastic(key, value)
			if err != nil {
				return err
			}
			out = append(out, j)
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func runningKey(id string) []byte { return append([]byte{elasticPrefix, elasticRunning}, id...) }

func finishedKey(at time.Time, id string) []byte {
	key := binary.BigEndian.AppendUint64([]byte{elasticPrefix, elasticFinished}, uint64(max(at.UnixMilli(), 0)))
	return append(key, id...)
}

// elastic packs a job's state.
func (p *packer) elastic(j ElasticJob) ([]byte, error) {
	if j.ID == "" || len(j.ID) > model.MaxName {
		return nil, fmt.Errorf("training job: %w", &model.FieldError{Field: "id", Problem: fmt.Sprintf("must have 1 to %d bytes", model.MaxName)})
	}
	if len(j.State) > maxUnpacked {
		return nil, fmt.Errorf("%w: training job %q of %d bytes, at most %d", ErrTooLarge, model.Clip(j.ID), len(j.State), maxUnpacked)
	}
	value, err := p.pack(j.State)
	if err == nil && len(value) > MaxElasticJob {
		err = fmt.Errorf("%w: training job %q of %d bytes, at most %d", ErrTooLarge, model.Clip(j.ID), len(value), MaxElasticJob)
	}
	return value, err
}

// decodeElastic reverses key and value of a job.
func (p *packer) decodeElastic(key, value []byte) (ElasticJob, error) {
	head := 2
	if len(key) > 1 && key[1] == elasticFinished {
		head += 8
	}
	if len(key) <= head || key[1] != elasticRunning && key[1] != elasticFinished {
		return ElasticJob{}, fmt.Errorf("%w: training job under key %q", ErrCorrupt, key)
	}
	state, err := p.unpack(value)
	if err == nil && !json.Valid(state) {
		err = fmt.Errorf("%w: no JSON", ErrCorrupt)
	}
	if err != nil {
		return ElasticJob{}, fmt.Errorf("training job under key %q: %w", key, err)
	}
	return ElasticJob{ID: string(key[head:]), State: state}, nil
}
