package elastic

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

// Controller decides for the jobs that it keeps. It is safe for concurrent use.
type Controller struct {
	policy Policy

	mu   sync.Mutex
	jobs map[string]*running
}

// running is a job's state and what follows from it.
type running struct {
	JobState
	sizes  []int
	ladder *throughput.Ladder
	// belief from the reports, believed - 1 of them; 0 is not made yet.
	belief   throughput.Belief
	believed int
	// logs are the log speeds of the sizes under it, up to a constant.
	logs []float64
}

// maxAhead is how far in the future times may lie: clocks differ.
const maxAhead = 10 * time.Minute

// New returns a controller without jobs.
func New(p Policy) (*Controller, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Controller{policy: p, jobs: map[string]*running{}}, nil
}

// Restore returns a controller that goes on from a state.
func Restore(p Policy, s State) (*Controller, error) {
	c, err := New(p)
	if err != nil {
		return nil, err
	}
	for _, j := range s.Jobs {
		if err := c.RestoreJob(j); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// RestoreJob goes on with one job from its state.
func (c *Controller) RestoreJob(s JobState) error {
	if err := s.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(&running{JobState: s.clone()})
}

// add keeps a job.
func (c *Controller) add(r *running) error {
	id := r.Job.ID
	if _, ok := c.jobs[id]; ok {
		return fmt.Errorf("job %q: %w", model.Clip(id), ErrJobExists)
	}
	if len(c.jobs) >= MaxJobs {
		return fmt.Errorf("job %q: %w: %d are kept", model.Clip(id), ErrFull, MaxJobs)
	}
	r.sizes = r.Job.sizes()
	c.jobs[id] = r
	return nil
}

// State copies everything that the controller knows.
func (c *Controller) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s State
	for _, r := range c.ordered() {
		s.Jobs = append(s.Jobs, r.clone())
	}
	return s
}

// Job copies what is known of one job.
func (c *Controller) Job(id string) (JobState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, err := c.find(id)
	if err != nil {
		return JobState{}, err
	}
	return r.clone(), nil
}

// Finish forgets a job and returns what others can learn from it. The summary says
// Own; it is not worth keeping if its Reports are 0.
func (c *Controller) Finish(id string) (Summary, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, err := c.find(id)
	if err != nil {
		return Summary{}, err
	}
	delete(c.jobs, id)
	return r.summary(), nil
}

// Observe takes a report that came at now. Errors say why it was not taken: it is no
// valid report ([ErrInvalid]), was taken before ([ErrDuplicate]), or is older than one
// that was ([ErrLate]); the state is then as before.
func (c *Controller) Observe(now time.Time, r Report) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := notAhead(now, r.Time); err != nil {
		return fmt.Errorf("report of job %q: %w", model.Clip(r.Job), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(r.Job)
	if err != nil {
		return err
	}
	if s.Last != nil {
		switch d := r.Time.Sub(s.Last.Time); {
		case d == 0:
			return fmt.Errorf("report of job %q at %s: %w", model.Clip(r.Job), r.Time.Format(time.RFC3339), ErrDuplicate)
		case d < 0:
			return fmt.Errorf("report of job %q at %s: %w", model.Clip(r.Job), r.Time.Format(time.RFC3339), ErrLate)
		}
	}
	s.observe(c.policy, r)
	return nil
}

// Notice takes an event that came at now; errors are those of Observe. Events may come
// in any order.
func (c *Controller) Notice(now time.Time, e Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if err := notAhead(now, e.Time); err != nil {
		return fmt.Errorf("event of job %q: %w", model.Clip(e.Job), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(e.Job)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(s.Events, e.same) {
		return fmt.Errorf("event of job %q at %s: %w", model.Clip(e.Job), e.Time.Format(time.RFC3339), ErrDuplicate)
	}
	s.notice(e)
	return nil
}

func (e Event) same(f Event) bool {
	return e.Kind == f.Kind && e.Time.Equal(f.Time) && e.Role == f.Role && e.Pod == f.Pod
}

func notAhead(now, t time.Time) error {
	if t.Sub(now) > maxAhead {
		return fmt.Errorf("time %s is ahead of %s: %w", t.Format(time.RFC3339), now.Format(time.RFC3339), ErrInvalid)
	}
	return nil
}

// find returns a job or says that there is none.
func (c *Controller) find(id string) (*running, error) {
	r, ok := c.jobs[id]
	if !ok {
		return nil, fmt.Errorf("job %q: %w", model.Clip(id), ErrUnknownJob)
	}
	return r, nil
}

// ordered lists the jobs by ID.
func (c *Controller) ordered() []*running {
	out := make([]*running, 0, len(c.jobs))
	for _, r := range c.jobs {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *running) int { return strings.Compare(a.Job.ID, b.Job.ID) })
	return out
}

// clone copies everything that may change.
func (s JobState) clone() JobState {
	s.Job.Current, s.Plan = s.Job.Current.clone(), s.Plan.clone()
	s.Speeds, s.Hot, s.Slow = slices.Clone(s.Speeds), slices.Clone(s.Hot), slices.Clone(s.Slow)
	s.Replaced, s.Events, s.Tried = slices.Clone(s.Replaced), slices.Clone(s.Events), slices.Clone(s.Tried)
	s.Decisions = slices.Clone(s.Decisions) // decisions never change once made
	if s.Last != nil {
		last := *s.Last
		s.Last = &last
	}
	if s.Cap != nil {
		known := *s.Cap
		s.Cap = &known
	}
	return s
}
