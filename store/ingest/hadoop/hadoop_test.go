package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

const begin = 1_700_000_000_000 // ms

// history writes a job with one map that is tried twice and one reduce, on two hosts.
func history() string {
	var b strings.Builder
	event := func(kind, record, fields string, args ...any) {
		fmt.Fprintf(&b, `{"type":%q,"event":{"org.apache.hadoop.mapreduce.jobhistory.%s":{%s}}}`+"\n", kind, record, fmt.Sprintf(fields, args...))
	}
	const m, r = "task_1_0007_m_000000", "task_1_0007_r_000000"
	b.WriteString("Avro-Json\n" + `{"type":"record","name":"Event"}` + "\n")
	event("AM_STARTED", "AMStarted", `"applicationAttemptId":"appattempt_1_0007_000002","startTime":%d`, begin-2000)
	event("JOB_SUBMITTED", "JobSubmitted", `"jobid":"job_1_0007","jobName":"sort","userName":"ann","submitTime":%d,"jobQueueName":"low","workflowId":{"string":""}`, begin-9000)
	event("JOB_QUEUE_CHANGED", "JobQueueChange", `"jobid":"job_1_0007","jobQueueName":"high"`)
	event("JOB_INITED", "JobInited", `"jobid":"job_1_0007","launchTime":%d,"totalMaps":1,"totalReduces":1`, begin)
	event("TASK_STARTED", "TaskStarted", `"taskid":%q,"taskType":"MAP","startTime":%d`, m, begin)
	for i, host := range []string{"a", "b"} {
		event("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", `"taskid":%q,"taskType":"MAP","attemptId":"m%d","startTime":%d,"trackerName":%q,"locality":null`, m, i, begin+1000*int64(1+i), host)
	}
	event("MAP_ATTEMPT_FAILED", "TaskAttemptUnsuccessfulCompletion", `"taskid":%q,"taskType":"MAP","attemptId":"m0","finishTime":%d,"hostname":"a","counters":null`, m, begin+4000)
	event("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", `"taskid":%q,"taskType":"MAP","attemptId":"m1","taskStatus":"SUCCEEDED","finishTime":%d,"hostname":"b","counters":%s`, m, begin+12000,
		`{"groups":[{"name":"FileSystemCounters","counts":[{"name":"S3A_BYTES_READ","value":5000},{"name":"FILE_BYTES_READ","value":7}]},{"name":"org.apache.hadoop.mapred.Task$Counter","counts":[{"name":"MAP_OUTPUT_MATERIALIZED_BYTES","value":100},{"name":"MAP_OUTPUT_RECORDS","value":10},{"name":"CPU_MILLISECONDS","value":5000},{"name":"GC_TIME_MILLIS","value":1000},{"name":"PHYSICAL_MEMORY_BYTES","value":536870912},{"name":"SPILLED_RECORDS","value":3}]}]}`)
	event("TASK_FINISHED", "TaskFinished", `"taskid":%q,"taskType":"MAP","finishTime":%d,"status":"SUCCEEDED"`, m, begin+12000)
	event("REDUCE_ATTEMPT_STARTED", "TaskAttemptStarted", `"taskid":%q,"taskType":"REDUCE","attemptId":"r0","startTime":%d,"trackerName":"a"`, r, begin+8000)
	event("REDUCE_ATTEMPT_FINISHED", "ReduceAttemptFinished", `"taskid":%q,"taskType":"REDUCE","attemptId":"r0","taskStatus":"SUCCEEDED","finishTime":%d,"hostname":"a","counters":{"org.apache.hadoop.mapreduce.jobhistory.JhCounters":%s}`, r, begin+20000,
		`{"groups":[{"name":"org.apache.hadoop.mapreduce.TaskCounter","counts":[{"name":"REDUCE_SHUFFLE_BYTES","value":100}]},{"name":"org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter","counts":[{"name":"BYTES_WRITTEN","value":70}]}]}`)
	event("TASK_FINISHED", "TaskFinished", `"taskid":%q,"taskType":"REDUCE","finishTime":%d,"status":"SUCCEEDED"`, r, begin+20000)
	event("JOB_FINISHED", "JobFinished", `"jobid":"job_1_0007","finishTime":%d,"totalCounters":{"groups":[]}`, begin+20500)
	return b.String()
}

