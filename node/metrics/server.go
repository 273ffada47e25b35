package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// The timeouts and bounds keep a client from holding on to anything.
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 8 << 10
	maxScrapes     = 4
	// checkEvery is how often checks run at most: one of them writes to disk, and
	// everybody who can connect may ask.
	checkEvery = 2 * time.Second
)

// Check is one thing that has to work.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Problem says what is wrong and what to do; empty where all is well.
	Problem string `json:"problem,omitempty"`
}

// Passed returns a check that found nothing, or the error that it found.
func Passed(name string, err error) Check {
	if err == nil {
		return Check{Name: name, OK: true}
	}
	return Check{Name: name, Problem: err.Error()}
}

// Health tells whether a node lives (else it should be restarted) and whether it is
// ready (else it does not do its work, and a restart may not help).
type Health struct {
	Alive, Ready func(ctx context.Context) []Check
}

// Server serves /metrics, /healthz and /readyz.
type Server struct {
	listen string
	logger *slog.Logger
	server *http.Server
	addr   net.Addr
	done   chan struct{}
}

// NewServer returns a server that listens on a host:port once it is started.
func NewServer(listen string, m *Metrics, h Health, logger *slog.Logger) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: writeTimeout,
		Registry: m.registry, // counts what could not be read
	}))
	mux.Handle("GET /healthz", &checked{run: h.Alive})
	mux.Handle("GET /readyz", &checked{run: h.Ready})
	return &Server{listen: listen, logger: logger, done: make(chan struct{}), server: &http.Server{
		Handler: mux, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}
}

// Start listens and serves until Stop; ctx bounds only the start.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("metrics.listen in config.toml: %w", err)
	}
	s.addr = l.Addr()
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("metrics are no longer served", "address", l.Addr().String(), "error", err)
		}
	}()
	s.logger.InfoContext(ctx, "serving metrics", "address", l.Addr().String())
	return nil
}

// Addr is the address that is served; nil before the start.
func (s *Server) Addr() net.Addr { return s.addr }

// Stop ends serving; ctx bounds how long a scrape may still take.
func (s *Server) Stop(ctx context.Context) error {
	if s.addr == nil {
		return nil
	}
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.done
	return err
}

// checked answers with 200 where all checks pass and with 503 otherwise, and with the
// checks in JSON.
type checked struct {
	run func(context.Context) []Check

	mu     sync.Mutex
	at     time.Time
	latest []Check
}

func (c *checked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	checks := c.checks(r.Context())
	body := struct {
		OK     bool    `json:"ok"`
		Checks []Check `json:"checks"`
	}{true, checks}
	for _, check := range checks {
		body.OK = body.OK && check.OK
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !body.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// What a client does not take is its loss.
	_ = json.NewEncoder(w).Encode(body)
}

// checks runs the checks, or returns what they said a moment ago.
func (c *checked) checks(ctx context.Context) []Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil || time.Since(c.at) >= checkEvery {
		// The outcome is for others, too, so it must not depend on this client's patience.
		c.latest, c.at = c.run(context.WithoutCancel(ctx)), time.Now()
	}
	return c.latest
}
