package elastic_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karasu-project/karasu/model"
	service "github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/optimizer/elastic"
	"github.com/karasu-project/karasu/store/private"
)

const gib = 1 << 30

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time             { return c.now }
func (c *clock) minutes(n float64)          { c.now = begin.Add(time.Duration(n * float64(time.Minute))) }
func at(n float64) time.Time                { return begin.Add(time.Duration(n * float64(time.Minute))) }
func equal(a, b any) string                 { return cmp.Diff(a, b, cmpopts.EquateEmpty()) }
func memory(db service.Store) *failingStore { return &failingStore{Store: db} }

// failingStore fails when it is told to.
type failingStore struct {
	service.Store
	fail error
}

func (f *failingStore) PutElasticJobs(ctx context.Context, jobs ...private.ElasticJob) error {
	if f.fail != nil {
		return f.fail
	}
	return f.Store.PutElasticJobs(ctx, jobs...)
}

func (f *failingStore) FinishElasticJob(ctx context.Context, at time.Time, j private.ElasticJob, keep int) error {
	if f.fail != nil {
		return f.fail
	}
	return f.Store.FinishElasticJob(ctx, at, j, keep)
}

func openDB(t *testing.T, dir string) *private.DB {
	t.Helper()
	db, err := private.OpenDB(dir, private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func newService(t *testing.T, o service.Options) *service.Service {
	t.Helper()
	s, err := service.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fresh is a service with an empty store, at the beginning.
func fresh(t *testing.T) (*service.Service, *clock, *failingStore) {
	t.Helper()
	db := openDB(t, t.TempDir())
	t.Cleanup(func() { _ = db.Close() })
	c, store := &clock{begin}, memory(db)
	return newService(t, service.Options{Store: store, Now: c.Now}), c, store
}

func training(id string) elastic.Job {
	return elastic.Job{
		ID: id, Topic: model.Topic{Infrastructure: "aws", Framework: "tensorflow", Algorithm: "cnn"}, MachineType: "t2.2xlarge",
		Mode: elastic.Async, Batch: 16, TotalSamples: 1e7,
		Bounds: elastic.Bounds{MaxWorkers: 14, MaxServers: 3, MaxPodCPU: 16, MaxPodMemory: 64 * gib},
		Current: elastic.Plan{
			Workers: elastic.Group{Pod: elastic.Resources{CPU: 8, Memory: 8 * gib}},
			Servers: elastic.Group{Replicas: 1, Pod: elastic.Resources{CPU: 8, Memory: 8 * gib}},
		},
		Submitted: begin,
	}
}

func start(t *testing.T, s *service.Service, j elastic.Job) elastic.Decision {
	t.Helper()
	d, err := s.Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play lets a job run by a law of its own for some minutes and decides every two of them.
func play(t *testing.T, s *service.Service, c *clock, id string, from, to int) {
	t.Helper()
	for m := from; m < to; m++ {
		c.minutes(float64(m))
		state, err := s.Job(id)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(state.Plan.Workers.Replicas)
		taken, err := s.Report(t.Context(), elastic.Report{
			Job: id, Time: c.now, Step: int64(1000 * m), StepsPerSecond: 10 * n / math.Sqrt(1+n*n/36), Workers: int(n), Servers: 1,
			Pods: []elastic.PodUsage{{Name: "w-0", Role: elastic.Worker, Memory: 3 * gib}},
		})
		if err != nil || taken.Taken != 1 {
			t.Fatalf("minute %d: %+v, %v", m, taken, err)
		}
		if m%2 == 0 {
			if _, err := s.Decide(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRestartLosesNothing: a service made anew on the same store knows the same, and decides
// the same from there on.
func TestRestartLosesNothing(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	c := &clock{begin}
	s := newService(t, service.Options{Store: db, Now: c.Now})
	start(t, s, training("a"))
	start(t, s, training("b"))
	start(t, s, training("ended"))
	play(t, s, c, "ended", 0, 15)
	if _, err := s.Finish(t.Context(), "ended"); err != nil {
		t.Fatal(err)
	}
	play(t, s, c, "a", 0, 40)
	if _, err := s.Notice(t.Context(), elastic.Event{Job: "b", Time: c.now, Kind: elastic.OutOfMemory, Role: elastic.Worker, Memory: 8 * gib}); err != nil {
		t.Fatal(err)
	}
	jobs, finished := s.Jobs(), s.Finished()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, dir)
	t.Cleanup(func() { _ = db.Close() })
	again := newService(t, service.Options{Store: db, Now: c.Now})
	// A look that changed nothing is not written, and the only thing that may be missing.
	withoutLook := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".LastDecision" }, cmp.Ignore())
	if diff := cmp.Diff(jobs, again.Jobs(), cmpopts.EquateEmpty(), withoutLook); diff != "" {
		t.Error(diff)
	}
	if diff := equal(finished, again.Finished()); diff != "" {
		t.Error(diff)
	}
	if jobs[0].Changes == 0 {
		t.Error("the job never grew: nothing is tested")
	}
	c.minutes(50)
	for _, id := range []string{"a", "b"} {
		d, err := again.Plan(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		// The same state of another controller.
		other, err := elastic.New(elastic.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if err := other.RestoreJob(j); err != nil {
				t.Fatal(err)
			}
		}
		want, err := other.Decide(c.now, id, elastic.Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := equal(want, d); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

// TestHostileReports: what is late, repeated, not a number or zero leaves plans within their
// bounds, and what is wrong refuses all that comes with it.
func TestHostileReports(t *testing.T) {
	s, c, _ := fresh(t)
	start(t, s, training("a"))
	play(t, s, c, "a", 0, 10)
	before := s.Jobs()
	good := elastic.Report{Job: "a", Time: at(20), Step: 20_000, StepsPerSecond: 10, Workers: 1, Servers: 1}
	c.minutes(20)
	for name, spoil := range map[string]func(*elastic.Report){
		"NaN":      func(r *elastic.Report) { r.StepsPerSecond = math.NaN() },
		"infinite": func(r *elastic.Report) { r.StepsPerSecond = math.Inf(1) },
		"negative": func(r *elastic.Report) { r.StepsPerSecond = -1 },
		"ahead":    func(r *elastic.Report) { r.Time = at(2000) },
		"no time":  func(r *elastic.Report) { r.Time = time.Time{} },
	} {
		bad := good
		spoil(&bad)
		if _, err := s.Report(t.Context(), good, bad); !errors.Is(err, elastic.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unknown := good
	unknown.Job = "other"
	if _, err := s.Report(t.Context(), good, unknown); !errors.Is(err, elastic.ErrUnknownJob) {
		t.Errorf("unknown job: %v", err)
	}
	if diff := equal(before, s.Jobs()); diff != "" {
		t.Errorf("refused reports changed something: %s", diff)
	}
	late, zero := good, good
	late.Time, zero.Time, zero.StepsPerSecond = at(3), at(19), 0
	taken, err := s.Report(t.Context(), zero, good, good, late)
	if want := (service.Taken{Taken: 2, Repeated: 1, Late: 1}); err != nil || taken != want {
		t.Errorf("%+v (%v), want %+v", taken, err, want)
	}
	for m := 21; m < 200; m++ {
		c.minutes(float64(m))
		r := good
		r.Time, r.StepsPerSecond = c.now, []float64{0, 1e9, 1e-9, 10}[m%4]
		if _, err := s.Report(t.Context(), r, late, good); err != nil {
			t.Fatal(err)
		}
		d, err := s.Decide(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if n := d.Plan.Workers.Replicas; n < 1 || n > 14 || d.Plan.Servers.Replicas < 1 || d.Plan.Servers.Replicas > 3 {
			t.Fatalf("minute %d: %+v", m, d.Plan)
		}
	}
}

// TestFullDisk: what could not be stored is not known either, so that it can be told again.
func TestFullDisk(t *testing.T) {
	s, c, store := fresh(t)
	start(t, s, training("a"))
	play(t, s, c, "a", 0, 7)
	before := s.Jobs()
	store.fail = private.ErrDiskFull
	c.minutes(8)
	report := elastic.Report{Job: "a", Time: c.now, Step: 8000, StepsPerSecond: 10, Workers: 1, Servers: 1}
	event := elastic.Event{Job: "a", Time: c.now, Kind: elastic.OutOfMemory, Role: elastic.Worker, Memory: 8 * gib}
	_, onReport := s.Report(t.Context(), report)
	_, onEvent := s.Notice(t.Context(), event)
	_, onStart := s.Start(t.Context(), training("b"))
	_, onFinish := s.Finish(t.Context(), "a")
	for what, err := range map[string]error{"report": onReport, "event": onEvent, "start": onStart, "finish": onFinish} {
		if !errors.Is(err, private.ErrDiskFull) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if diff := equal(before, s.Jobs()); diff != "" {
		t.Error(diff)
	}
	store.fail = nil
	taken, err := s.Report(t.Context(), report)
	if err != nil || taken.Taken != 1 {
		t.Errorf("told again: %+v, %v", taken, err)
	}
	if taken, err = s.Notice(t.Context(), event); err != nil || taken.Taken != 1 {
		t.Errorf("told again: %+v, %v", taken, err)
	}
}

type peers struct {
	k   elastic.Knowledge
	err error
}

func (p peers) Knowledge(context.Context, elastic.Job) (elastic.Knowledge, error) { return p.k, p.err }

// TestKnowledge: own jobs that have finished count before peers' jobs, whatever these say,
// and peers that fail are no reason to refuse a plan.
func TestKnowledge(t *testing.T) {
	db := openDB(t, t.TempDir())
	t.Cleanup(func() { _ = db.Close() })
	c := &clock{begin}
	job := training("a")
	theirs := elastic.Summary{
		Own: true, Topic: job.Topic, MachineType: job.MachineType, Mode: job.Mode, Batch: 16, WorkerCores: 8,
		Knee: 9, KneeSD: .1, WorkerMemory: 2 * gib, Workers: 4, Servers: 1, Reports: 50,
	}
	s := newService(t, service.Options{Store: db, Now: c.Now, Peers: peers{err: errors.New("nobody answers")}})
	alone, err := s.Preview(t.Context(), job)
	if err != nil || !service.Uninformed(alone) {
		t.Fatalf("%+v, %v", alone, err)
	}
	s.Peers = peers{k: elastic.Knowledge{Jobs: []elastic.Summary{theirs}}}
	d := start(t, s, job)
	if state, err := s.Job("a"); err != nil || state.History != "peers' history of the training model" || d.Plan.Workers.Replicas <= alone.Plan.Workers.Replicas {
		t.Errorf("history %q (%v), plan %+v, alone %+v", state.History, err, d.Plan, alone.Plan)
	}
	play(t, s, c, "a", 0, 30)
	if _, err := s.Finish(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	start(t, s, job)
	if state, _ := s.Job("a"); state.History != "own history of the training model" {
		t.Errorf("history %q", state.History)
	}
	if got := s.Jobs(); len(got) != 1 {
		t.Errorf("%d jobs are kept: previews count", len(got))
	}
}

// TestSilentJobs end, and their reports are learned from.
func TestSilentJobs(t *testing.T) {
	s, c, _ := fresh(t)
	start(t, s, training("a"))
	play(t, s, c, "a", 0, 5)
	c.now = at(4).Add(service.Silence - time.Minute)
	if err := s.Tick(t.Context()); err != nil || len(s.Jobs()) != 1 {
		t.Fatalf("%d jobs (%v), want 1", len(s.Jobs()), err)
	}
	c.now = at(4).Add(service.Silence)
	if err := s.Tick(t.Context()); err != nil || len(s.Jobs()) != 0 {
		t.Fatalf("%d jobs (%v), want none", len(s.Jobs()), err)
	}
	if f, err := s.Last("a"); err != nil || f.Summary.Reports != 5 {
		t.Errorf("%+v, %v", f.Summary, err)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s, _, _ := fresh(t)
	var all sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d"} {
		start(t, s, training(id))
		all.Go(func() {
			for m := range 5 {
				r := elastic.Report{Job: id, Time: begin.Add(time.Duration(m) * time.Minute), StepsPerSecond: 5, Workers: 1, Servers: 1}
				if _, err := s.Report(context.Background(), r); err != nil {
					t.Error(err)
				}
				if err := s.Tick(context.Background()); err != nil {
					t.Error(err)
				}
				if _, err := s.Preview(context.Background(), training("")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, j := range s.Jobs() {
		if j.Reports != 5 {
			t.Errorf("%s: %d reports", j.Job.ID, j.Reports)
		}
	}
}

// nowhere takes everything and keeps nothing.
type nowhere struct{}

func (nowhere) PutElasticJobs(context.Context, ...private.ElasticJob) error { return nil }
func (nowhere) FinishElasticJob(context.Context, time.Time, private.ElasticJob, int) error {
	return nil
}
func (nowhere) ElasticJobs(context.Context, bool) ([]private.ElasticJob, error) { return nil, nil }