const settings = `<?xml version="1.0"?><configuration><property><name>mapreduce.map.memory.mb</name><value>1024</value></property>
<property><name>mapreduce.map.cpu.vcores</name><value>2</value></property><property><name>fs.s3a.secret.key</name><value>hush</value></property>
<property><name>mapreduce.reduce.cpu.vcores</name><value>1</value></property><property><name>mapreduce.job.map.class</name><value>Sort$Map</value></property>
<property><name>mapreduce.application.framework.path</name><value>hdfs:/apps/hadoop-2.7.3.tar.gz#mr</value></property></configuration>`

func TestExecution(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"job_1_0007-x.jhist": history(), "job_1_0007_conf.xml": settings, ".hidden.jhist": "x", "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all []*model.Execution
	read := 0
	for e, err := range Executions(t.Context(), dir, Options{Progress: func(n int) { read += n }}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) != 1 || read != len(history()) {
		t.Fatalf("%d executions, %d bytes", len(all), read)
	}
	e := all[0]
	if e.Origin != "hadoop/job_1_0007" || e.Version != "2.7.3" || e.Attempt != "2" || e.Name != "sort" || e.User != "ann" || e.Queue != "high" || e.MainClass != "Sort$Map" || e.Outcome != model.OK || e.RuntimeSeconds() != 20.5 {
		t.Errorf("%+v", e)
	}
	want := &model.StageGraph{Stages: []model.Stage{
		{ID: 0, Name: "map", Query: -1, Tasks: 1, Finished: 1, FailedTasks: 1, StartSeconds: 1, EndSeconds: 12, Outcome: model.OK,
			TaskSeconds: 10, RunSeconds: 10, CPUSeconds: 5, GCSeconds: 1, InputBytes: 5000, ShuffleWriteBytes: 100, ShuffleWriteRecords: 10},
		{ID: 1, Name: "reduce", Query: -1, Parents: []int{0}, Tasks: 1, Finished: 1, StartSeconds: 8, EndSeconds: 20, Outcome: model.OK,
			TaskSeconds: 12, RunSeconds: 12, OutputBytes: 70, ShuffleReadBytes: 100},
	}}
	if d := cmp.Diff(want, e.Graph); d != "" {
		t.Error(d)
	}
	// Two maps at a time on two hosts, later a map and a reduce; 3 + 10 s of two cores
	// and 12 s of one.
	if d := cmp.Diff(model.Cluster{Manager: "yarn", Hosts: 2, MaxExecutors: 2, ExecutorCores: 2, ExecutorMemoryBytes: 1 << 30, HostCores: 2, HostMemoryBytes: 1 << 30, CoreSeconds: 38}, e.Cluster); d != "" {
		t.Error(d)
	}
	if e.Metrics.CPU.P90 != 0.25 || e.Metrics.Memory.P50 != 0.5 || e.Tasks.Failed != 1 || e.InputBytes != 5000 || e.Properties["spilled records"] != "3" {
		t.Errorf("%+v %+v", e.Metrics, e.Tasks)
	}
	for k, v := range e.Properties {
		if strings.Contains(v, "hush") {
			t.Errorf("%s is kept", k)
		}
	}
}

func read(t *testing.T, text, conf string) (*model.Execution, error) {
	t.Helper()
	var c io.Reader
	if conf != "" {
		c = strings.NewReader(conf)
	}
	return ReadStream(t.Context(), strings.NewReader(text), "x.jhist", c, Options{})
}

