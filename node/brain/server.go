package brain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/proto/brain/brainconnect"
)

const (
	// maxRequestBytes of one message: reports of 20,000 pods, of some 200 bytes each.
	maxRequestBytes = 4 << 20
	// The timeouts and bounds keep a client from holding on to anything. Masters report
	// every 15 s and ask every few minutes over one connection.
	requestTimeout = 30 * time.Second
	idleTimeout    = 10 * time.Minute
	maxHeaderBytes = 16 << 10
	maxStreams     = 128
)

// Server serves a [Brain] as gRPC, and nothing else: without HTTP/1, no page that a browser
// shows can reach it.
type Server struct {
	listen string
	logger *slog.Logger
	server *http.Server
	addr   net.Addr
	done   chan struct{}
}

// NewServer returns a server that listens on a host:port once it is started.
func NewServer(listen string, b *Brain) *Server {
	mux := http.NewServeMux()
	mux.Handle(brainconnect.NewBrainHandler(b, connect.WithReadMaxBytes(maxRequestBytes)))
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &Server{listen: listen, logger: b.Logger, done: make(chan struct{}), server: &http.Server{
		Handler: mux, Protocols: &protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(b.Logger.Handler(), slog.LevelDebug),
	}}
}

// Start listens and serves until Stop; ctx bounds only the start.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("elastic.brain in config.toml: %w", err)
	}
	s.addr = l.Addr()
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("the Brain service is no longer served", "address", l.Addr().String(), "error", err)
		}
	}()
	s.logger.InfoContext(ctx, "serving DLRover masters", "address", l.Addr().String())
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		s.logger.WarnContext(ctx, "whoever reaches elastic.brain may report for any training job and end it; let only masters through", "address", l.Addr().String())
	}
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
