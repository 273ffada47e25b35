package spark

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest"
)

// check reads a damaged log. It must end, and give an execution that holds together or
// a reason that was thought of.
func check(tb testing.TB, log []byte, name string) *model.Execution {
	tb.Helper()
	e, err := ReadStream(context.Background(), bytes.NewReader(log), name, Options{})
	var p *ingest.Problem
	switch {
	case errors.As(err, &p):
		if strings.Contains(p.Text, "does not make sense") {
			tb.Fatalf("%s: %v", name, err)
		}
		return nil
	case err != nil:
		tb.Fatalf("%s: %v", name, err)
	}
	if err := e.Validate(); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	if e.RuntimeSeconds() < 0 {
		tb.Fatalf("%s: negative runtime", name)
	}
	return e
}

var every = flag.Bool("every", false, "cut and flip at every byte of every small log, which takes minutes")

// step returns the step for places in a log: about n places, fewer in a short run.
func step(log []byte, n int) int {
	switch {
	case *every:
		return 1
	case testing.Short():
		n /= 8
	}
	return 1 + len(log)/n
}

// damageable are small logs: what this package makes, and public ones.
func damageable(t *testing.T) map[string][]byte {
	logs := map[string][]byte{"small": small(), "small.zstd": compressed(t, small())}
	for _, name := range []string{"v1.5.1-pythonpi", "v2.4.5-compass", "v3.1.1-speculation", "v3.1.1-no-application-start.zstd"} {
		b, err := os.ReadFile(modeltest.Data(t, "spark-events/"+name))
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = b
	}
	return logs
}

// TestCutAnywhere cuts in the last 4 KB: in logs of less than 10 KB at every byte, in
// longer ones in steps, so that it takes seconds.
func TestCutAnywhere(t *testing.T) {
	for name, log := range damageable(t) {
		for n := max(0, len(log)-4096); n < len(log); n += step(log, 10_000) {
			if e := check(t, log[:n], name); e == nil && n > 8<<10 && log[0] == '{' {
				t.Fatalf("%s cut at %d of %d is refused", name, n, len(log))
			}
		}
	}
}

func TestFlipAnywhere(t *testing.T) {
	for name, log := range damageable(t) {
		for i := 0; i < len(log); i += step(log, 600) {
			b := bytes.Clone(log)
			b[i] ^= 1 << (i % 8)
			check(t, b, name)
		}
	}
}

// TestBrokenLines has broken lines anywhere; all others count.
func TestBrokenLines(t *testing.T) {
	whole := check(t, small(), "small")
	lines := bytes.SplitAfter(small(), []byte("\n"))
	broken := [][]byte{[]byte("{\n"), []byte("\x00\xff garbage\n"), []byte(`{"Event":"SparkListenerTaskEnd","Stage ID":"zero"}` + "\n"),
		[]byte(`{"Event":"SparkListenerTaskEnd",_"Stage ID":0}` + "\n")}
	var log []byte
	for i, l := range lines {
		log = append(append(log, l...), broken[i%len(broken)]...)
	}
	e := check(t, log, "broken")
	if e.Quality.BadLines != len(lines) || e.Quality.Events != whole.Quality.Events {
		t.Errorf("%d bad lines of %d, %d events of %d", e.Quality.BadLines, len(lines), e.Quality.Events, whole.Quality.Events)
	}
	if e.Tasks != whole.Tasks {
		t.Errorf("got %+v, want %+v", e.Tasks, whole.Tasks)
	}
}

// TestMemory reads logs of 150 MB, with lines of 1 MB and of 25 MB, that are wanted and
// that are not, and looks at the memory that the process has from the system.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 600 MB")
	}
	const size, most = 150 << 20, 200 << 20
	head, tail := new(synth).head().Bytes(), new(synth).end(5000).Bytes()
	for name, make := range map[string]func(*synth){
		"plans of 1 MB":        func(s *synth) { s.query(0, 1<<20).update(0, 1<<20) },
		"queries of 25 MB":     func(s *synth) { s.query(0, 25<<20) },
		"updates of 25 MB":     func(s *synth) { s.update(0, 25<<20) },
		"task ends of 25 MB":   func(s *synth) { s.task(synthTask{launch: 200, finish: 300, padding: 25 << 20 / 117}) },
		"task ends and stages": func(s *synth) { benchStage(s, 0, 400) },
	} {
		var s synth
		make(&s)
		body := bytes.Clone(s.Bytes())
		s = synth{}
		debug.FreeOSMemory()
		peak := uint64(0)
		sample := func(int) { peak = max(peak, resident()) }
		before := resident()
		e, err := ReadStream(t.Context(), repeated(head, body, tail, size), "log", Options{Progress: sample})
		if err != nil {
			t.Fatal(err)
		}
		if e.Quality.Bytes < size || e.Outcome != model.OK || e.Quality.BadLines > 0 {
			t.Errorf("%s: %+v", name, e.Quality)
		}
		t.Logf("%s: %d MB before, at most %d MB", name, before>>20, peak>>20)
		if peak > most {
			t.Errorf("%s: %d MB resident, want at most %d", name, peak>>20, most>>20)
		}
	}
}

// resident is the memory that the Go runtime has from the system.
func resident() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// FuzzLog has small seeds: the fuzzer spends its time on making inputs shorter.
func FuzzLog(f *testing.F) {
	const start = `{"Event":"SparkListenerApplicationStart","App ID":"a","Timestamp":1700000000000}` + "\n"
	for _, lines := range []string{
		`{"Event":"SparkListenerLogStart","Spark Version":"3"}` + "\n" + start + `{"Event":"SparkListenerApplicationEnd","Timestamp":1600000000000}`,
		start + `{"Event":"SparkListenerJobStart","Job ID":0,"Stage Infos":[{"Stage ID":1,"Number of Tasks":1,"RDD Info":[{"RDD ID":3}],"Parent IDs":[0]}],"Properties":{"spark.sql.execution.id":"3"}}` + "\n" +
			`{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":1,"Stage Attempt ID":2,"Parent IDs":[1,0],"Submission Time":1700000000100}}` + "\n" +
			`{"Event":"SparkListenerJobEnd","Job ID":0}`,
		start + `{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task Type":"ShuffleMapTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Index":5,"Launch Time":1700000000900,"Executor ID":"1","Finish Time":1700000000800},"Task Metrics":{"Executor Run Time":-9,"Executor CPU Time":9000000000,"Input Metrics":{"Bytes Read":1e18}}}`,
		start + `{"Event":"SparkListenerExecutorAdded","Timestamp":1700000000100,"Executor ID":"1","Executor Info":{"Host":"h","Total Cores":4}}` + "\n" +
			`{"Event":"SparkListenerExecutorRemoved","Timestamp":1600000000100,"Executor ID":"1"}`,
		start + `{"Event":"x.SparkListenerSQLExecutionStart","sparkPlanInfo":{"nodeName":"A (1)","children":[{"nodeName":"B","children":[]}]}}`,
		start + `{"Spark Properties":{"spark.master":"local[4]","spark.driver.memory":"4g"}, "Event" : "SparkListenerEnvironmentUpdate"}`,
	} {
		f.Add([]byte(lines), "log")
	}
	f.Add([]byte("ZV\x00\x00\x0a{\"Event\":\""), "log.lzf")
	f.Fuzz(func(t *testing.T, log []byte, name string) { check(t, log, name) })
}
