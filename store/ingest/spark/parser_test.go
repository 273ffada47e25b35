package spark

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

func parse(t *testing.T, log []byte) *model.Execution {
	t.Helper()
	e, err := ReadStream(t.Context(), bytes.NewReader(log), "log", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSmallLog(t *testing.T) {
	e := parse(t, small())
	start := time.UnixMilli(synthStart).UTC()
	want := model.Execution{
		Origin: "spark/application_1_0001/1/1700000000000", Framework: "spark", Version: "3.5.1",
		ApplicationID: "application_1_0001", Attempt: "1", Name: "ranks", User: "ada", Queue: "etl", MainClass: "org.example.Ranks",
		QuerySignature: e.QuerySignature, // TestQuerySignature
		Properties: map[string]string{"spark.master": "yarn", "spark.app.id": "application_1_0001",
			"spark.yarn.queue": "etl", "spark.executor.memory": "2g"},
		Start: start, End: start.Add(4 * time.Second), Outcome: model.OK, Jobs: 1,
		Cluster: model.Cluster{Manager: "yarn", Hosts: 2, MaxExecutors: 2, ExecutorCores: 4, ExecutorMemoryBytes: (2048 + 384) << 20,
			HostCores: 4, HostMemoryBytes: (2048 + 384) << 20, CoreSeconds: 2 * 4 * 3.9},
		Executors: []model.Executor{
			{ID: "1", Host: "host-a", Cores: 4, MemoryBytes: (2048 + 384) << 20, AddedSeconds: .1, RemovedSeconds: 4},
			{ID: "2", Host: "host-b", Cores: 4, MemoryBytes: (2048 + 384) << 20, AddedSeconds: .1, RemovedSeconds: 4},
		},
		InputBytes: 4000,
		Metrics:    e.Metrics, // TestMetrics
		Tasks:      e.Tasks,   // TestMetrics
		Graph: &model.StageGraph{Stages: []model.Stage{
			{ID: 0, Name: "map at Ranks.scala:0", Details: "org.example.Ranks.main(Ranks.scala:0)", Query: 3,
				Operators: []string{"Scan parquet", "Exchange"},
				Tasks:     2, Finished: 2, StartSeconds: .15, EndSeconds: 2.25, Outcome: model.OK,
				TaskSeconds: 3, RunSeconds: 3, CPUSeconds: 2.4, GCSeconds: .004, InputBytes: 4000, InputRecords: 14,
				ShuffleReadRecords: 18, ShuffleWriteBytes: 100, ShuffleWriteRecords: 8, SpillMemoryBytes: 10, SpillDiskBytes: 6},
			{ID: 1, Name: "map at Ranks.scala:1", Details: "org.example.Ranks.main(Ranks.scala:1)", Query: 3,
				Operators: []string{"Scan parquet", "Exchange"}, Parents: []int{0},
				Tasks: 1, Finished: 1, StartSeconds: 2.26, EndSeconds: 3.35, Outcome: model.OK,
				TaskSeconds: 1, RunSeconds: 1, CPUSeconds: .9, GCSeconds: .002, InputRecords: 7,
				ShuffleReadBytes: 100, ShuffleReadRecords: 9, ShuffleWriteRecords: 4, SpillMemoryBytes: 5, SpillDiskBytes: 3},
		}},
		Quality: model.Quality{Bytes: int64(len(small())), Events: 17},
	}
	round := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(&want, e, round); diff != "" {
		t.Fatal(diff)
	}
}

// TestSkippedParents has the jobs of adaptive execution: the map stage is a job of its
// own, and the next job names it by a number that is never run.
func TestSkippedParents(t *testing.T) {
	var s synth
	a := synthStage(0, 0, 3, 1, nil, "")
	s.head().job(0, a).submitted(a).task(synthTask{launch: 200, finish: 300, write: 50}).
		completed(synthStage(0, 0, 3, 1, nil, times(150, 310))).jobEnd(0, 320, "JobSucceeded")
	skipped, b := synthStage(1, 0, 3, 1, nil, ""), synthStage(2, 0, 8, 1, []int{1}, "")
	s.job(1, skipped, b).submitted(b).task(synthTask{stage: 2, launch: 400, finish: 500, read: 50}).
		completed(synthStage(2, 0, 8, 1, []int{1}, times(330, 510))).jobEnd(1, 520, "JobSucceeded").end(600)
	g := parse(t, s.Bytes()).Graph
	if len(g.Stages) != 2 || !cmp.Equal(g.Stages[1].Parents, []int{0}) {
		t.Fatalf("got %+v", g.Stages)
	}
}

// TestParentsByLineage lacks the starts of the jobs.
func TestParentsByLineage(t *testing.T) {
	var s synth
	a, b := synthStage(0, 0, 3, 1, nil, times(150, 310)), synthStage(2, 0, 4, 1, []int{1}, times(330, 510))
	b = strings.Replace(b, `,{"RDD ID":3,`, `,{"RDD ID":99,`, 1) // RDD 4 names 3, which is outside
	s.head().submitted(a).task(synthTask{launch: 200, finish: 300, write: 50}).completed(a).
		submitted(b).task(synthTask{stage: 2, launch: 400, finish: 500, read: 50}).completed(b).end(600)
	e := parse(t, s.Bytes())
	if g := e.Graph; len(g.Stages) != 2 || !cmp.Equal(g.Stages[1].Parents, []int{0}) || len(e.Quality.Notes) > 0 {
		t.Fatalf("got %+v, %v", g.Stages, e.Quality.Notes)
	}
}

// TestCountedOnce has a task that fails and is retried, one that is resubmitted after
// its executor was lost, and two copies of one, both of which end well.
func TestCountedOnce(t *testing.T) {
	var s synth
	a := synthStage(0, 0, 3, 3, nil, "")
	s.head().job(0, a).submitted(a).
		task(synthTask{index: 0, reason: "ExceptionFailure", launch: 200, finish: 300, write: 9}).
		task(synthTask{index: 0, launch: 300, finish: 400, write: 10}).
		task(synthTask{index: 1, launch: 300, finish: 400, write: 20}).
		task(synthTask{index: 1, reason: "Resubmitted", launch: 300, finish: 400, write: 20}).
		task(synthTask{index: 1, launch: 500, finish: 600, write: 20}).
		task(synthTask{index: 2, launch: 300, finish: 700, write: 30}).
		task(synthTask{index: 2, launch: 300, finish: 710, write: 30}).
		task(synthTask{index: 2, reason: "TaskKilled", launch: 300, finish: 720, write: 30}).
		completed(synthStage(0, 0, 3, 3, nil, times(150, 730))).jobEnd(0, 740, "JobSucceeded").end(800)
	e := parse(t, s.Bytes())
	st := e.Graph.Stages[0]
	if st.ShuffleWriteBytes != 60 || st.Finished != 3 || st.FailedTasks != 2 {
		t.Errorf("%.0f bytes of %d tasks, %d failed", st.ShuffleWriteBytes, st.Finished, st.FailedTasks)
	}
	if e.Tasks.Count != 3 || e.Tasks.Failed != 1 || e.Tasks.Killed != 1 {
		t.Errorf("%+v", e.Tasks)
	}
}

func TestMetrics(t *testing.T) {
	e := parse(t, small())
	// Of 8 cores x 3.9 s; the heap of every task is 1 GiB of 2432 MiB.
	if m := e.Metrics.Memory; m == nil || m.P50 < .41 || m.P50 > .43 {
		t.Errorf("memory %+v", m)
	}
	if c := e.Metrics.CPU; c == nil || c.P10 < 0 || c.P90 > .35 || c.P50 == 0 {
		t.Errorf("CPU %+v", c)
	}
	d := e.Tasks.DurationSeconds
	if d.P10 < .98 || d.P10 > 1.02 || d.P90 < 1.96 || d.P90 > 2 || d.Max != 2 {
		t.Errorf("durations %+v", d)
	}
	if e.Tasks.Seconds != 4 || e.Tasks.GCFraction() < .0014 || e.Tasks.GCFraction() > .0016 {
		t.Errorf("tasks %+v", e.Tasks)
	}
}

func TestExecutorsOverTime(t *testing.T) {
	var s synth
	s.head().executor("3", "host-b", 1000).removed("1", 2000).executor("4", "host-c", 3000).removed("2", 3500).end(5000)
	c := parse(t, s.Bytes()).Cluster
	// Executors 1, 2 and 3 on two hosts; then 2, 3 and 4 on two.
	if c.MaxExecutors != 3 || c.Hosts != 2 || c.HostCores != 8 || c.ScaleOut() != 2 || c.CoreSeconds != 4*(1.9+3.4+4+2) {
		t.Errorf("%+v", c)
	}
}

func TestOutcome(t *testing.T) {
	a := synthStage(0, 0, 3, 1, nil, "")
	for name, tc := range map[string]struct {
		log  func(s *synth)
		want model.Outcome
	}{
		"no end":                {func(*synth) {}, 0},
		"no jobs":               {func(s *synth) { s.end(9) }, model.OK},
		"last job failed":       {func(s *synth) { s.job(0, a).jobEnd(0, 5, "JobFailed").end(9) }, model.Failed},
		"a later job succeeded": {func(s *synth) { s.job(0, a).jobEnd(0, 5, "JobFailed").job(1, a).jobEnd(1, 6, "JobSucceeded").end(9) }, model.OK},
		"stopped in a job":      {func(s *synth) { s.job(0, a).end(9) }, model.Failed},
		"exit code": {func(s *synth) {
			s.event(`{"Event":"SparkListenerApplicationEnd","Timestamp":%d,"ExitCode":1}`, synthStart+9)
		}, model.Failed},
		"last query failed": {func(s *synth) {
			s.event(`{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd","executionId":0,"time":1,"errorMessage":"{}"}`).end(9)
		}, model.Failed},
	} {
		var s synth
		tc.log(s.head())
		e := parse(t, s.Bytes())
		if e.Outcome != tc.want || e.EndEstimated != (tc.want == 0) {
			t.Errorf("%s: outcome %d, end estimated %v", name, e.Outcome, e.EndEstimated)
		}
	}
}

// TestQuerySignature depends on operators, not on tables, literals or the plan's text.
func TestQuerySignature(t *testing.T) {
	sign := func(change ...string) string {
		var s synth
		s.head().query(0, 1000).query(1, 10)
		return parse(t, []byte(strings.NewReplacer(change...).Replace(s.String()))).QuerySignature
	}
	plain := sign("-", "-")
	if len(plain) != 16 {
		t.Fatalf("signature %q", plain)
	}
	if other := sign("db.secret", "db.other", "k#1", "k#17"); other != plain {
		t.Error("depends on a table")
	}
	if other := sign(`"nodeName":"HashAggregate"`, `"nodeName":"SortAggregate"`); other == plain {
		t.Error("does not depend on an operator")
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		log  string
		want error
	}{
		"empty":           {"", ErrNoEvents},
		"another file":    {"infrastructure,framework\naws,spark\n", ErrNoEvents},
		"other JSON":      {`{"Event":"something"}` + "\n", ErrNoEvents},
		"a later part":    {`{"Event":"SparkListenerApplicationEnd","Timestamp":1700000000000}` + "\n", ErrHeadless},
		"the first event": {`{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}` + "\n", ErrNoStart},
	} {
		p := NewParser()
		for _, l := range strings.Split(tc.log, "\n") {
			p.Line([]byte(l))
		}
		if _, err := p.Execution(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// TestForms has logs that other software rewrote: with spaces, or the event's name at
// the end; and a driver's memory and cores in local runs.
func TestForms(t *testing.T) {
	log := `{ "Event": "SparkListenerLogStart", "Spark Version": "2.4.0" }` + "\r\n" +
		`{"Spark Properties":{"spark.master":"local[6]","spark.driver.memory":"3g"},"Event":"SparkListenerEnvironmentUpdate"}` + "\n\n" +
		`{"App Name":"x","App ID":"local-1","Timestamp":1700000000000,"User":"*********(redacted)","Event":"SparkListenerApplicationStart"}` + "\n" +
		`{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task End Reason":{"Reason":"Success"},"Task Info":{"Index":0,"Launch Time":1700000001000,"Executor ID":"driver","Host":"localhost","Finish Time":1700000002000}}` + "\n" +
		`{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Atte`
	e := parse(t, []byte(log))
	if e.Version != "2.4.0" || e.User != "" || !e.Quality.Cut || e.Quality.BadLines != 0 || e.RuntimeSeconds() != 2 {
		t.Errorf("%+v", e)
	}
	want := model.Executor{ID: "driver", Host: "localhost", Cores: 6, MemoryBytes: 3 << 30, AddedSeconds: 1, RemovedSeconds: 2}
	if diff := cmp.Diff([]model.Executor{want}, e.Executors); diff != "" {
		t.Error(diff)
	}
}

// TestLongNames has names beyond what is kept, of characters that are cut in the middle
// or grow when they are normalised.
func TestLongNames(t *testing.T) {
	for _, c := range []string{"a", "\u00e9", "\U0001d160", "\u0344", "\n", "\xff"} {
		long := strings.Repeat(c, 3000)
		in, err := json.Marshal(long)
		if err != nil {
			t.Fatal(err)
		}
		var s synth
		s.event(`{"Event":"SparkListenerLogStart","Spark Version":%s}`, in).
			event(`{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.app.id":%s,"spark.app.attempt.id":%s,"spark.yarn.queue":%s,"spark.app.name":%s,"spark.databricks.workerNodeTypeId":%s},"System Properties":{"sun.java.command":%s}}`, in, in, in, in, in, in).
			event(`{"Event":"SparkListenerExecutorAdded","Timestamp":%d,"Executor ID":%s,"Executor Info":{"Host":%s,"Total Cores":4}}`, synthStart, in, in).
			event(`{"Event":"SparkListenerExecutorRemoved","Timestamp":%d,"Executor ID":%s,"Removed Reason":%s}`, synthStart, in, in).
			event(`{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"Stage Name":%s,"Details":%s,"RDD Info":[{"RDD ID":1,"Scope":"{\"name\":\"%s\"}"}],"Submission Time":%d}}`, in, in, strings.Repeat("x", 3000), synthStart).
			event(`{"Event":"SparkListenerApplicationStart","App Name":%s,"User":%s,"Timestamp":%d}`, in, in, synthStart)
		if e := check(t, s.Bytes(), "long"); e == nil || e.Quality.BadLines > 0 {
			t.Errorf("%q: %+v", c, e)
		}
	}
}
