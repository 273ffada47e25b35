package elastic

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/karasu-project/karasu/optimizer/elastic"
	"github.com/karasu-project/karasu/store/private"
)

// fingerprint tells states apart.
type fingerprint [sha256.Size]byte

// store puts jobs on disk that differ from what is there. A decision that changes nothing is
// no difference: it would be written for every job at every interval.
func (s *Service) store(ctx context.Context, ids ...string) error {
	var changed []private.ElasticJob
	prints := map[string]fingerprint{}
	for _, id := range ids {
		state, err := s.controller.Job(id)
		if err != nil {
			return err
		}
		// What could not be read again must not be written.
		if err := state.Validate(); err != nil {
			return err
		}
		raw, print, err := encode(state)
		if err != nil {
			return err
		}
		if s.stored[id] != print {
			changed = append(changed, private.ElasticJob{ID: id, State: raw})
			prints[id] = print
		}
	}
	if len(changed) == 0 {
		return ctx.Err()
	}
	if err := s.Store.PutElasticJobs(ctx, changed...); err != nil {
		// Some may be there, and then differ from what is known: the next change stores them.
		for id := range prints {
			if _, ok := s.stored[id]; ok {
				s.stored[id] = fingerprint{}
			}
		}
		return err
	}
	for id, print := range prints {
		s.stored[id] = print
	}
	return nil
}

func encode(state elastic.JobState) ([]byte, fingerprint, error) {
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, fingerprint{}, fmt.Errorf("job %q: %w", state.Job.ID, err)
	}
	if state.LastDecision.Kind == elastic.None {
		state.LastDecision = elastic.Decision{}
	}
	print, err := json.Marshal(state)
	return raw, sha256.Sum256(print), err
}

func (s *Service) storeFinished(ctx context.Context, f Finished) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("job %q: %w", f.State.Job.ID, err)
	}
	return s.Store.FinishElasticJob(ctx, f.At, private.ElasticJob{ID: f.State.Job.ID, State: raw}, MaxFinished)
}

// restore reads what the store holds.
func (s *Service) restore(ctx context.Context) error {
	jobs, err := s.Store.ElasticJobs(ctx, false)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		var state elastic.JobState
		if err := decode(j, &state, func() (string, error) { return state.Job.ID, state.Validate() }); err != nil {
			return err
		}
		if err := s.controller.RestoreJob(state); err != nil {
			return err
		}
		_, s.stored[j.ID], err = encode(state)
		if err != nil {
			return err
		}
	}
	jobs, err = s.Store.ElasticJobs(ctx, true)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		var f Finished
		if err := decode(j, &f, func() (string, error) {
			if f.Summary.Reports == 0 {
				return f.State.Job.ID, nil
			}
			return f.State.Job.ID, f.Summary.Validate()
		}); err != nil {
			return err
		}
		s.finished = append(s.finished, f)
	}
	return nil
}

// decode reads a stored value, which must be valid and of the job that its key names.
func decode(j private.ElasticJob, into any, check func() (id string, err error)) error {
	err := json.Unmarshal(j.State, into)
	if err == nil {
		var id string
		if id, err = check(); err == nil && id != j.ID {
			err = fmt.Errorf("it is of job %q", id)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: training job %q: %w", private.ErrCorrupt, j.ID, err)
	}
	return nil
}
