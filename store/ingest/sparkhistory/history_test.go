package sparkhistory_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/sparkhistory"
)

const event = `{"Event":"SparkListenerApplicationStart","App Name":"nightly","App ID":"application_1_0001","Timestamp":1700000000000,"User":"x","App Attempt ID":"2"}
`
const end = `{"Event":"SparkListenerApplicationEnd","Timestamp":1700000100000}
`

const list = `[ {
  "id" : "application_1_0001", "name" : "nightly",
  "attempts" : [
    {"attemptId":"2","startTime":"2023-11-14T22:13:20.000GMT","endTime":"2023-11-14T22:15:00.000GMT","completed":true,"startTimeEpoch":1700000000000,"endTimeEpoch":1700000100000},
    {"attemptId":"1","startTime":"2023-11-14T22:13:20.000GMT","endTime":"1969-12-31T23:59:59.999GMT","completed":false,"endTimeEpoch":-1}
  ] }, {
  "id" : "local-1", "name" : "old",
  "attempts" : [{"startTime":"2015-02-03T16:42:38.000GMT","endTime":"2015-02-03T16:42:46.000GMT","completed":true}] } ]`

func archive(files ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// server answers paths below /api/v1.
func server(t *testing.T, answers map[string]http.HandlerFunc) *sparkhistory.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := answers[strings.TrimPrefix(r.URL.Path, "/proxy/api/v1")]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := sparkhistory.New(s.URL+"/proxy/", http.Header{"X-Token": {"t"}}, s.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func TestCompleted(t *testing.T) {
	var asked string
	c := server(t, map[string]http.HandlerFunc{"/applications": func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery + " " + r.Header.Get("X-Token")
		answer("application/json", list)(w, r)
	}})
	got, err := c.Completed(t.Context(), time.Time{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []sparkhistory.Attempt{
		{ApplicationID: "application_1_0001", Name: "nightly", ID: "2", Start: time.UnixMilli(1700000000000).UTC(), End: time.UnixMilli(1700000100000).UTC()},
		{ApplicationID: "local-1", Name: "old", Start: time.Date(2015, 2, 3, 16, 42, 38, 0, time.UTC), End: time.Date(2015, 2, 3, 16, 42, 46, 0, time.UTC)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	if asked != "status=completed t" {
		t.Errorf("asked with %q", asked)
	}
	got, err = c.Completed(t.Context(), time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), 7)
	if err != nil || len(got) != 1 || got[0].Label() != "application_1_0001/2" {
		t.Errorf("since 2023: %+v (%v)", got, err)
	}
	if asked != "limit=7&minEndDate=2023-01-01T00%3A00%3A00.000GMT&status=completed t" {
		t.Errorf("asked with %q", asked)
	}
}

func TestRead(t *testing.T) {
	c := server(t, map[string]http.HandlerFunc{
		"/applications/application_1_0001/2/logs": answer("application/octet-stream", string(archive("application_1_0001_2", event+end))),
		"/applications/rolled/logs": answer("application/octet-stream", string(archive(
			"eventlog_v2_rolled/events_2_rolled", end, "eventlog_v2_rolled/events_1_rolled", event, "eventlog_v2_rolled/appstatus_rolled", ""))),
		"/applications/text/logs":  answer("text/html", "<html>sign in</html>"),
		"/applications/empty/logs": answer("application/octet-stream", string(archive())),
		"/applications/notes/logs": answer("application/octet-stream", string(archive("notes", "hello"))),
		"/applications/cut/logs": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("PK"))
		},
		"/applications/slow/logs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	n := 0
	e, err := c.Read(t.Context(), sparkhistory.Attempt{ApplicationID: "application_1_0001", ID: "2", Start: time.UnixMilli(1700000000000)}, func(b int) { n += b })
	if err != nil {
		t.Fatal(err)
	}
	a := sparkhistory.Attempt{ApplicationID: "application_1_0001", ID: "2", Start: time.UnixMilli(1700000000000)}
	if e.Origin != a.Origin() || !e.Finished() || n == 0 {
		t.Errorf("origin %s, want %s; outcome %v, %d bytes", e.Origin, a.Origin(), e.Outcome, n)
	}
	if e, err = c.Read(t.Context(), sparkhistory.Attempt{ApplicationID: "rolled"}, nil); err != nil || !e.Finished() || e.Quality.Events != 2 {
		t.Errorf("rolled: %+v (%v)", e, err)
	}
	var p *ingest.Problem
	for id, want := range map[string]string{"text": "comes as no zip", "empty": "comes as an empty zip", "notes": "holds no Spark event"} {
		if _, err := c.Read(t.Context(), sparkhistory.Attempt{ApplicationID: id}, nil); !errors.As(err, &p) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", id, err, want)
		}
	}
	if _, err := c.Read(t.Context(), sparkhistory.Attempt{ApplicationID: "gone"}, nil); !errors.Is(err, sparkhistory.ErrGone) {
		t.Errorf("gone: error %v", err)
	}
	if _, err := c.Read(t.Context(), sparkhistory.Attempt{ApplicationID: "cut"}, nil); err == nil || !strings.Contains(err.Error(), "broke off after 2 bytes") {
		t.Errorf("cut: error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Read(ctx, sparkhistory.Attempt{ApplicationID: "slow"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: error %v", err)
	}
}

func TestServersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want error
		text string
	}{
		"web page":  {answer("text/html; charset=utf-8", "<html>"), sparkhistory.ErrNoServer, "answers with text/html; give the address"},
		"other":     {answer("application/json", `{"a":1}`), sparkhistory.ErrNoServer, "cannot be read"},
		"cut":       {answer("application/json", list[:300]), sparkhistory.ErrNoServer, "cannot be read"},
		"no id":     {answer("application/json", `[{"attempts":[{"completed":true}]}]`), sparkhistory.ErrNoServer, "application 1"},
		"null":      {answer("application/json", "null"), sparkhistory.ErrNoServer, "it is no list"},
		"long id":   {answer("application/json", `[{"id":"`+strings.Repeat("x", 600)+`","attempts":[{"completed":true}]}]`), sparkhistory.ErrNoServer, "application 1"},
		"long":      {answer("application/json", `[{"id":"`+strings.Repeat("x", 1<<20)), sparkhistory.ErrNoServer, "application 1: the answer is too long"},
		"not there": {http.NotFound, sparkhistory.ErrNoServer, "404 Not Found"},
		"401":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, sparkhistory.ErrRefused, "--header"},
		"500":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, nil, "answers 500"},
	} {
		_, err := server(t, map[string]http.HandlerFunc{"/applications": c.h}).Completed(t.Context(), time.Time{}, 0)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %v: %s", name, err, c.want, c.text)
		}
	}
	for _, address := range []string{"", "history:18080", "ftp://x", "http://", "http://x/?a=b"} {
		if _, err := sparkhistory.New(address, nil, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", address)) {
			t.Errorf("%q: error %v", address, err)
		}
	}
	c, err := sparkhistory.New("http://127.0.0.1:1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Completed(t.Context(), time.Time{}, 0); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/api/v1 is not reachable: ") {
		t.Errorf("nobody there: error %v", err)
	}
}

