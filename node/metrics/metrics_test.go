package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func whole() Source {
	return Source{
		Version: "v9",
		Exchange: func() Exchange {
			return Exchange{
				RecordsIn: 3, RecordsOut: 4, Rejected: map[string]uint64{"forged": 2, "stale": 1}, SyncBytesIn: 100, SyncBytesOut: 200,
				SyncRounds: 7, Syncs: 5, SyncsFailed: 6, LastSync: time.UnixMilli(1_700_000_000_500), Topics: 2, Greylisted: 1,
			}
		},
		Network: func() Network {
			return Network{Connected: 8, UnreachableBootstrap: 1, Mesh: map[string]int{"/karasu/1/a/b/c": 6}, Dropped: 9, Refused: 10}
		},
		Stores: func(context.Context) (Stores, error) {
			return Stores{Bytes: map[string]int64{"private": 11, "commons": 12}, Records: 13, Runs: 14}, nil
		},
	}
}

// serve starts a server on loopback and returns a function that gets a path.
func serve(t *testing.T, m *Metrics, h Health) func(path string) (int, string) {
	t.Helper()
	s := NewServer("127.0.0.1:0", m, h, slog.New(slog.DiscardHandler))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(path string) (int, string) {
		res, err := client.Get(fmt.Sprintf("http://%s%s", s.Addr(), path))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
}

func newMetrics(t *testing.T, s Source) *Metrics {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetrics(t *testing.T) {
	m := newMetrics(t, whole())
	m.Request("Recommend", "ok", 30*time.Millisecond)
	m.Request("Recommend", "internal", 2*time.Second)
	code, body := serve(t, m, Health{})("/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	for _, want := range []string{
		`karasu_build_info{version="v9"} 1`,
		`karasu_records_in_total 3`, `karasu_records_out_total 4`,
		`karasu_records_rejected_total{reason="forged"} 2`, `karasu_records_rejected_total{reason="stale"} 1`,
		`karasu_sync_bytes_total{direction="in"} 100`, `karasu_sync_bytes_total{direction="out"} 200`, `karasu_sync_rounds_total 7`,
		`karasu_syncs_total{result="ok"} 5`, `karasu_syncs_total{result="failed"} 6`, `karasu_last_sync_timestamp_seconds 1.7000000005e+09`,
		`karasu_topics_joined 2`, `karasu_peers_greylisted 1`, `karasu_peers_connected 8`, `karasu_bootstrap_peers_unreachable 1`,
		`karasu_gossip_mesh_peers{topic="/karasu/1/a/b/c"} 6`, `karasu_gossip_dropped_total 9`, `karasu_connections_refused_total 10`,
		`karasu_store_bytes{database="private"} 11`, `karasu_store_bytes{database="commons"} 12`, `karasu_records_held 13`, `karasu_private_runs 14`,
		`karasu_requests_total{code="ok",procedure="Recommend"} 1`, `karasu_requests_total{code="internal",procedure="Recommend"} 1`,
		`karasu_request_seconds_bucket{procedure="Recommend",le="0.05"} 1`, `karasu_request_seconds_count{procedure="Recommend"} 2`,
		`go_goroutines `, `process_start_time_seconds `,
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
}

// TestFailedScrape: what can be read is served, and a figure says that something could
// not.
func TestFailedScrape(t *testing.T) {
	s := whole()
	s.Stores = func(context.Context) (Stores, error) { return Stores{}, errors.New("the disk is gone") }
	s.Exchange = func() Exchange { return Exchange{} }
	get := serve(t, newMetrics(t, s), Health{})
	get("/metrics")
	code, body := get("/metrics")
	if !strings.Contains(body, `promhttp_metric_handler_errors_total{cause="gathering"} 1`) {
		t.Errorf("the first failure is not counted:\n%s", body)
	}
	if code != http.StatusOK || !strings.Contains(body, "karasu_peers_connected 8") || strings.Contains(body, "karasu_store_bytes{") || strings.Contains(body, "karasu_last_sync") {
		t.Errorf("%d:\n%s", code, body)
	}
}

func TestHealth(t *testing.T) {
	var broken atomic.Bool
	var runs atomic.Int32
	h := Health{
		Alive: func(context.Context) []Check { return []Check{Passed("a", nil)} },
		Ready: func(context.Context) []Check {
			runs.Add(1)
			if broken.Load() {
				return []Check{Passed("a", nil), Passed("b", errors.New("no room"))}
			}
			return []Check{Passed("a", nil)}
		},
	}
	broken.Store(true)
	get := serve(t, newMetrics(t, Source{}), h)
	code, body := get("/readyz")
	var got struct {
		OK     bool
		Checks []Check
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if code != http.StatusServiceUnavailable || got.OK || len(got.Checks) != 2 || got.Checks[1].Problem != "no room" {
		t.Errorf("%d: %s", code, body)
	}
	if code, body := get("/healthz"); code != http.StatusOK || !strings.Contains(body, `"ok":true`) {
		t.Errorf("%d: %s", code, body)
	}
	// Everybody may ask, so asking often must not cost.
	for range 20 {
		get("/readyz")
	}
	if n := runs.Load(); n > 3 {
		t.Errorf("checks ran %d times", n)
	}
	if code, _ := get("/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("serves what was not asked for: %d", code)
	}
}

func TestAddressInUse(t *testing.T) {
	m := newMetrics(t, Source{})
	first := NewServer("127.0.0.1:0", m, Health{}, slog.New(slog.DiscardHandler))
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Stop(context.Background()) }()
	second := NewServer(first.Addr().String(), m, Health{}, slog.New(slog.DiscardHandler))
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "metrics.listen in config.toml") {
		t.Errorf("got %v", err)
	}
	if err := second.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
