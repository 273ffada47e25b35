package utilisation_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/utilisation"
)

// fakePrometheus answers range queries with what values says of a query, an instance
// and a time; nil is no answer.
func fakePrometheus(t *testing.T, value func(query, instance string, at float64) string) (*httptest.Server, *[]string) {
	t.Helper()
	var queries []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/query_range" {
			http.NotFound(w, r)
			return
		}
		q := r.URL.Query()
		queries = append(queries, q.Get("query"))
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(q.Get(name), 64)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return v
		}
		var series []string
		for _, instance := range []string{"a:9100", "b:9100"} {
			var values []string
			for at := number("start"); at <= number("end"); at += number("step") {
				if v := value(q.Get("query"), instance, at); v != "" {
					values = append(values, fmt.Sprintf("[%.3f,%q]", at, v))
				}
			}
			if len(values) > 0 {
				series = append(series, fmt.Sprintf(`{"metric":{"instance":%q},"values":[%s]}`, instance, strings.Join(values, ",")))
			}
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(series, ","))
	}))
	t.Cleanup(s.Close)
	return s, &queries
}

func prometheus(t *testing.T, address string, o utilisation.PrometheusOptions) *utilisation.Prometheus {
	t.Helper()
	p, err := utilisation.NewPrometheus(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrometheus(t *testing.T) {
	run := utilisation.Window{Start: noon(0), End: noon(600)}
	var first float64
	s, queries := fakePrometheus(t, func(query, instance string, at float64) string {
		if first == 0 {
			first = at
		}
		switch {
		case strings.Contains(query, "node_cpu_seconds_total"):
			if instance == "a:9100" {
				return "0.25"
			}
			return "0.75"
		case strings.Contains(query, "MemTotal"):
			return strconv.FormatFloat((at-float64(noon(0).Unix()))/1000, 'f', -1, 64)
		case strings.Contains(query, "io_time") && instance == "a:9100":
			return "1.004"
		case strings.Contains(query, "io_time"):
			return "NaN"
		}
		return "" // the speed is unknown
	})
	got, err := prometheus(t, s.URL, utilisation.PrometheusOptions{Instances: []string{"a:.*", `b"x`}}).Of(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	// Samples every 15 s from 60 s on: 37 of each node.
	want := utilisation.Summary{Nodes: 2, Samples: 5 * 37, Missing: []string{"network is not in the source, or without what its capacity is"}, Metrics: model.Metrics{
		CPU:    &model.Percentiles{P10: .25, P50: .25, P90: .75},
		Memory: &model.Percentiles{P10: .06, P50: .3, P90: .54},
		Disk:   &model.Percentiles{P10: 1, P50: 1, P90: 1},
	}}
	if d := cmp.Diff(want, got, approx); d != "" {
		t.Error(d)
	}
	if first != float64(noon(60).Unix()) {
		t.Errorf("the first sample is at %g and looks back beyond the start", first)
	}
	if len(*queries) != 4 {
		t.Fatalf("%d queries", len(*queries))
	}
	for _, q := range *queries {
		if !strings.Contains(q, `instance=~"a:.*|b\"x"`) || strings.Contains(q, "$") || strings.Contains(q, "[0s]") {
			t.Errorf("query %s", q)
		}
	}
	if !strings.Contains((*queries)[0], "[60s]") {
		t.Errorf("query %s", (*queries)[0])
	}
}

func TestPrometheusQueries(t *testing.T) {
	s, queries := fakePrometheus(t, func(string, string, float64) string { return "0.5" })
	p := prometheus(t, s.URL, utilisation.PrometheusOptions{
		Rate:    10 * time.Second,
		Queries: map[utilisation.Resource]string{utilisation.CPU: "busy{$instances}[$rate]", utilisation.Memory: "", utilisation.Disk: "", utilisation.Network: ""},
	})
	// A run of 15 s has one sample, one of ten days has 500 a node.
	got, err := p.Of(t.Context(), window(0, 15))
	if err != nil || got.Samples != 2 || got.Metrics.CPU == nil || got.Metrics.Memory != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]string{`busy{instance=~".+"}[15s]`}, *queries); d != "" {
		t.Error(d)
	}
	got, err = p.Of(t.Context(), utilisation.Window{Start: noon(0), End: noon(10 * 86400)})
	if err != nil || got.Samples > 1000 || got.Samples < 998 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPrometheusErrors(t *testing.T) {
	run := window(0, 600)
	for _, c := range []struct {
		name, answer string
		status       int
		want         string
		is           error
	}{
		{"bad query", `{"status":"error","errorType":"bad_data","error":"parse error:\nat char 3"}`, 400, `unusable query: Prometheus refuses that of cpu: "parse error`, utilisation.ErrQuery},
		{"not found", "no", 404, "ask for cpu: URL/api/v1/query_range answers 404 Not Found", nil},
		{"vector", `{"status":"success","data":{"resultType":"vector","result":[]}}`, 200, "URL answers with no matrix: is it Prometheus", nil},
		{"something else", `{}`, 200, "URL answers with no matrix", nil},
		{"percent", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"37"]]}]}}`, 200, "unusable query: that of cpu gives 37, want shares", utilisation.ErrQuery},
		{"infinite", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"+Inf"]]}]}}`, 200, "unusable query: that of cpu gives +Inf", utilisation.ErrQuery},
		{"number for text", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,0.5]]}]}}`, 200, "URL answers with a sample of cpu that is none", nil},
		{"no time", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[["x","0.5"]]}]}}`, 200, "URL answers with a sample of cpu that is none", nil},
		{"short sample", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[]]}]}}`, 200, "URL answers with a sample of cpu that is none", nil},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.answer))
		}))
		_, err := prometheus(t, s.URL, utilisation.PrometheusOptions{}).Of(t.Context(), run)
		if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), s.URL, "URL"), c.want) || strings.Contains(err.Error(), "\n") || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
		s.Close()
	}
	p := prometheus(t, "http://127.0.0.1:1", utilisation.PrometheusOptions{})
	if _, err := p.Of(t.Context(), run); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
	if _, err := p.Of(t.Context(), window(0, 30)); !errors.Is(err, utilisation.ErrShort) || !strings.Contains(err.Error(), "is too short: the 1m0s over which rates are taken") {
		t.Error(err)
	}
	if _, err := p.Of(t.Context(), window(9, 9)); !errors.Is(err, utilisation.ErrWindow) {
		t.Error(err)
	}
	for _, o := range []utilisation.PrometheusOptions{{Rate: time.Millisecond}, {Rate: 2 * time.Hour}, {Rate: 1500 * time.Millisecond}, {Queries: map[utilisation.Resource]string{utilisation.Disk: strings.Repeat("x", 5000)}}} {
		if _, err := utilisation.NewPrometheus("http://x", o); !errors.Is(err, utilisation.ErrQuery) {
			t.Error(err)
		}
	}
	if _, err := utilisation.NewPrometheus("prometheus:9090", utilisation.PrometheusOptions{}); err == nil || !strings.HasPrefix(err.Error(), "the address of Prometheus must look like") {
		t.Error(err)
	}
}

func FuzzPrometheus(f *testing.F) {
	f.Add([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1772366460,"0.5"],[1772366475,"NaN"]]}]}}`), 200)
	f.Add([]byte(`{"status":"error","error":"x"}`), 400)
	f.Fuzz(func(t *testing.T, answer []byte, status int) {
		p := prometheus(t, "http://x", utilisation.PrometheusOptions{HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.WriteHeader(200 + ((status%300)+300)%300)
			_, _ = w.Write(answer)
			return w.Result(), nil
		})}})
		s, err := p.Of(t.Context(), window(0, 600))
		if err != nil {
			return
		}
		if err := s.Metrics.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
