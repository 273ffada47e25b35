package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

const (
	// The timeouts and bounds keep a client from holding on to anything.
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 8 << 10
)

// Server is a small HTTP endpoint for jobs that run anywhere, as plain JSON:
//
//	POST /jobs            a job, as [elastic.Job]: begins it and answers with its first decision
//	POST /report          a report or an event ("kind"), or several, one a line
//	GET  /plan?job=ID     what the job should run on now, as [elastic.Decision]
//	POST /finish?job=ID   ends the job
//
// It asks for no token. So it is for loopback only, and refuses what a browser could be
// made to send: other names of the host, and bodies that are not application/json.
type Server struct {
	service *Service
	server  *http.Server
	listen  string
	logger  *slog.Logger
	addr    net.Addr
	done    chan struct{}
}

// NewServer returns a server that listens on a host:port once it is started.
func NewServer(listen string, s *Service, logger *slog.Logger) *Server {
	out := &Server{service: s, listen: listen, logger: logger, done: make(chan struct{})}
	out.server = &http.Server{
		Handler: Handler(s), ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	return out
}

// Start listens and serves until Stop; ctx bounds only the start.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("elastic.http in config.toml: %w", err)
	}
	s.addr = l.Addr()
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("reports of training jobs are no longer taken", "address", l.Addr().String(), "error", err)
		}
	}()
	s.logger.InfoContext(ctx, "taking reports of training jobs", "address", l.Addr().String())
	return nil
}

// Addr is the address that is served; nil before the start.
func (s *Server) Addr() net.Addr { return s.addr }

// Stop ends serving; ctx bounds how long a request may still take.
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

// Handler is what a [Server] serves.
func Handler(s *Service) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, answer func(*http.Request, []byte) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			out, err := guarded(w, r, answer)
			code := http.StatusOK
			if err != nil {
				code = statusOf(err)
				out = map[string]string{"error": err.Error()}
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(code)
			// What a client does not take is its loss.
			_ = json.NewEncoder(w).Encode(out)
		})
	}
	handle("POST /jobs", s.postJob)
	handle("POST /report", s.postReport)
	handle("GET /plan", func(r *http.Request, _ []byte) (any, error) {
		return s.Plan(r.Context(), model.NormalizeName(r.URL.Query().Get("job")))
	})
	handle("POST /finish", func(r *http.Request, _ []byte) (any, error) {
		return s.Finish(r.Context(), model.NormalizeName(r.URL.Query().Get("job")))
	})
	return mux
}

// Errors of requests.
var (
	errHost = errors.New("only this host may ask, by its address")
	errType = errors.New("the body must be application/json")
)

func statusOf(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errHost):
		return http.StatusForbidden
	case errors.Is(err, errType):
		return http.StatusUnsupportedMediaType
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, elastic.ErrUnknownJob):
		return http.StatusNotFound
	case errors.Is(err, elastic.ErrJobExists):
		return http.StatusConflict
	case errors.Is(err, elastic.ErrFull):
		return http.StatusTooManyRequests
	case errors.Is(err, elastic.ErrInvalid):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// guarded reads the body of a request that may be one.
func guarded(w http.ResponseWriter, r *http.Request, answer func(*http.Request, []byte) (any, error)) (any, error) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, errHost
	}
	if r.Method == http.MethodGet {
		return answer(r, nil)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errType
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxLine))
	if err != nil {
		return nil, err
	}
	return answer(r, raw)
}

func (s *Service) postJob(r *http.Request, raw []byte) (any, error) {
	var j elastic.Job
	if err := decodeStrict(raw, &j); err != nil {
		return nil, err
	}
	j.ID, j.Submitted = model.NormalizeName(j.ID), s.Now().UTC()
	j, _ = WithDefaults(j)
	return s.Start(r.Context(), j)
}

// reported is the answer to news: what became of them, and for news of one job its plan.
type reported struct {
	Taken    int               `json:"taken"`
	Repeated int               `json:"repeated"`
	Late     int               `json:"late"`
	Decision *elastic.Decision `json:"decision,omitempty"`
}

func (s *Service) postReport(r *http.Request, raw []byte) (any, error) {
	news, err := parseNews(raw, r.URL.Query().Get("job"), s.Now())
	if err != nil {
		return nil, err
	}
	taken, err := s.Take(r.Context(), news)
	if err != nil {
		return nil, err
	}
	out := reported{Taken: taken.Taken, Repeated: taken.Repeated, Late: taken.Late}
	if id, ok := news.single(); ok {
		d, err := s.Plan(r.Context(), id)
		if err != nil {
			return nil, err
		}
		out.Decision = &d
	}
	return out, nil
}
