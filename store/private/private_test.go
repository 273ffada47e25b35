package private_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

func open(t *testing.T, dir string) *private.DB {
	t.Helper()
	db, err := private.OpenDB(dir, private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// run returns the n-th run of a job. Later runs start later.
func run(job string, n int) model.Run {
	return model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: job, Dataset: "d", InputBytes: 1e9},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 1 + n%10}, RuntimeSeconds: 100, Outcome: model.OK,
		Start:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute),
		Metrics: model.Metrics{CPU: &model.Percentiles{P10: 0.1, P50: 0.2, P90: 0.3}},
	}
}

func add(t *testing.T, db *private.DB, wantAdded, wantUnchanged int, runs ...model.Run) {
	t.Helper()
	added, unchanged, err := db.AddRuns(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	if added != wantAdded || unchanged != wantUnchanged {
		t.Fatalf("%d added, %d unchanged, want %d and %d", added, unchanged, wantAdded, wantUnchanged)
	}
}

func TestAddRuns(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	unknown := run("b", 9)
	unknown.Start, unknown.Outcome, unknown.RuntimeSeconds, unknown.Metrics = time.Time{}, model.Failed, 0, model.Metrics{}
	hadoop := run("b", 1)
	hadoop.Workload.Framework = "hadoop"
	add(t, db, 4, 1, run("a", 3), hadoop, run("a", 2), unknown, run("a", 3))
	add(t, db, 1, 2, run("a", 2), run("a", 3), run("a", 4))
	add(t, db, 0, 0)
	// Another spelling of the same job: decomposed, with a space.
	accented := run("caf\u00e9", 1)
	add(t, db, 1, 0, accented)
	decomposed := run(" cafe\u0301", 1)
	decomposed.Workload.Framework = "Spark"
	add(t, db, 0, 1, decomposed)

	topic := model.Topic{Infrastructure: "aws-ec2", Framework: "hadoop", Algorithm: "sort"}
	check := func(db *private.DB) {
		t.Helper()
		for _, c := range []struct {
			name   string
			filter private.Filter
			want   []model.Run
		}{
			{"all", private.Filter{}, []model.Run{unknown, hadoop, accented, run("a", 2), run("a", 3), run("a", 4)}},
			{"job", private.Filter{Job: "a"}, []model.Run{run("a", 2), run("a", 3), run("a", 4)}},
			{"job spelt otherwise", private.Filter{Job: " cafe\u0301"}, []model.Run{accented}},
			{"prefix of a job", private.Filter{Job: "caf"}, nil},
			{"topic", private.Filter{Topic: &topic}, []model.Run{hadoop}},
			{"job and topic", private.Filter{Job: "b", Topic: &topic}, []model.Run{hadoop}},
			{"neither", private.Filter{Job: "a", Topic: &topic}, nil},
		} {
			got, err := db.Runs(t.Context(), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			byID := func(a, b model.Run) int { return strings.Compare(a.ID(), b.ID()) }
			if c.name == "all" { // two have the same start
				slices.SortFunc(c.want[1:3], byID)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
		if n, err := db.CountRuns(t.Context()); n != 6 || err != nil {
			t.Errorf("%d runs, %v", n, err)
		}
	}
	check(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	if !db.CleanShutdown() {
		t.Error("a clean shutdown passes for a crash")
	}
	check(db)
}

func TestAddRunsIsAllOrNone(t *testing.T) {
	db := open(t, t.TempDir())
	bad := run("a", 2)
	bad.RuntimeSeconds = -1
	nameless := run("", 2)
	var many []model.Run
	for i := range private.MaxBatch + 1 {
		many = append(many, run("a", i))
	}
	long := slices.Clone(many[:private.MaxBatch])
	for i := range long {
		long[i].Workload.Job, long[i].Workload.Dataset = strings.Repeat("j", 512), strings.Repeat("d", 512)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		runs []model.Run
		want error
		text string
	}{
		{"invalid", t.Context(), []model.Run{run("a", 1), bad}, model.ErrInvalid, "run 2 of 2: runtime must be above zero"},
		{"no job", t.Context(), []model.Run{run("a", 1), nameless}, model.ErrInvalid, "run 2 of 2: job is missing"},
		{"too many", t.Context(), many, private.ErrTooLarge, "2001 runs at once, at most 2000"},
		{"too many bytes", t.Context(), long, private.ErrTooLarge, ""},
		{"cancelled", cancelled, many[:1], context.Canceled, ""},
	} {
		if added, unchanged, err := db.AddRuns(c.ctx, c.runs); !errors.Is(err, c.want) || added+unchanged != 0 || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %d, %d, %v", c.name, added, unchanged, err)
		}
	}
	if n, err := db.CountRuns(t.Context()); n != 0 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	add(t, db, private.MaxBatch, 0, many[:private.MaxBatch]...)
}

func TestWorkloads(t *testing.T) {
	db := open(t, t.TempDir())
	small, large, unsized, timeout := run("a", 1), run("a", 2), run("a", 3), run("b", 1)
	small.Workload.InputBytes, large.Workload.InputBytes, unsized.Workload.InputBytes = 5e8, 2e9, 0
	timeout.Outcome = model.Timeout
	large.Outcome = model.Failed
	add(t, db, 4, 0, timeout, small, large, unsized)
	got, err := db.Workloads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []private.WorkloadCount{{Workload: small.Workload, OK: 2, Failed: 1}, {Workload: timeout.Workload, Timeout: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func search(job string) *karasuv1.Search {
	return &karasuv1.Search{
		Settings: &karasuv1.SearchSettings{Workload: wire.FromWorkload(run(job, 1).Workload), TargetSeconds: 900, Objective: "cost", Seed: 1},
		Runs:     []*karasuv1.Run{wire.FromRun(run(job, 1))}, CreatedUnixMillis: 1.7e12,
	}
}

func TestSearches(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	ctx := t.Context()
	if err := db.PutSearch(ctx, search("caf\u00e9"), run("caf\u00e9", 1)); err != nil {
		t.Fatal(err)
	}
	if err := db.PutSearch(ctx, search("b")); err != nil {
		t.Fatal(err)
	}
	later := search("b")
	later.Runs = append(later.Runs, wire.FromRun(run("b", 2)))
	if err := db.PutSearch(ctx, later, run("b", 2)); err != nil {
		t.Fatal(err)
	}
	got, err := db.GetSearch(ctx, " cafe\u0301 ")
	if d := cmp.Diff(search("caf\u00e9"), got, protocmp.Transform()); d != "" || err != nil {
		t.Error(err, d)
	}
	if n, err := db.CountRuns(ctx); n != 2 || err != nil {
		t.Errorf("%d runs with the searches, want 2: %v", n, err)
	}
	if _, err := db.GetSearch(ctx, "x"); !errors.Is(err, private.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	all, err := db.ListSearches(ctx)
	if d := cmp.Diff([]*karasuv1.Search{later, search("caf\u00e9")}, all, protocmp.Transform()); d != "" || err != nil {
		t.Error(err, d)
	}
	if err := db.DeleteSearch(ctx, "cafe\u0301"); err != nil {
		t.Error(err)
	}
	if err := db.DeleteSearch(ctx, "cafe\u0301"); !errors.Is(err, private.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if rep, err := private.Fsck(t.Context(), dir); err != nil || !rep.OK() || !rep.CleanShutdown {
		t.Error(rep, err)
	}
}

func TestPutSearchRefuses(t *testing.T) {
	db := open(t, t.TempDir())
	for name, change := range map[string]func(*karasuv1.Search){
		"no settings":  func(s *karasuv1.Search) { s.Settings = nil },
		"no job":       func(s *karasuv1.Search) { s.Settings.Workload.Job = " " },
		"bad slug":     func(s *karasuv1.Search) { s.Settings.Workload.Framework = "" },
		"bad run":      func(s *karasuv1.Search) { s.Runs[0].RuntimeSeconds = -1 },
		"empty run":    func(s *karasuv1.Search) { s.Runs[0] = nil },
		"bad creation": func(s *karasuv1.Search) { s.CreatedUnixMillis = 1e300 },
		"not UTF-8":    func(s *karasuv1.Search) { s.Settings.Objective = "\xff" },
	} {
		s := search("a")
		change(s)
		if err := db.PutSearch(t.Context(), s); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	huge := search("a")
	for len(huge.Runs) < 20000 {
		huge.Runs = append(huge.Runs, huge.Runs[0])
	}
	if err := db.PutSearch(t.Context(), huge); !errors.Is(err, private.ErrTooLarge) {
		t.Errorf("huge: %v", err)
	}
	bad := run("a", 1)
	bad.Outcome = 0
	if err := db.PutSearch(t.Context(), search("a"), bad); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("bad run: %v", err)
	}
	if all, err := db.ListSearches(t.Context()); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
}

func TestSecretStays(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	secrets := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range secrets {
		wg.Go(func() {
			var err error
			if secrets[i], err = db.Secret(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := open(t, dir).Secret(t.Context())
	if err != nil || len(again) != private.SecretSize || bytes.Equal(again, make([]byte, private.SecretSize)) {
		t.Fatal(again, err)
	}
	for _, s := range secrets {
		if !bytes.Equal(s, again) {
			t.Error("two secrets")
		}
	}
	other, err := open(t, t.TempDir()).Secret(t.Context())
	if err != nil || bytes.Equal(other, again) {
		t.Error("two databases have one secret", err)
	}
}

func TestSubscribe(t *testing.T) {
	db := open(t, t.TempDir())
	changes, cancel := db.Subscribe()
	pending := func() bool {
		select {
		case _, open := <-changes:
			return open
		default:
			return false
		}
	}
	add(t, db, 1, 0, run("a", 1))
	add(t, db, 1, 0, run("a", 2))
	if !pending() || pending() {
		t.Error("two changes are not one notification")
	}
	add(t, db, 0, 1, run("a", 1))
	if pending() {
		t.Error("a notification without a change")
	}
	if err := db.PutSearch(t.Context(), search("a")); err != nil || !pending() {
		t.Error("a search without a notification", err)
	}
	cancel()
	cancel()
	add(t, db, 1, 0, run("a", 3))
	if _, open := <-changes; open {
		t.Error("a notification after the end")
	}
}

func TestSecondOpenerIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "private")
	db := open(t, dir)
	_, err := private.OpenDB(dir, private.Options{})
	if want := fmt.Sprintf("store: %s is in use by another process", dir); !errors.Is(err, private.ErrInUse) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := private.Fsck(t.Context(), dir); !errors.Is(err, private.ErrInUse) {
		t.Errorf("fsck: %v", err)
	}
	add(t, db, 1, 0, run("a", 1))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.AddRuns(t.Context(), []model.Run{run("a", 2)}); !errors.Is(err, private.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

func TestConcurrentUse(t *testing.T) {
	db := open(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				// All add the same runs, in other orders.
				if _, _, err := db.AddRuns(t.Context(), []model.Run{run("a", (i*7+j)%20)}); err != nil {
					t.Error(err)
				}
				if _, err := db.Runs(t.Context(), private.Filter{Job: "a"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := db.CountRuns(t.Context()); n != 20 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
}
