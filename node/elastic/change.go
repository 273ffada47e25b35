package elastic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

// Taken says what became of reports or events that are valid.
type Taken struct {
	// Taken are new, Repeated were taken before, Late are older than one taken before.
	// Those of the last two change nothing.
	Taken, Repeated, Late int
}

// News is what jobs report and what happened to them, each in the order of their times.
type News struct {
	Reports []elastic.Report
	Events  []elastic.Event
}

// Report takes what jobs report, as [Service.Take] does.
func (s *Service) Report(ctx context.Context, reports ...elastic.Report) (Taken, error) {
	return s.Take(ctx, News{Reports: reports})
}

// Notice takes what happened to jobs, as [Service.Take] does.
func (s *Service) Notice(ctx context.Context, events ...elastic.Event) (Taken, error) {
	return s.Take(ctx, News{Events: events})
}

// Take takes news, reports first. All are checked before the first is taken: one that is
// invalid (elastic.ErrInvalid), or of a job that is not kept (elastic.ErrUnknownJob),
// refuses them all. Once it returns they are on disk.
func (s *Service) Take(ctx context.Context, n News) (Taken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	jobs, err := s.check(now, n)
	if err != nil {
		return Taken{}, err
	}
	var out Taken
	err = s.change(ctx, jobs, func() error {
		for _, r := range n.Reports {
			if err := out.count(s.controller.Observe(now, r)); err != nil {
				return err
			}
		}
		for _, e := range n.Events {
			if err := out.count(s.controller.Notice(now, e)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Taken{}, err
	}
	return out, nil
}

// count sorts the controller's answer; what is left are errors.
func (t *Taken) count(err error) error {
	switch {
	case err == nil:
		t.Taken++
	case errors.Is(err, elastic.ErrDuplicate):
		t.Repeated++
	case errors.Is(err, elastic.ErrLate):
		t.Late++
	default:
		return err
	}
	return nil
}

// check returns the jobs that news are of.
func (s *Service) check(now time.Time, n News) (map[string]bool, error) {
	jobs := map[string]bool{}
	valid := func(i int, what string, id string, at time.Time, err error) error {
		if err == nil && at.Sub(now) > maxAhead {
			err = fmt.Errorf("job %q: time %s is ahead of %s: %w", model.Clip(id), at.Format(time.RFC3339), now.UTC().Format(time.RFC3339), elastic.ErrInvalid)
		}
		if err == nil {
			_, err = s.controller.Job(id)
		}
		jobs[id] = true
		if err != nil && len(n.Reports)+len(n.Events) > 1 {
			return fmt.Errorf("%s %d: %w", what, i+1, err)
		}
		return err
	}
	for i, r := range n.Reports {
		if err := valid(i, "report", r.Job, r.Time, r.Validate()); err != nil {
			return nil, err
		}
	}
	for i, e := range n.Events {
		if err := valid(i, "event", e.Job, e.Time, e.Validate()); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// maxAhead is how far in the future times may lie: the controller's bound.
const maxAhead = 10 * time.Minute

// change changes jobs and stores them, or leaves everything as it was.
func (s *Service) change(ctx context.Context, jobs map[string]bool, do func() error) error {
	before := make([]elastic.JobState, 0, len(jobs))
	ids := make([]string, 0, len(jobs))
	for id := range jobs {
		state, err := s.controller.Job(id)
		if err != nil {
			return err
		}
		before, ids = append(before, state), append(ids, id)
	}
	err := do()
	if err == nil {
		err = s.store(ctx, ids...)
	}
	if err == nil {
		return nil
	}
	for _, state := range before {
		_, forget := s.controller.Finish(state.Job.ID)
		err = errors.Join(err, forget, s.controller.RestoreJob(state))
	}
	return err
}

// Decide decides for one job now, with what the others leave of the cluster. The decision
// may be to change nothing. The error wraps elastic.ErrUnknownJob.
func (s *Service) Decide(ctx context.Context, id string) (elastic.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decide(ctx, id)
}

func (s *Service) decide(ctx context.Context, id string) (d elastic.Decision, err error) {
	err = s.change(ctx, map[string]bool{id: true}, func() error {
		d, err = s.controller.Decide(s.Now(), id, s.Cluster)
		return err
	})
	if err != nil {
		return elastic.Decision{}, err
	}
	return d, nil
}

// Plan returns the last decision for a job that runs, or a new one where that is older than
// [Interval] or something happened since. Its plan is what the job should run on.
func (s *Service) Plan(ctx context.Context, id string) (elastic.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := s.controller.Job(id)
	if err != nil {
		return elastic.Decision{}, err
	}
	last := state.LastDecision
	urgent := state.Workers.Exceeded || state.Servers.Exceeded
	if !urgent && s.Now().Sub(last.Time) < Interval {
		return last, nil
	}
	return s.decide(ctx, id)
}

// Allocate decides for all jobs together, one decision a job by ID.
func (s *Service) Allocate(ctx context.Context) (out []elastic.Decision, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := map[string]bool{}
	for id := range s.stored {
		jobs[id] = true
	}
	err = s.change(ctx, jobs, func() error {
		out, err = s.controller.Allocate(s.Now(), s.Cluster)
		return err
	})
	return out, err
}

// Run decides for all jobs every [Interval] and ends those that fell silent, until the
// context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.Tick(ctx); err != nil && ctx.Err() == nil {
				s.Logger.ErrorContext(ctx, "training jobs", "error", err)
			}
		}
	}
}

// Tick is one round of [Service.Run].
func (s *Service) Tick(ctx context.Context) error {
	if err := s.endSilent(ctx); err != nil {
		return err
	}
	decisions, err := s.Allocate(ctx)
	for _, d := range decisions {
		if err == nil && d.Changes() {
			s.Logger.InfoContext(ctx, "decided", "job", d.Job, "number", d.Number, "kind", string(d.Kind), "reason", d.Reason)
		}
	}
	return err
}

// endSilent finishes jobs that have not reported for too long.
func (s *Service) endSilent(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.controller.State().Jobs {
		heard := state.Started
		if state.Last != nil && state.Last.Time.After(heard) {
			heard = state.Last.Time
		}
		if s.Now().Sub(heard) < Silence {
			continue
		}
		if _, err := s.finish(ctx, state.Job.ID, s.Now()); err != nil {
			return err
		}
		s.Logger.InfoContext(ctx, "a training job fell silent and counts as finished", "job", state.Job.ID, "last", heard)
	}
	return nil
}
