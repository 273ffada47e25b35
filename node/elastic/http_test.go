package elastic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	service "github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

const jobBody = `{"id":"a","topic":{"infrastructure":"aws","framework":"tensorflow","algorithm":"cnn"},"mode":"async","batch":16,
	"bounds":{"max_workers":8}}`

// ask sends a request as a job on this host would.
func ask(h http.Handler, method, target, body string, change ...func(*http.Request)) (code int, answer string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:7748"
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestHTTP(t *testing.T) {
	s, c, _ := fresh(t)
	h := service.Handler(s)
	long := `{"job":"a","step":1,"workers":1,"pods":[` + strings.Repeat(" ", service.MaxLine) + `]}`
	named := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	typed := func(kind string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Content-Type", kind) }
	}
	for _, step := range []struct {
		method, target, body string
		change               func(*http.Request)
		code                 int
		want                 string
	}{
		{"GET", "/plan?job=a", "", nil, 404, `{"error":"job \"a\": no such job"}`},
		{"POST", "/report", `{"job":"a","step":1,"steps_per_second":1,"workers":1}`, nil, 404, `no such job`},
		{"POST", "/jobs", `{"id":"a"}`, nil, 400, `infrastructure is missing`},
		{"POST", "/jobs", `{"id":"a\u0000"}`, nil, 400, `id must be text without control characters`},
		{"POST", "/jobs", `{"id":"a","workers":4}`, nil, 400, `unknown field \"workers\"`},
		{"POST", "/jobs", `[]`, nil, 400, `want a JSON object, not a array`},
		{"POST", "/jobs", `{"id":`, nil, 400, `the JSON object is cut`},
		{"POST", "/jobs", jobBody, typed("text/plain"), 415, `the body must be application/json`},
		{"POST", "/jobs", jobBody, named("evil.example"), 403, `only this host may ask`},
		{"POST", "/jobs", jobBody, nil, 200, `"kind":"start"`},
		{"POST", "/jobs", jobBody, nil, 409, `job is known already`},
		{"POST", "/report", `{"job":"a","step":1,"steps_per_second":NaN,"workers":1}`, nil, 400, `invalid character 'N'`},
		{"POST", "/report", `{"job":"a","step":1,"steps_per_second":-1,"workers":1}`, nil, 400, `body:1: report of job \"a\": steps_per_second must be between`},
		{"POST", "/report", long, nil, 413, `too large`},
		{"POST", "/report", `{"job":"a","time":"2026-03-01T12:00:00Z","step":1,"steps_per_second":1,"workers":1}`, nil, 200, `{"taken":1,"repeated":0,"late":0,"decision":{"job":"a","number":1,`},
		{"POST", "/report?job=a", "{\"time\":\"2026-03-01T12:00:00Z\",\"step\":1,\"steps_per_second\":1,\"workers\":1}\n{\"time\":\"2026-03-01T12:01:00Z\",\"kind\":\"oom\",\"role\":\"worker\",\"memory\":34359738368}", nil, 200, `{"taken":1,"repeated":1,"late":0,"decision":{"job":"a","number":2,`},
		{"GET", "/plan?job=a", "", nil, 200, `"kind":"memory"`},
		{"GET", "/plan?job=a", "", named("localhost:7748"), 200, `"kind":"memory"`},
		{"GET", "/plan?job=a", "", named("rebound.example:7748"), 403, `only this host may ask`},
		{"DELETE", "/plan?job=a", "", nil, 405, `Method Not Allowed`},
		{"POST", "/finish?job=a", "", nil, 200, `"reports":1`},
		{"GET", "/plan?job=a", "", nil, 404, `no such job`},
	} {
		change := step.change
		if change == nil {
			change = func(*http.Request) {}
		}
		code, answer := ask(h, step.method, step.target, step.body, change)
		if code != step.code || !strings.Contains(answer, step.want) {
			t.Errorf("%s %s %.80q: %d %s, want %d %s", step.method, step.target, step.body, code, answer, step.code, step.want)
		}
	}
	c.minutes(1)
}

// TestHTTPPlan: the answer reads as the vocabulary's decision.
func TestHTTPPlan(t *testing.T) {
	s, _, _ := fresh(t)
	want := start(t, s, training("a"))
	_, answer := ask(service.Handler(s), "GET", "/plan?job=a", "")
	var got elastic.Decision
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	if diff := equal(want, got); diff != "" {
		t.Error(diff)
	}
}
