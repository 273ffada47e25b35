package private_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/private"
)

func execution(app string, outcome model.Outcome, events int64) model.Execution {
	start := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	return model.Execution{
		Origin: "spark/" + app, Framework: "spark", Name: app, Start: start, End: start.Add(time.Duration(events) * time.Second), Outcome: outcome,
		Cluster: model.Cluster{Hosts: 4}, Executors: []model.Executor{{ID: "1", Host: "h1"}},
		Graph:   &model.StageGraph{Stages: []model.Stage{{ID: 0, Name: "map", Query: -1, EndSeconds: 5}, {ID: 1, Parents: []int{0}, Query: -1, EndSeconds: 9}}},
		Quality: model.Quality{Events: events, Notes: []string{"a note"}},
	}
}

// naming makes runs of a job of what has ended.
func naming(job string) private.Namer {
	return func(e model.Execution, h private.Hints) *model.Run {
		if e.Outcome == 0 || job == "" {
			return nil
		}
		machine := h.MachineType
		if machine == "" {
			machine = "m4.xlarge"
		}
		return &model.Run{
			Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: job},
			Configuration: model.Configuration{MachineType: machine, ScaleOut: e.Cluster.Hosts}, RuntimeSeconds: e.RuntimeSeconds(),
			Outcome: e.Outcome, Start: e.Start, Metrics: e.Metrics, Origin: e.Origin,
		}
	}
}