// TestEndlessLists are given up without holding them in memory.
func TestEndlessLists(t *testing.T) {
	for name, c := range map[string]struct{ begin, repeat, want string }{
		"applications": {"[{}", `,{"id":"a","attempts":[]}`, "more than 100000 applications; ask for fewer"},
		"attempts":     {"[{}", `,{"id":"a","attempts":[` + strings.Repeat(`{"completed":true},`, 99) + `{"completed":true}]}`, "more than 100000 attempts"},
		"one entry":    {`[{"attempts":[{}`, ",{}", "application 1: the answer is too long"},
		"spaces":       {"[", " ", "the answer is too long"},
	} {
		chunk := []byte(strings.Repeat(c.repeat, 1000))
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write([]byte(c.begin))
			for err == nil {
				_, err = w.Write(chunk)
			}
		}
		client := server(t, map[string]http.HandlerFunc{"/applications": h})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := client.Completed(t.Context(), time.Time{}, 0)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
	}
}

// FuzzList takes any list: no panic, and what passes has an application.
func FuzzList(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte(`[{"id":"a","attempts":[{"completed":true,"endTime":"x"}]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		transport := roundTrip(func(*http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			rec.Header().Set("Content-Type", "application/json")
			_, _ = rec.Write(body)
			return rec.Result(), nil
		})
		c, err := sparkhistory.New("http://x", nil, transport)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Completed(context.Background(), time.Time{}, 0)
		for _, a := range got {
			if err != nil || a.ApplicationID == "" || !strings.HasPrefix(a.Origin(), "spark/") {
				t.Fatalf("%+v (%v)", a, err)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
