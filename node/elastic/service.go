// Package elastic keeps the training jobs of an organisation and decides for them, as
// optimizer/elastic does, over restarts of the daemon: what a job was reported to do, and
// what was decided, is on disk before it is acknowledged.
//
// It is where everything meets that drives jobs (the API, the HTTP endpoint, schedulers)
// and what is known of other jobs: own ones that have finished and those of peers. It knows
// nothing of how any of them travels.
package elastic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
	"github.com/karasu-project/karasu/store/private"
)

const (
	// Interval between two joint decisions, the policy's.
	Interval = 2 * time.Minute
	// Silence is how long a job may not report before it is taken for finished: longer
	// than a weekend for which a job is paused.
	Silence = 7 * 24 * time.Hour
	// MaxFinished jobs are kept to learn from; the oldest are forgotten.
	MaxFinished = 2000
	// MaxRunning bounds the jobs that run: a joint decision for so many takes a second.
	MaxRunning = 10_000
)

// Peers is what other organisations know of jobs like one.
type Peers interface {
	// Knowledge returns their summaries and factors of machine types. Nothing is no error;
	// an error is logged, and the job starts without.
	Knowledge(ctx context.Context, j elastic.Job) (elastic.Knowledge, error)
}

// Store is what the service needs of the private store.
type Store interface {
	PutElasticJobs(ctx context.Context, jobs ...private.ElasticJob) error
	FinishElasticJob(ctx context.Context, at time.Time, j private.ElasticJob, keep int) error
	ElasticJobs(ctx context.Context, finished bool) ([]private.ElasticJob, error)
}

// Options of a [Service]. Store and Now are needed.
type Options struct {
	Store Store
	// Peers is nil where nobody else is asked.
	Peers Peers
	// Cluster that the jobs share; the zero value is without limits.
	Cluster elastic.Cluster
	// Policy is the default one where it is the zero value.
	Policy elastic.Policy
	Now    func() time.Time
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Service is safe for concurrent use.
type Service struct {
	Options
	// mu serialises changes, so that what is stored last is what is known.
	mu         sync.Mutex
	controller *elastic.Controller
	finished   []Finished // the first to finish first
	// stored is what the store holds of jobs, apart from decisions without a change.
	stored map[string]fingerprint
}

// Finished is a job that has ended.
type Finished struct {
	At    time.Time        `json:"at"`
	State elastic.JobState `json:"state"`
	// Summary is what other jobs can learn; nothing where its Reports are 0.
	Summary elastic.Summary `json:"summary"`
}

// New returns a service that goes on where the store's jobs were.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Policy == (elastic.Policy{}) {
		o.Policy = elastic.DefaultPolicy()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.Cluster.Validate(); err != nil {
		return nil, err
	}
	c, err := elastic.New(o.Policy)
	if err != nil {
		return nil, err
	}
	s := &Service{Options: o, controller: c, stored: map[string]fingerprint{}}
	return s, s.restore(ctx)
}