func put(t *testing.T, db *private.DB, e model.Execution, h private.Hints, name private.Namer) private.Put {
	t.Helper()
	p, err := db.PutExecution(t.Context(), e, h, name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// jobs lists job and configuration of every run, once by each index.
func jobs(t *testing.T, db *private.DB) []string {
	t.Helper()
	var out []string
	all, err := db.Runs(t.Context(), private.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		topic := r.Workload.Topic()
		for _, f := range []private.Filter{{Job: r.Workload.Job}, {Topic: &topic}} {
			found, err := db.Runs(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, x := range found {
				if x.ID() == r.ID() {
					n++
				}
			}
			if n != 1 {
				t.Errorf("run %s is found %d times by %+v", r.ID(), n, f)
			}
		}
		out = append(out, r.Workload.Job+" "+r.Configuration.String())
	}
	return out
}

// checked closes the database and checks it whole.
func checked(t *testing.T, db *private.DB, dir string) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := private.Fsck(t.Context(), dir)
	if err != nil || !rep.OK() {
		t.Errorf("fsck: %+v (%v)", rep, err)
	}
}

func TestExecutionIsOneRun(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	type want struct{ isNew, changed, run bool }
	for i, c := range []struct {
		e    model.Execution
		h    private.Hints
		want want
	}{
		{execution("a", 0, 10), private.Hints{}, want{true, true, false}}, // in progress
		{execution("a", 0, 10), private.Hints{}, want{false, false, false}},
		{execution("a", 0, 20), private.Hints{}, want{false, true, false}},        // goes on
		{execution("a", model.OK, 30), private.Hints{}, want{false, true, true}},  // has ended
		{execution("a", model.OK, 30), private.Hints{}, want{false, false, true}}, // read again
		{execution("a", 0, 20), private.Hints{}, want{false, false, true}},        // an older copy
		{execution("a", model.OK, 30), private.Hints{MachineType: "r4.large"}, want{false, true, true}},
		{execution("a", model.OK, 30), private.Hints{}, want{false, false, true}}, // hints stay
		{execution("b", model.Failed, 30), private.Hints{}, want{true, true, true}},
	} {
		p := put(t, db, c.e, c.h, naming("etl"))
		if got := (want{p.New, p.Changed, p.Run != nil}); got != c.want {
			t.Errorf("step %d: %+v, want %+v", i+1, got, c.want)
		}
	}
	if d := cmp.Diff([]string{"etl 4xm4.xlarge", "etl 4xr4.large"}, jobs(t, db), cmp.Transformer("sort", sorted)); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
	all, unmatched, err := db.CountExecutions(t.Context())
	if err != nil || all != 2 || unmatched != 0 {
		t.Errorf("%d executions, %d unmatched (%v)", all, unmatched, err)
	}
	got, err := db.GetExecution(t.Context(), model.OriginID("spark/a")[:10])
	if err != nil {
		t.Fatal(err)
	}
	want1 := private.StoredExecution{Execution: execution("a", model.OK, 30), Hints: private.Hints{MachineType: "r4.large"}, ID: model.OriginID("spark/a"), HasRun: true}
	if d := cmp.Diff(want1, got); d != "" {
		t.Errorf("stored execution (-want +got):\n%s", d)
	}
	checked(t, db, dir)
}

func sorted(s []string) map[string]int {
	m := map[string]int{}
	for _, x := range s {
		m[x]++
	}
	return m
}

func TestRename(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	put(t, db, execution("a", model.OK, 30), private.Hints{}, naming(""))
	put(t, db, execution("b", model.OK, 40), private.Hints{}, naming("old"))
	put(t, db, execution("c", 0, 50), private.Hints{}, naming("old"))
	// A run with the same origin that came as a run stays, whatever the rules say.
	foreign := *naming("table")(execution("d", model.OK, 60), private.Hints{})
	foreign.Metrics.Disk = &model.Percentiles{P90: 0.5}
	add(t, db, 1, 0, foreign)
	put(t, db, execution("d", model.OK, 60), private.Hints{}, naming(""))
	for i, c := range []struct {
		job  string
		want private.Renamed
		jobs map[string]int
	}{
		{"", private.Renamed{Executions: 4, Removed: 1}, map[string]int{"table 4xm4.xlarge": 1}},
		{"new", private.Renamed{Executions: 4, Runs: 3, Added: 3}, map[string]int{"new 4xm4.xlarge": 3}},
		{"new", private.Renamed{Executions: 4, Runs: 3}, map[string]int{"new 4xm4.xlarge": 3}},
		{"newer", private.Renamed{Executions: 4, Runs: 3, Changed: 3}, map[string]int{"newer 4xm4.xlarge": 3}},
	} {
		got, err := db.Rename(t.Context(), naming(c.job))
		if err != nil || got != c.want {
			t.Errorf("step %d: %+v (%v), want %+v", i+1, got, err, c.want)
		}
		if d := cmp.Diff(c.jobs, sorted(jobs(t, db))); d != "" {
			t.Errorf("step %d: runs (-want +got):\n%s", i+1, d)
		}
	}
	runs, err := db.Runs(t.Context(), private.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	disk := 0
	for _, r := range runs {
		if r.Metrics.Disk != nil {
			disk++
		}
	}
	if disk != 1 {
		t.Errorf("%d runs have the disk's utilisation, want the one that it came with", disk)
	}
	checked(t, db, dir)
}

func TestAttachedMetricsStay(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	e := execution("a", model.OK, 30)
	e.Metrics.CPU = &model.Percentiles{P50: 0.1, P90: 0.2}
	put(t, db, e, private.Hints{}, naming("etl"))
	put(t, db, execution("b", model.OK, 30), private.Hints{}, naming(""))
	add(t, db, 1, 0, run("table", 1))
	better := model.Metrics{CPU: &model.Percentiles{P50: 0.7, P90: 0.8}, Network: &model.Percentiles{P90: 0.3}}
	ids := map[string]model.Metrics{model.OriginID(e.Origin): better, run("table", 1).ID()[:12]: better}
	for i, want := range [][2]int{{2, 0}, {0, 2}} {
		updated, unchanged, err := db.AttachMetrics(t.Context(), ids)
		if err != nil || [2]int{updated, unchanged} != want {
			t.Errorf("time %d: %d updated, %d unchanged (%v)", i+1, updated, unchanged, err)
		}
	}
	if _, err := db.Rename(t.Context(), naming("other")); err != nil {
		t.Fatal(err)
	}
	e.Quality.Events++
	put(t, db, e, private.Hints{}, naming("other"))
	runs, err := db.Runs(t.Context(), private.Filter{Job: "other"})
	if err != nil || len(runs) != 2 || !cmp.Equal(runs[0].Metrics, better) && !cmp.Equal(runs[1].Metrics, better) {
		t.Errorf("runs %+v (%v)", runs, err)
	}
	for _, c := range []struct {
		id   string
		m    model.Metrics
		want error
	}{
		{"00000000", better, private.ErrNoRun},
		{"x", better, model.ErrInvalid},
		{model.OriginID(e.Origin), model.Metrics{CPU: &model.Percentiles{P10: 2}}, model.ErrInvalid},
	} {
		if _, _, err := db.AttachMetrics(t.Context(), map[string]model.Metrics{c.id: c.m}); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.id, err, c.want)
		}
	}
	checked(t, db, dir)
}

func TestDeleteExecutions(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	put(t, db, execution("a", model.OK, 30), private.Hints{}, naming("etl"))
	put(t, db, execution("b", 0, 30), private.Hints{}, naming("etl"))
	n, _, err := db.DeleteRuns(t.Context(), []string{model.OriginID("spark/a"), model.OriginID("spark/b")[:9]})
	if err != nil || n != 2 {
		t.Errorf("%d deleted (%v)", n, err)
	}
	if all, _, err := db.CountExecutions(t.Context()); err != nil || all != 0 {
		t.Errorf("%d executions are left (%v)", all, err)
	}
	if got, err := db.Rename(t.Context(), naming("etl")); err != nil || got != (private.Renamed{}) {
		t.Errorf("renamed %+v (%v)", got, err)
	}
	if p := put(t, db, execution("a", model.OK, 30), private.Hints{}, naming("etl")); !p.New {
		t.Error("what was deleted does not come back when it is imported again")
	}
	checked(t, db, dir)
}

// TestSupersededAttempts: of several attempts of one application only the last may be ok,
// in whatever order they come.
func TestSupersededAttempts(t *testing.T) {
	attempt := func(n string) model.Execution {
		e := execution("a/"+n, model.OK, 30)
		e.ApplicationID, e.Attempt = "application_1_0001", n
		return e
	}
	for _, order := range [][]string{{"1", "2", "3"}, {"3", "2", "1"}, {"2", "3", "1"}} {
		dir := t.TempDir()
		db := open(t, dir)
		for _, n := range order {
			put(t, db, attempt(n), private.Hints{}, naming("etl"))
		}
		other := attempt("9")
		other.Origin, other.ApplicationID = "spark/other", "application_1_0002"
		put(t, db, other, private.Hints{}, naming("etl"))
		want := map[string]model.Outcome{"spark/a/1": model.Failed, "spark/a/2": model.Failed, "spark/a/3": model.OK, "spark/other": model.OK}
		check := func() {
			t.Helper()
			runs, err := db.Runs(t.Context(), private.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]model.Outcome{}
			for _, r := range runs {
				got[r.Origin] = r.Outcome
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%v: outcomes (-want +got):\n%s", order, d)
			}
		}
		check()
		if p := put(t, db, attempt("1"), private.Hints{}, naming("etl")); p.Changed {
			t.Errorf("%v: the same again is a change", order)
		}
		// Without the last one, the one before has the say.
		if _, _, err := db.DeleteRuns(t.Context(), []string{model.OriginID("spark/a/3")}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Rename(t.Context(), naming("etl")); err != nil {
			t.Fatal(err)
		}
		delete(want, "spark/a/3")
		want["spark/a/2"] = model.OK
		check()
		checked(t, db, dir)
	}
}

// TestLargeExecution needs several values for its stages, and leaves out what does not
// fit.
func TestLargeExecution(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)])
		}
		return b.String()
	}
	e := execution("a", model.OK, 30)
	e.Graph = &model.StageGraph{}
	for i := range 2500 {
		e.Graph.Stages = append(e.Graph.Stages, model.Stage{ID: i, Query: -1, Details: noise(400)})
	}
	if p := put(t, db, e, private.Hints{}, naming("etl")); len(p.Dropped) > 0 || p.Run == nil {
		t.Errorf("%+v", p)
	}
	got, err := db.GetExecution(t.Context(), model.OriginID(e.Origin))
	if err != nil || !cmp.Equal(got.Execution, e) {
		t.Errorf("the stages changed (%v)", err)
	}
	for i := range e.Graph.Stages {
		e.Graph.Stages[i].Details += noise(3000)
	}
	e.Quality.Events++
	if p := put(t, db, e, private.Hints{}, naming("etl")); !cmp.Equal(p.Dropped, []string{"details of stages"}) || !p.Changed {
		t.Errorf("dropped %v", p.Dropped)
	}
	if p := put(t, db, e, private.Hints{}, naming("etl")); p.Changed {
		t.Error("the same again is a change")
	}
	if got, err = db.GetExecution(t.Context(), model.OriginID(e.Origin)); err != nil || len(got.Execution.Graph.Stages) != 2500 {
		t.Errorf("stages are missing (%v)", err)
	}
	checked(t, db, dir)
}

func TestWatchedFiles(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	f := private.WatchedFile{Path: "/logs/a", Size: 5, Modified: time.Unix(100, 7)}
	for i, c := range []struct {
		change func()
		want   bool
	}{{func() {}, false}, {func() {}, true}, {func() { f.Size++ }, false}, {func() { f.Modified = f.Modified.Add(1) }, false}, {func() { f.Path += "b" }, false}} {
		c.change()
		got, err := db.Watched(t.Context(), f)
		if err != nil || got != c.want {
			t.Errorf("step %d: %v (%v), want %v", i+1, got, err, c.want)
		}
		if err := db.SetWatched(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{f.Path, "/never"} {
		if err := db.ForgetWatched(t.Context(), path); err != nil {
			t.Error(err)
		}
	}
	if got, err := db.Watched(t.Context(), f); err != nil || got {
		t.Errorf("what was forgotten is known (%v)", err)
	}
	checked(t, db, dir)
}
