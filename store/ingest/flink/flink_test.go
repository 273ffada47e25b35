package flink

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/golden.txt with what the public jobs give now")

// TestGolden pins what each public file gives, or why it is skipped. Those files are
// of running jobs, so each is read as well as if its job had just finished.
func TestGolden(t *testing.T) {
	dir := modeltest.Data(t, "flink")
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "file\tname\tstages\tread\twritten\truntime_s\toutcome")
	for f, err := range FindPath(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(f.Name)
		_, err := f.Read(t.Context())
		var p *ingest.Problem
		if !errors.As(err, &p) {
			t.Fatalf("%s: %v", base, err)
		}
		_, _ = fmt.Fprintf(w, "%s\tskipped: %s\n", base, p.Text)
		text, err := os.ReadFile(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		var now struct{ Now int64 }
		if err := json.Unmarshal(text, &now); err != nil {
			t.Fatal(err)
		}
		ended := strings.ReplaceAll(string(text), `"end-time": -1`, fmt.Sprintf(`"end-time": %d`, now.Now))
		ended = strings.ReplaceAll(ended, `"RUNNING",`, `"FINISHED",`)
		ended = strings.ReplaceAll(strings.ReplaceAll(ended, `"FINISHED": 0`, `"GONE": 0`), `"RUNNING": `, `"FINISHED": `)
		e, err := Read(t.Context(), strings.NewReader(ended), base)
		if err != nil {
			t.Fatal(err)
		}
		stages := ""
		for _, s := range e.Graph.Stages {
			stages += fmt.Sprintf("%d %d/%d %.3f-%.3f %v ", s.ID, s.Finished, s.Tasks, s.StartSeconds, s.EndSeconds, s.Parents)
		}
		_, _ = fmt.Fprintf(w, "as if ended\t%s\t%s\t%.0f\t%.0f\t%.3f\t%s\n", e.Name, strings.TrimSpace(stages), e.Tasks.ShuffleReadBytes, e.Tasks.ShuffleWriteBytes, e.RuntimeSeconds(), e.Outcome)
		if r, w := e.Tasks.ShuffleReadBytes, e.Tasks.ShuffleWriteBytes; r < w || r > 1.04*w {
			t.Errorf("%s: read %g bytes of %g", base, r, w)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden.txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); d != "" {
		t.Errorf("go test -run TestGolden -rewrite accepts this (-want +got):\n%s", d)
	}
}

const (
	jid   = "0123456789abcdef0123456789abcdef"
	v1    = "11111111111111111111111111111111"
	v2    = "22222222222222222222222222222222"
	begin = 1_700_000_000_000
)

// jobDetails writes a batch job with two vertices that ran and one that did not.
func jobDetails(state string) string {
	return fmt.Sprintf(`{"jid":%q,"name":"wc","state":%q,"start-time":%d,"end-time":%d,"vertices":[
{"id":%q,"name":"Source","parallelism":2,"status":"FINISHED","start-time":%d,"end-time":%d,"tasks":{"FINISHED":2},
 "metrics":{"read-bytes":0,"write-bytes":1000,"write-records":10,"accumulated-busy-time":"NaN","write-bytes-complete":true}},
{"id":%q,"name":"Sink","parallelism":1,"status":"FINISHED","start-time":%d,"end-time":%d,"tasks":{"FINISHED":1,"FAILED":1},
 "metrics":{"read-bytes":1000,"read-records":10,"write-bytes":0,"accumulated-busy-time":2500.5,"read-bytes-complete":false}},
{"id":"33333333333333333333333333333333","name":"Never","parallelism":1,"status":"CANCELED","start-time":-1,"end-time":-1,"tasks":{},"metrics":{}}],
"plan":{"jid":%q,"type":"BATCH","nodes":[{"id":%q,"inputs":[{"num":0,"id":%q},{"num":1,"id":"33333333333333333333333333333333"}]},{"id":%q}]}}`,
		jid, state, begin, begin+10_000, v1, begin+1000, begin+5000, v2, begin+2000, begin+9000, jid, v2, v1, v1)
}

func vertexJSON(id string, hosts ...string) string {
	var subtasks []string
	for i, h := range hosts {
		subtasks = append(subtasks, fmt.Sprintf(`{"subtask":%d,"status":"FINISHED",%s,"start-time":%d,"end-time":%d}`, i, h, begin+1000, begin+3000+1000*i))
	}
	return fmt.Sprintf(`{"id":%q,"subtasks":[%s]}`, id, strings.Join(subtasks, ","))
}

var documents = map[string]string{
	"/jobs/" + jid:                     jobDetails("FINISHED"),
	"/jobs/" + jid + "/config":         `{"jid":"x","execution-config":{"execution-mode":"PIPELINED","restart-strategy":"none","job-parallelism":2,"user-config":{"password":"hush"}}}`,
	"/jobs/" + jid + "/vertices/" + v1: vertexJSON(v1, `"host":"tm1:4711","taskmanager-id":"a"`, `"endpoint":"tm2:4711","taskmanager-id":"b"`),
	"/jobs/" + jid + "/vertices/" + v2: vertexJSON(v2, `"host":"(unassigned)","taskmanager-id":"(unassigned)"`),
}

func archive(tb testing.TB) string {
	tb.Helper()
	type part struct {
		Path string `json:"path"`
		JSON string `json:"json"`
	}
	parts := []part{{"/jobs/overview", `{"jobs":[]}`}}
	for _, p := range []string{"/config", "", "/vertices/" + v1, "/vertices/" + v2} {
		parts = append(parts, part{"/jobs/" + jid + p, documents["/jobs/"+jid+p]})
	}
	parts = append(parts, part{"/jobs/" + jid + "/exceptions", "{"})
	b, err := json.Marshal(map[string]any{"archive": parts})
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// want is the job, with what an archive or server tells beyond the details.
func checkJob(t *testing.T, e *model.Execution, full bool) {
	t.Helper()
	stages := []model.Stage{
		{ID: 0, Name: "Source", Query: -1, Tasks: 2, Finished: 2, StartSeconds: 1, EndSeconds: 5, Outcome: model.OK, ShuffleWriteBytes: 1000, ShuffleWriteRecords: 10},
		{ID: 1, Name: "Sink", Query: -1, Parents: []int{0}, Tasks: 1, Finished: 1, FailedTasks: 1, StartSeconds: 2, EndSeconds: 9, Outcome: model.OK,
			RunSeconds: 2.5005, ShuffleReadBytes: 1000, ShuffleReadRecords: 10},
	}
	cluster, properties := model.Cluster{}, map[string]string{"plan type": "BATCH"}
	if full {
		stages[0].TaskSeconds, stages[1].TaskSeconds = 5, 2
		cluster = model.Cluster{Hosts: 2, MaxExecutors: 2}
		properties = map[string]string{"plan type": "BATCH", "execution-mode": "PIPELINED", "restart-strategy": "none", "job-parallelism": "2"}
	}
	if d := cmp.Diff(stages, e.Graph.Stages); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(cluster, e.Cluster); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(properties, e.Properties); d != "" {
		t.Error(d)
	}
	if e.Origin != "flink/"+jid || e.Name != "wc" || e.Outcome != model.OK || e.RuntimeSeconds() != 10 || e.Tasks.Count != 3 || e.Tasks.Failed != 1 || len(e.Quality.Notes) != 1 {
		t.Errorf("%+v", e)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": jobDetails("FINISHED"), jid: archive(t), ".hidden.json": "x", "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for e, err := range Executions(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		checkJob(t, e, n == 0) // the archive's name comes first
		n++
	}
	if n != 2 {
		t.Errorf("%d jobs", n)
	}
	for e, err := range Executions(t.Context(), filepath.Join(dir, "a.json")) {
		if err != nil {
			t.Fatal(err)
		}
		checkJob(t, e, false)
	}
}

func TestRefuses(t *testing.T) {
	details := jobDetails("FINISHED")
	for _, c := range []struct{ name, text, want string }{
		{"runs", jobDetails("RUNNING"), "still runs, so it has no runtime yet"},
		{"stopped stream", strings.Replace(jobDetails("CANCELED"), "BATCH", "STREAMING", 1), "is a streaming job that was stopped"},
		{"empty", "", "holds no job of Flink"},
		{"list", "[]", "holds no job of Flink"},
		{"something else", `{"a":1}`, "holds no job of Flink"},
		{"bad id", strings.ReplaceAll(details, jid, "../../etc"), "holds no job of Flink"},
		{"cut", details[:300], "is cut before the job is told"},
		{"no JSON", `{"jid":nope}`, "is not JSON as Flink writes it"},
		{"wrong kind", strings.Replace(details, `"vertices":[`, `"vertices":3,"x":[`, 1), "is not JSON as Flink writes it"},
		{"no end", strings.Replace(details, fmt.Sprint(begin+10_000), "-1", 1), "holds no time of start or end"},
		{"backwards", strings.Replace(details, fmt.Sprint(begin+10_000), fmt.Sprint(begin-1), 1), "ends before it starts"},
		{"archive cut before the job", archive(t)[:40], "is cut before the job is told"},
		{"archive is no list", `{"archive":{}}`, "is not JSON as Flink writes it"},
	} {
		_, err := Read(t.Context(), strings.NewReader(c.text), "f")
		var p *ingest.Problem
		if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), "f: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A batch job that was cancelled failed, and an archive that is cut later is kept.
	e, err := Read(t.Context(), strings.NewReader(jobDetails("CANCELED")), "f")
	if err != nil || e.Outcome != model.Failed || e.FailedJobs != 1 {
		t.Error(e, err)
	}
	e, err = Read(t.Context(), strings.NewReader(archive(t)[:len(archive(t))-100]), "f")
	if err != nil || !e.Quality.Cut || e.Cluster.Hosts != 2 {
		t.Error(e, err)
	}
	// Inputs in a circle are left out.
	circle := strings.Replace(jobDetails("FINISHED"), fmt.Sprintf(`{"id":%q}]`, v1), fmt.Sprintf(`{"id":%q,"inputs":[{"id":%q}]}]`, v1, v2), 1)
	if e, err = Read(t.Context(), strings.NewReader(circle), "f"); err != nil || len(e.Graph.Stages[1].Parents) != 1 || len(e.Graph.Stages[0].Parents) != 0 || len(e.Quality.Notes) != 2 {
		t.Error(e, err)
	}
}

func server(t *testing.T, extra map[string]string) (*httptest.Server, map[string]int) {
	t.Helper()
	asked := make(map[string]int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		text, ok := extra[r.URL.Path]
		if !ok {
			text, ok = documents[r.URL.Path]
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s, asked
}

func jobs(t *testing.T, address string, o ClientOptions) (all []*model.Execution, problems []string, last error) {
	t.Helper()
	c, err := NewClient(address, o)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.Executions(t.Context()) {
		var p *ingest.Problem
		switch {
		case errors.As(err, &p):
			problems = append(problems, strings.ReplaceAll(p.Error(), address, "http://flink"))
		case err != nil:
			last = err
		default:
			all = append(all, e)
		}
	}
	return all, problems, last
}

func TestClient(t *testing.T) {
	const other, gone, lies = "44444444444444444444444444444444", "55555555555555555555555555555555", "66666666666666666666666666666666"
	s, asked := server(t, map[string]string{
		"/config": `{"flink-version":"1.17.1"}`,
		"/jobs/overview": fmt.Sprintf(`{"jobs":[{"jid":%q,"state":"FINISHED"},{"jid":%q,"state":"RUNNING"},{"jid":%q,"state":"FAILED"},{"jid":%q,"state":"FINISHED"},{"jid":"../x","state":"FINISHED"}]}`,
			jid, other, gone, lies),
		"/jobs/" + lies: jobDetails("FINISHED"),
	})
	all, problems, err := jobs(t, s.URL, ClientOptions{})
	if err != nil || len(all) != 1 || all[0].Version != "1.17.1" {
		t.Fatal(all, err)
	}
	checkJob(t, all[0], true)
	want := []string{
		"http://flink/jobs/" + other + ": still runs, so it has no runtime yet; a streaming job never has one",
		"http://flink/jobs/" + gone + " answers 404 Not Found",
		"http://flink/jobs/" + lies + `: is answered with the job "` + jid + `"`,
		`http://flink: lists a job with the id "../x", which is none of Flink`,
	}
	if d := cmp.Diff(want, problems); d != "" {
		t.Error(d)
	}
	if asked["/jobs/"+other] > 0 {
		t.Error("asks for a job that runs")
	}
	// What is known is not asked for again.
	all, _, _ = jobs(t, s.URL, ClientOptions{Known: func(origin string) bool { return origin == "flink/"+jid }})
	if len(all) != 0 || asked["/jobs/"+jid] != 1 {
		t.Errorf("%d jobs, asked %d times", len(all), asked["/jobs/"+jid])
	}
}

func TestClientErrors(t *testing.T) {
	if _, err := NewClient("flink:8081", ClientOptions{}); err == nil || !strings.HasPrefix(err.Error(), "the address of Flink must look like") {
		t.Error(err)
	}
	s, _ := server(t, nil)
	if _, _, err := jobs(t, s.URL, ClientOptions{}); err == nil || !strings.Contains(err.Error(), "list the jobs of Flink: "+s.URL+"/jobs/overview answers 404") {
		t.Error(err)
	}
	// One that goes away in the middle is not taken for one that lacks a job.
	s, _ = server(t, map[string]string{"/jobs/overview": fmt.Sprintf(`{"jobs":[{"jid":%q,"state":"FINISHED"}]}`, jid)})
	c, err := NewClient(s.URL, ClientOptions{Known: func(string) bool { s.CloseClientConnections(); s.Close(); return false }})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.Executions(t.Context()) {
		var p *ingest.Problem
		if e != nil || errors.As(err, &p) || err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Error(e, err)
		}
	}
}

func TestFlipsAndCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for _, text := range []string{jobDetails("FINISHED"), archive(t)} {
		for i := range text {
			check(t, []byte(text[:i]))
			b := []byte(text)
			b[i] ^= 1 << (i % 8)
			check(t, b)
		}
	}
}

func check(tb testing.TB, text []byte) {
	tb.Helper()
	e, err := Read(tb.Context(), strings.NewReader(string(text)), "f")
	var p *ingest.Problem
	switch {
	case errors.As(err, &p):
		if strings.Contains(err.Error(), "\n") {
			tb.Fatalf("not one line: %q", err)
		}
	case err != nil:
		tb.Fatal(err)
	default:
		if err := e.Validate(); err != nil {
			tb.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(jobDetails("FINISHED")))
	f.Add([]byte(jobDetails("CANCELED")))
	f.Add([]byte(archive(f)))
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}
