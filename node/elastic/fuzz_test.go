package elastic_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/protobuf/proto"

	service "github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// FuzzReadNews: whatever a file holds, what comes out is valid, and errors say that it is not.
func FuzzReadNews(f *testing.F) {
	f.Add([]byte(`{"job":"a","time":"2026-03-01T12:00:00Z","step":1,"steps_per_second":1,"workers":1,"pods":[{"name":"w","role":"worker","memory":1e9}]}`))
	f.Add([]byte(`{"kind":"oom","role":"ps","pod":"p-0","memory":1e10}` + "\n\n{"))
	f.Add([]byte(`{"kind":null,"step":1e400}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		news, err := service.ReadNews(bytes.NewReader(raw), "fuzz", "job", begin)
		if err != nil {
			if !errors.Is(err, elastic.ErrInvalid) || len(news.Reports)+len(news.Events) > 0 {
				t.Fatalf("%d reports, %v", len(news.Reports), err)
			}
			return
		}
		for _, r := range news.Reports {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range news.Events {
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzHTTP: no request breaks the service, nor the bounds of the job that it keeps.
func FuzzHTTP(f *testing.F) {
	f.Add("POST", "/jobs", []byte(jobBody))
	f.Add("POST", "/report?job=known", []byte(`{"step":1,"steps_per_second":1,"workers":1}`))
	f.Add("POST", "/report", []byte(`{"job":"known","kind":"oom","role":"worker","memory":8e9}`))
	f.Add("GET", "/plan?job=known", []byte{})
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		request, err := http.NewRequest(method, target, bytes.NewReader(body))
		if err != nil {
			t.Skip()
		}
		request.Host = "127.0.0.1"
		request.Header.Set("Content-Type", "application/json")
		c := &clock{begin}
		s, err := service.New(t.Context(), service.Options{Store: nowhere{}, Now: c.Now})
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, training("known"))
		w := httptest.NewRecorder()
		service.Handler(s).ServeHTTP(w, request)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		c.minutes(10)
		if _, err := s.Allocate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range s.Jobs() {
			if j.Job.ID == "known" && (j.Plan.Workers.Replicas < 1 || j.Plan.Workers.Replicas > 14) {
				t.Fatalf("%+v", j.Plan)
			}
		}
	})
}

// FuzzWire: messages of the API become valid vocabulary or errors.
func FuzzWire(f *testing.F) {
	add := func(m *karasuv1.ReportElasticRequest, job *karasuv1.ElasticJob) {
		news, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		described, err := proto.Marshal(job)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(news, described)
	}
	add(&karasuv1.ReportElasticRequest{
		Reports: []*karasuv1.ElasticReport{service.FromReport(elastic.Report{Job: "known", Time: begin, Step: 1, StepsPerSecond: 2, Workers: 1})},
		Events:  []*karasuv1.ElasticEvent{service.FromEvent(elastic.Event{Job: "known", Time: begin, Kind: elastic.Evicted})},
	}, service.FromJob(training("a")))
	f.Fuzz(func(t *testing.T, raw, described []byte) {
		var m karasuv1.ReportElasticRequest
		var job karasuv1.ElasticJob
		if proto.Unmarshal(raw, &m) != nil || proto.Unmarshal(described, &job) != nil {
			t.Skip()
		}
		s, err := service.New(t.Context(), service.Options{Store: nowhere{}, Now: (&clock{begin}).Now})
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, training("known"))
		var news service.News
		for _, r := range m.GetReports() {
			if r, err := service.ToReport(r, begin); err == nil {
				news.Reports = append(news.Reports, r)
			}
		}
		for _, e := range m.GetEvents() {
			if e, err := service.ToEvent(e, begin); err == nil {
				news.Events = append(news.Events, e)
			}
		}
		known := func(err error) bool {
			return err == nil || errors.Is(err, elastic.ErrInvalid) || errors.Is(err, elastic.ErrUnknownJob) || errors.Is(err, elastic.ErrJobExists)
		}
		if _, err := s.Take(t.Context(), news); !known(err) {
			t.Fatal(err)
		}
		j, err := service.ToJob(&job)
		if err == nil {
			_, err = s.Start(t.Context(), j)
		}
		if !known(err) {
			t.Fatal(err)
		}
		for _, state := range s.Jobs() { // what is kept can be shown
			if m := service.FromState(state, begin, true); len(m.GetDecisions()) == 0 {
				t.Fatal("no decision")
			}
		}
	})
}
