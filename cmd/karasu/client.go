package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

const (
	// dialTimeout bounds the wait for a daemon to take the connection.
	dialTimeout = 5 * time.Second
	// requestTimeout bounds a whole request. The longest are imports and the first
	// search of a topic, which waits for peers; both take seconds.
	requestTimeout = 2 * time.Minute
	// backupTimeout bounds a backup: 100 GB at 10 MB/s take 3 hours.
	backupTimeout = 12 * time.Hour
	// maxResponse bounds an answer: 100,000 runs have some 30 MB.
	maxResponse = 256 << 20
)

// client returns a client of the daemon's API: of --api, else of the home's socket.
func (a *app) client() (karasuv1connect.KarasuServiceClient, error) {
	if a.API != "" {
		return a.tcpClient()
	}
	return a.unixClient(requestTimeout)
}

// unixClient returns a client of the home's socket whose requests may take so long.
func (a *app) unixClient(timeout time.Duration) (karasuv1connect.KarasuServiceClient, error) {
	h, err := a.home()
	if err != nil {
		return nil, err
	}
	socket := h.Socket()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", socket)
	}}
	return newClient(transport, "http://karasu", socket, "", timeout), nil
}

func (a *app) tcpClient() (karasuv1connect.KarasuServiceClient, error) {
	u, err := url.Parse(a.API)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("--api must look like http://127.0.0.1:7747: %q", a.API)
	}
	path := a.TokenFile
	if path == "" {
		h, err := a.home()
		if err != nil {
			return nil, err
		}
		path = h.TokenFile()
	}
	token, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("the token for --api cannot be read (%v); name its file with --token-file", err)
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext}
	return newClient(transport, strings.TrimSuffix(a.API, "/"), a.API, strings.TrimSpace(string(token)), requestTimeout), nil
}

func newClient(transport http.RoundTripper, base, where, token string, timeout time.Duration) karasuv1connect.KarasuServiceClient {
	intercept := func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			if token != "" {
				req.Header().Set("Authorization", "Bearer "+token)
			}
			res, err := next(ctx, req)
			return res, foreign(where, broken(dialError(where, err)))
		}
	}
	return karasuv1connect.NewKarasuServiceClient(
		&http.Client{Transport: transport, Timeout: timeout}, base,
		connect.WithInterceptors(connect.UnaryInterceptorFunc(intercept)),
		connect.WithReadMaxBytes(maxResponse),
	)
}

// dialError tells a daemon that is not there from one that answers with an error.
func dialError(where string, err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		return err
	}
	reason := op.Err
	switch {
	case errors.Is(err, syscall.ENOENT):
		reason = errors.New("no such socket")
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = errors.New("nobody listens")
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		reason = errors.New("permission denied: it belongs to another user")
	}
	return &unreachableError{where, reason}
}

// broken tells a daemon that ended from one that answers with an error.
func broken(err error) error {
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, sign) {
			return errors.New("the daemon ended while answering; see its log")
		}
	}
	return err
}

// foreign tells a daemon that fails from something else that listens there. It
// only chooses the words: the HTTP and connect libraries have no error to ask for.
func foreign(where string, err error) error {
	if err == nil {
		return nil
	}
	for _, sign := range []string{"malformed HTTP", "invalid content-type"} {
		if strings.Contains(err.Error(), sign) {
			return fmt.Errorf("what answers at %s is no Karasu daemon", where)
		}
	}
	return err
}
