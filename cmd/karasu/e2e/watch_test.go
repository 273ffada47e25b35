package e2e

import (
	"archive/zip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sparkLog is the event log of an application; without its end it still runs.
func sparkLog(id string, ended bool) string {
	const start = 1772330400000
	lines := []string{
		`{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}`,
		fmt.Sprintf(`{"Event":"SparkListenerApplicationStart","App Name":"nightly-%s","App ID":%q,"Timestamp":%d,"User":"etl"}`, id, id, start),
		fmt.Sprintf(`{"Event":"SparkListenerExecutorAdded","Timestamp":%d,"Executor ID":"1","Executor Info":{"Host":"h1","Total Cores":4,"Log Urls":{}}}`, start+500),
	}
	if ended {
		lines = append(lines, fmt.Sprintf(`{"Event":"SparkListenerApplicationEnd","Timestamp":%d}`, start+60_000))
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestWatchedFolder: what comes to a watched folder is a run, once, whatever else is
// done with it.
func TestWatchedFolder(t *testing.T) {
	logs := t.TempDir()
	rules := `
[[workload]]
name = '^nightly-'
infrastructure = "aws"
algorithm = "etl"
job = "nightly"
machine_type = "m5.xlarge"
`
	watched := fmt.Sprintf("[[watch]]\nkind = \"spark\"\npath = %q\nrescan = \"1s\"\n", filepath.Join(logs, "in"))
	o := newOrganisation(t, "acme", watched)
	o.start()
	var s struct {
		Runs       int `json:"runs"`
		Executions int `json:"executions"`
		Unmatched  int `json:"unmatched_executions"`
		Watched    []struct {
			Problem    string `json:"problem"`
			Imported   int    `json:"imported"`
			Unreadable int    `json:"unreadable"`
		} `json:"watched"`
	}
	state := func() string {
		o.query(&s, "status")
		return fmt.Sprintf("%d runs of %d, imported %d, problem %q", s.Runs, s.Executions, s.Watched[0].Imported, s.Watched[0].Problem)
	}
	want := func(text string) {
		t.Helper()
		o.eventually(text, func() bool { return state() == text })
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(logs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	// The folder comes later; without rules nothing is a run.
	want(`0 runs of 0, imported 0, problem "the folder is not there"`)
	write("in/app-1", sparkLog("app-1", true))
	want(`0 runs of 1, imported 1, problem ""`)
	// Rules name it at the next start.
	o.stop()
	o.configure("acme", watched+rules)
	o.start()
	want(`1 runs of 1, imported 0, problem ""`)
	// One that still runs is not looked at before it is renamed; a rolled one counts once.
	path := write("in/app-2.inprogress", sparkLog("app-2", false))
	write("in/2026/eventlog_v2_app-3/events_1_app-3", strings.Join(strings.SplitAfter(sparkLog("app-3", true), "\n")[:2], ""))
	write("in/2026/eventlog_v2_app-3/events_2_app-3", strings.Join(strings.SplitAfter(sparkLog("app-3", true), "\n")[2:], ""))
	write("in/2026/eventlog_v2_app-3/appstatus_app-3", "")
	want(`2 runs of 2, imported 1, problem ""`)
	if err := os.WriteFile(path, []byte(sparkLog("app-2", true)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, strings.TrimSuffix(path, ".inprogress")); err != nil {
		t.Fatal(err)
	}
	want(`3 runs of 3, imported 2, problem ""`)
	// A crash loses nothing and repeats nothing; nor does an import by hand.
	o.kill()
	o.start()
	want(`3 runs of 3, imported 0, problem ""`)
	out := o.must("import", "spark", filepath.Join(logs, "in"))
	if !strings.Contains(out, "Imported 0 applications, 3 unchanged.") {
		t.Errorf("import by hand: %s", out)
	}
	want(`3 runs of 3, imported 0, problem ""`)
	if err := os.RemoveAll(filepath.Join(logs, "in")); err != nil {
		t.Fatal(err)
	}
	want(`3 runs of 3, imported 0, problem "the folder is not there"`)
	o.stop()
	o.must("fsck")
}

// TestHistoryServer takes from a server what is not stored yet.
func TestHistoryServer(t *testing.T) {
	downloads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/applications/"), "/logs")
		if r.URL.Path == "/api/v1/applications" {
			w.Header().Set("Content-Type", "application/json")
			var apps []string
			for _, id := range []string{"app-1", "app-2"} {
				apps = append(apps, fmt.Sprintf(`{"id":%q,"name":"x","attempts":[{"startTimeEpoch":1772330400000,"endTimeEpoch":1772330460000,"completed":true}]}`, id))
			}
			_, _ = fmt.Fprintf(w, "[%s]", strings.Join(apps, ","))
			return
		}
		downloads++
		z := zip.NewWriter(w)
		f, err := z.Create(id)
		if err == nil {
			_, err = f.Write([]byte(sparkLog(id, true)))
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	o := newOrganisation(t, "acme", "")
	o.start()
	for i, want := range []string{"Imported 1 application.", "Imported 1 application.", "Nothing is new."} {
		args := []string{"import", "spark-history", server.URL}
		if i == 0 { // the first came another way
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(sparkLog("app-1", true)), 0o600); err != nil {
				t.Fatal(err)
			}
			args = []string{"import", "spark", path}
		}
		if out := o.must(args...); !strings.Contains(out, want) {
			t.Errorf("import %d: %swant %s", i+1, out, want)
		}
	}
	var again struct{ Imported, Files int }
	o.query(&again, "import", "spark-history", server.URL)
	if again.Imported != 0 || again.Files != 0 {
		t.Errorf("import once more: %+v", again)
	}
	if downloads != 1 {
		t.Errorf("%d logs were downloaded, want 1", downloads)
	}
	o.stop()
}