// Start plans a job and keeps it. A job whose Current plan has workers runs already, and
// keeps them. The error wraps elastic.ErrInvalid, elastic.ErrJobExists or elastic.ErrFull.
func (s *Service) Start(ctx context.Context, j elastic.Job) (elastic.Decision, error) {
	if err := check(j); err != nil {
		return elastic.Decision{}, err
	}
	k, err := s.knowledge(ctx, j)
	if err != nil {
		return elastic.Decision{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.stored); n >= MaxRunning {
		return elastic.Decision{}, fmt.Errorf("job %q: %w: %d run; finish some", model.Clip(j.ID), elastic.ErrFull, n)
	}
	k.Jobs = append(k.Jobs, s.own()...)
	d, err := s.controller.Start(s.Now(), j, k, s.Cluster)
	if err != nil {
		return d, err
	}
	if err := s.store(ctx, j.ID); err != nil {
		_, undo := s.controller.Finish(j.ID)
		return elastic.Decision{}, errors.Join(err, undo)
	}
	return d, nil
}

// check refuses what the vocabulary takes and no outside may say: names that terminals or
// files would trip over, and batches that do not fit into records.
func check(j elastic.Job) error {
	for _, f := range []struct{ field, name string }{{"id", j.ID}, {"machine type", j.MachineType}} {
		if !utf8.ValidString(f.name) || strings.ContainsFunc(f.name, unicode.IsControl) {
			return fmt.Errorf("job %q: %s must be text without control characters: %w", model.Clip(j.ID), f.field, elastic.ErrInvalid)
		}
	}
	if j.Batch > math.MaxInt32 || j.GlobalBatch > math.MaxInt32 {
		return fmt.Errorf("job %q: a batch must be below 2^31: %d and %d: %w", model.Clip(j.ID), j.Batch, j.GlobalBatch, elastic.ErrInvalid)
	}
	return nil
}

// previewed is the ID of a job that is planned and not kept; no other job can have it.
const previewed = "\x00"

// Preview plans a job as [Service.Start] does, and forgets it. Its ID may be empty.
func (s *Service) Preview(ctx context.Context, j elastic.Job) (elastic.Decision, error) {
	id := j.ID
	if err := check(j); err != nil {
		return elastic.Decision{}, err
	}
	k, err := s.knowledge(ctx, j)
	if err != nil {
		return elastic.Decision{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.Jobs = append(k.Jobs, s.own()...)
	j.ID = previewed
	d, err := s.controller.Start(s.Now(), j, k, s.Cluster)
	if err != nil {
		return d, err
	}
	d.Job = id
	_, err = s.controller.Finish(previewed)
	return d, err
}

// knowledge asks the peers. It takes no lock: they may take their time.
func (s *Service) knowledge(ctx context.Context, j elastic.Job) (elastic.Knowledge, error) {
	if err := ctx.Err(); err != nil || s.Peers == nil {
		return elastic.Knowledge{}, err
	}
	k, err := s.Peers.Knowledge(ctx, j)
	if err != nil {
		s.Logger.WarnContext(ctx, "peers' training jobs are not known", "error", err)
		return elastic.Knowledge{}, ctx.Err()
	}
	k.Jobs = slices.Clone(k.Jobs)
	for i := range k.Jobs {
		k.Jobs[i].Own = false // whatever they say
	}
	return k, nil
}

// own is what own jobs that have finished tell.
func (s *Service) own() []elastic.Summary {
	var out []elastic.Summary
	for _, f := range s.finished {
		if f.Summary.Reports > 0 {
			out = append(out, f.Summary)
		}
	}
	return out
}

// Job returns a job that runs. The error wraps elastic.ErrUnknownJob.
func (s *Service) Job(id string) (elastic.JobState, error) { return s.controller.Job(id) }

// Jobs returns the jobs that run, by ID.
func (s *Service) Jobs() []elastic.JobState {
	s.mu.Lock() // a preview is no job
	defer s.mu.Unlock()
	return s.controller.State().Jobs
}

// Finished returns the jobs that have ended, the first to end first.
func (s *Service) Finished() []Finished {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.finished)
}

// Last returns the job of that ID that ended last. The error wraps elastic.ErrUnknownJob.
func (s *Service) Last(id string) (Finished, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range slices.Backward(s.finished) {
		if f.State.Job.ID == id {
			return f, nil
		}
	}
	return Finished{}, fmt.Errorf("job %q: %w", model.Clip(id), elastic.ErrUnknownJob)
}

// Finish ends a job and keeps what later ones can learn from it. The error wraps
// elastic.ErrUnknownJob.
func (s *Service) Finish(ctx context.Context, id string) (elastic.Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finish(ctx, id, s.Now())
}

func (s *Service) finish(ctx context.Context, id string, at time.Time) (elastic.Summary, error) {
	state, err := s.controller.Job(id)
	if err != nil {
		return elastic.Summary{}, err
	}
	summary, err := s.controller.Finish(id)
	if err != nil {
		return elastic.Summary{}, err
	}
	if summary.Validate() != nil { // of absurd reports nobody can learn
		summary = elastic.Summary{}
	}
	// The store keeps milliseconds, and two jobs of one name cannot end in the same one.
	f := Finished{At: at.UTC().Truncate(time.Millisecond), State: state, Summary: summary}
	if err := s.storeFinished(ctx, f); err != nil {
		return elastic.Summary{}, errors.Join(err, s.controller.RestoreJob(state))
	}
	delete(s.stored, id)
	s.finished = append(s.finished, f)
	if over := len(s.finished) - MaxFinished; over > 0 {
		s.finished = slices.Clone(s.finished[over:])
	}
	return summary, nil
}