// What is missing or broken costs as little as it can.
func TestOddHistories(t *testing.T) {
	lines := strings.SplitAfter(history(), "\n")
	without := func(kind string) string {
		var b strings.Builder
		for _, l := range lines {
			if !strings.Contains(l, kind) {
				b.WriteString(l)
			}
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text, conf string
		ok               func(*model.Execution) bool
	}{
		{"no end", without("JOB_FINISHED"), "", func(e *model.Execution) bool {
			return e.Outcome == 0 && e.EndEstimated && e.RuntimeSeconds() == 20 && !e.Quality.Cut
		}},
		{"killed", strings.Replace(history(), "JOB_FINISHED", "JOB_KILLED", 1), "", func(e *model.Execution) bool { return e.Outcome == model.Failed && e.FailedJobs == 1 }},
		{"no start of the reduce", without("REDUCE_ATTEMPT_STARTED"), "", func(e *model.Execution) bool { return e.Graph.Stages[1].TaskSeconds == 0 }},
		{"not initialised", without("JOB_INITED"), "", func(e *model.Execution) bool { return e.RuntimeSeconds() == 22.5 && len(e.Quality.Notes) == 1 }},
		{"broken lines", strings.Replace(history(), "Avro-Json\n", "Avro-Json\n{\n[]\n"+`{"type":"X"}`+"\n", 1), "", func(e *model.Execution) bool { return e.Quality.BadLines == 3 && e.Outcome == model.OK }},
		{"long line", history() + strings.Repeat("x", MaxLine+1) + "\n" + lines[4], "", func(e *model.Execution) bool { return e.Quality.BadLines == 1 && e.Queue == "high" }},
		{"ends before it starts", strings.Replace(history(), fmt.Sprint(begin+20500), fmt.Sprint(begin-1), 1), "", func(e *model.Execution) bool { return e.EndEstimated && e.RuntimeSeconds() == 20 }},
		{"a time in seconds", strings.Replace(history(), fmt.Sprint(begin+20500), "1700000020", 1), "", func(e *model.Execution) bool { return e.EndEstimated }},
		{"configuration cut", history(), settings[:200], func(e *model.Execution) bool {
			return len(e.Quality.Notes) == 1 && strings.Contains(e.Quality.Notes[0], "is not a Hadoop configuration")
		}},
		{"no configuration", history(), "", func(e *model.Execution) bool { return e.Metrics.CPU == nil && e.Cluster.CoreSeconds == 0 }},
		{"control characters", strings.Replace(history(), `"sort"`, `"so\u0000rt\nx"`, 1), "", func(e *model.Execution) bool { return e.Name == "so rt x" }},
	} {
		e, err := read(t, c.text, c.conf)
		if err != nil || !c.ok(e) {
			t.Errorf("%s: %v, %+v", c.name, err, e)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "x.jhist: holds no event of a job"},
		{"something else", "hello\nworld\n", "x.jhist: holds no event of a job"},
		{"binary without a schema", "Avro-Binary\n\x00\x01", "x.jhist: holds no event of a job"},
		{"Hadoop 1", "Meta VERSION=\"1\" .\n", "x.jhist: is a history of Hadoop 1"},
		{"no time", "Avro-Json\n{}\n" + `{"type":"JOB_QUEUE_CHANGED","event":{"x":{"jobid":"job_1_2"}}}` + "\n", "x.jhist: holds no event with a time"},
		{"ten years", strings.Replace(history(), fmt.Sprint(begin+20500), "7200000000000", 1), "x.jhist: does not make sense: runtime must be"},
	} {
		var p *ingest.Problem
		if _, err := read(t, c.text, ""); !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ReadStream(t.Context(), io.MultiReader(strings.NewReader(history()), iotest.ErrReader(broken)), "", nil, Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadStream(ctx, strings.NewReader(history()), "", nil, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, err := range Executions(t.Context(), "absent", Options{}) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(history()), []byte(settings))
	f.Add([]byte("Avro-Json\n{}\n"), []byte("<configuration/>"))
	f.Add([]byte("Avro-Binary\n"+smallSchema+"\n\x00\x02\x02x\x02\x02\x01\x00\x00"), []byte("<configuration/>"))
	f.Fuzz(func(t *testing.T, text, conf []byte) {
		check(t, text)
		e, err := ReadStream(t.Context(), strings.NewReader(string(text)), "f", strings.NewReader(string(conf)), Options{})
		if err == nil {
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
