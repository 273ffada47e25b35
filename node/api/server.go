// Package api serves the local API: connect (gRPC and JSON from one schema) over a
// unix socket that only the owner may open, and over TCP with a bearer token where
// the configuration asks for it.
package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

const (
	// maxHeaderBytes and the timeouts bound what a client can hold on to.
	maxHeaderBytes    = 16 << 10
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxSocketPath is Linux's limit of a unix socket's path (108 with its NUL).
	maxSocketPath = 107
	// temporarySocket is the longest name, below the socket's folder, at which a
	// socket is made before it is put in its place: ".s", ten digits, "/s".
	temporarySocket = "/.s4294967295/s"
)

// ErrSocket is wrapped by errors about the unix socket.
var ErrSocket = errors.New("API socket")

// Options of a [Server].
type Options struct {
	// Socket is the path of the unix socket.
	Socket string
	// TCP is a host:port to listen on as well; empty is none.
	TCP string
	// Token is asked of every request over TCP. It must not be empty then.
	Token  string
	Logger *slog.Logger
	// Observer is told of requests; nil is nobody.
	Observer Observer
}

// Server serves one handler on its listeners.
type Server struct {
	opts      Options
	handler   http.Handler
	listeners []net.Listener
	servers   []*http.Server
}

// NewServer wires the service.
func NewServer(service karasuv1connect.KarasuServiceHandler, o Options) *Server {
	mux := http.NewServeMux()
	mux.Handle(karasuv1connect.NewKarasuServiceHandler(service, handlerOptions(o.Observer)...))
	return &Server{opts: o, handler: mux}
}

// Start listens and serves until Stop; ctx bounds only the start. The caller must hold the home: a socket that
// is left from a crash is replaced.
func (s *Server) Start(ctx context.Context) error {
	unix, err := listenUnix(s.opts.Socket)
	if err != nil {
		return err
	}
	s.serve(unix, s.handler)
	if s.opts.TCP == "" {
		return nil
	}
	tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.TCP)
	if err != nil {
		return errors.Join(fmt.Errorf("api.tcp: %w", err), s.Stop(ctx))
	}
	s.serve(tcp, requireToken(s.opts.Token, refuseBackups(s.handler)))
	return nil
}

// TCPAddr is the address that TCP is served on; nil without.
func (s *Server) TCPAddr() net.Addr {
	if len(s.listeners) < 2 {
		return nil
	}
	return s.listeners[1].Addr()
}

func (s *Server) serve(l net.Listener, h http.Handler) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		Protocols: &protocols, ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	s.listeners = append(s.listeners, l)
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("API stopped serving", "address", l.Addr().String(), "error", err)
		}
	}()
}

// Stop lets running requests finish until ctx ends and closes the listeners.
func (s *Server) Stop(ctx context.Context) error {
	var errs []error
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, err, server.Close())
		}
	}
	s.servers, s.listeners = nil, nil
	return errors.Join(errs...)
}

// CheckSocketPath says whether a socket may have so long a path. The error wraps
// [ErrSocket].
func CheckSocketPath(path string) error {
	longest := max(len(path), len(filepath.Dir(path))+len(temporarySocket))
	if longest > maxSocketPath {
		return fmt.Errorf("%w: the path %s is %d bytes too long for the system; choose a shorter KARASU_HOME", ErrSocket, path, longest-maxSocketPath)
	}
	return nil
}

func listenUnix(path string) (net.Listener, error) {
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%w: %s exists and is not a socket; move it away", ErrSocket, path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSocket, err)
		}
	}
	// The socket is made in a folder of mode 0700 and renamed once its mode is set,
	// so that there is no moment in which others could connect.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	defer func() { _ = os.Remove(dir) }()
	temporary := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(temporary, 0o600), os.Rename(temporary, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrSocket, err), l.Close())
	}
	return &unixListener{l, path}, nil
}

// unixListener removes its socket when it is closed.
type unixListener struct {
	*net.UnixListener
	path string
}

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		_ = os.Remove(l.path)
	}
	return err
}

func requireToken(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || token == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			http.Error(w, "a bearer token is needed: see api.token in the daemon's home", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
