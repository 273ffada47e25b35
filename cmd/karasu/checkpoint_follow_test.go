package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
	"github.com/karasu-project/karasu/store/ingest/spark"
	"github.com/karasu-project/karasu/store/private"
)

// deciding is a daemon that only follows.
type deciding struct {
	karasuv1connect.UnimplementedKarasuServiceHandler
	advisor *checkpoint.Advisor
}

func (d *deciding) FollowCheckpoint(ctx context.Context, req *connect.Request[karasuv1.FollowCheckpointRequest]) (*connect.Response[karasuv1.FollowCheckpointResponse], error) {
	res, err := d.advisor.Follow(ctx, req.Msg)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// logLines are the events of an application of three stages in a row that takes 300 s, a
// step each: its start and first stage, then the end of each stage.
func logLines(app string, day int) []string {
	start := time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC).UnixMilli()
	info := func(id int) string {
		parents := ""
		if id > 0 {
			parents = fmt.Sprint(id - 1)
		}
		return fmt.Sprintf(`"Stage ID":%d,"Stage Attempt ID":0,"Stage Name":"map at Job.scala:%d","Number of Tasks":1,"RDD Info":[],"Parent IDs":[%s],"Details":"","Submission Time":%d`, id, id, parents, start+int64(id)*100_000)
	}
	submitted := func(id int) string {
		return fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":{%s},"Properties":{}}`+"\n", info(id))
	}
	steps := []string{fmt.Sprintf(`{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}
{"Event":"SparkListenerApplicationStart","App Name":"nightly","App ID":"%s","Timestamp":%d,"User":"etl"}
`, app, start) + submitted(0)}
	for id, bytes := range []int64{50e9, 1e9, 0} {
		end := start + int64(id+1)*100_000
		step := fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Stage Attempt ID":0,"Task Type":"ShuffleMapTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":%d,"Index":0,"Attempt":0,"Launch Time":%d,"Executor ID":"1","Host":"h","Finish Time":%d,"Failed":false,"Killed":false},"Task Metrics":{"Executor Run Time":100000,"Shuffle Write Metrics":{"Shuffle Bytes Written":%d}}}
{"Event":"SparkListenerStageCompleted","Stage Info":{%s,"Completion Time":%d}}
`, id, id, end-100_000, end, bytes, info(id), end)
		if id < 2 {
			step += submitted(id + 1)
		} else {
			step += fmt.Sprintf(`{"Event":"SparkListenerApplicationEnd","Timestamp":%d}`+"\n", end)
		}
		steps = append(steps, step)
	}
	return steps
}

// decidingDaemon knows one earlier run.
func decidingDaemon(t *testing.T) func(string) string {
	t.Helper()
	earlier, err := spark.ReadStream(t.Context(), strings.NewReader(strings.Join(logLines("app-1", 1), "")), "app-1", spark.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := private.OpenDB(t.TempDir(), private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := checkpoint.New(checkpoint.Options{Executions: db})
	t.Cleanup(func() {
		a.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.PutExecution(t.Context(), *earlier, private.Hints{}, func(model.Execution, private.Hints) *model.Run { return nil }); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(karasuv1connect.NewKarasuServiceHandler(&deciding{advisor: a}))
	return serve(t, mux)
}

// growing is output that a test waits for.
type growing struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func (g *growing) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(g.String(), text) {
			return
		}
	}
	t.Fatalf("%q did not come:\n%s", text, g)
}

// TestFollowAGrowingLog appends to a log, with a cut last line each time, and renames it at
// the end as Spark does; a rolling log grows in its parts.
func TestFollowAGrowingLog(t *testing.T) {
	env := decidingDaemon(t)
	for _, rolling := range []bool{false, true} {
		t.Run(fmt.Sprintf("rolling=%t", rolling), func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "app-2.inprogress")
			part := func(int) string { return log }
			if rolling {
				log = filepath.Join(dir, "eventlog_v2_app-2")
				if err := os.Mkdir(log, 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(log, "appstatus_app-2.inprogress"), "")
				part = func(step int) string { return filepath.Join(log, fmt.Sprintf("events_%d_app-2", 1+step/2)) }
			}
			steps := logLines("app-2", 2)
			whole := map[string]string{}
			grow := func(step int) {
				name := part(step)
				whole[name] += steps[step]
				text := whole[name]
				if step+1 < len(steps) && part(step+1) == name {
					text += steps[step+1][:40] // a line that is not whole yet
				}
				write(t, name, text)
			}
			grow(0)
			var out growing
			done := make(chan int)
			go func() {
				var stderr bytes.Buffer
				code := run(t.Context(), []string{"checkpoint", "follow", log, "--interval", "10ms"}, strings.NewReader(""), &out, &stderr, env)
				if stderr.Len() > 0 {
					t.Errorf("standard error: %s", stderr.String())
				}
				done <- code
			}()
			out.await(t, "0/3 stages  plan: persist stage 1 (1.0 GB) at the end of stages 0, 1;")
			grow(1)
			out.await(t, "1/3 stages  plan: persist stage 1")
			grow(2)
			out.await(t, "2/3 stages  PERSIST NOW stage 1 (1.0 GB)")
			grow(3)
			if !rolling {
				if err := os.Rename(log, strings.TrimSuffix(log, ".inprogress")); err != nil {
					t.Fatal(err)
				}
			}
			if code := <-done; code != exitOK || !strings.Contains(out.String(), "The application has ended: 4 decisions, 1 cut to persist.") {
				t.Errorf("exit code %d:\n%s", code, out.String())
			}
		})
	}
}

// TestFollowIsInterrupted: what was decided stays, and it is no error.
func TestFollowIsInterrupted(t *testing.T) {
	env := decidingDaemon(t)
	log := filepath.Join(t.TempDir(), "app-3.inprogress")
	write(t, log, logLines("app-3", 3)[0])
	ctx, cancel := context.WithCancel(t.Context())
	var out, stderr growing
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"checkpoint", "follow", log, "--interval", "10ms", "--json"}, strings.NewReader(""), &out, &stderr, env)
	}()
	out.await(t, "\n")
	cancel()
	if code := <-done; code != exitOK || stderr.String() != "" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	var decision struct {
		Stages int  `json:"stages"`
		Commit bool `json:"commit"`
	}
	if err := json.Unmarshal([]byte(out.String()), &decision); err != nil || decision.Stages != 3 || decision.Commit {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestSnapshotEndsInWholeMilliseconds: in floating point, 67.121 s is less than 67121 ms, and
// an end cut to milliseconds would be before an executor that is there until then.
func TestSnapshotEndsInWholeMilliseconds(t *testing.T) {
	start := time.UnixMilli(1772330400000).UTC()
	for ms := int64(1); ms < 100_000; ms += 7 {
		at := float64(ms) / 1000
		e := atTime(&model.Execution{
			Start: start, Executors: []model.Executor{{ID: "7", Cores: 1, RemovedSeconds: at + 1}},
			Graph: &model.StageGraph{Stages: []model.Stage{{EndSeconds: at}}},
		}, at)
		if got := e.End.UnixMilli() - start.UnixMilli(); got != ms {
			t.Fatalf("at %g s the application ends after %d ms", at, got)
		}
	}
}

// TestFollowALogThatWasCut says why nothing comes.
func TestFollowALogThatWasCut(t *testing.T) {
	env := decidingDaemon(t)
	log := filepath.Join(t.TempDir(), "app-4")
	write(t, log, logLines("app-4", 4)[0])
	ctx, cancel := context.WithCancel(t.Context())
	var out, stderr growing
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"checkpoint", "follow", log, "--interval", "10ms"}, strings.NewReader(""), &out, &stderr, env)
	}()
	out.await(t, "0/3 stages")
	cancel()
	if code := <-done; code != exitOK || strings.Count(stderr.String(), "its end is missing: it may be cut; waiting for more") != 1 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
