package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

// fake is a daemon that answers GetSearch with a state or an error, and knows
// nothing else.
type fake struct {
	karasuv1connect.UnimplementedKarasuServiceHandler
	state *karasuv1.SearchState
	err   error
	token string
}

func (f *fake) GetSearch(_ context.Context, req *connect.Request[karasuv1.GetSearchRequest]) (*connect.Response[karasuv1.GetSearchResponse], error) {
	f.token = req.Header().Get("Authorization")
	if f.err != nil {
		return nil, f.err
	}
	return connect.NewResponse(&karasuv1.GetSearchResponse{State: f.state}), nil
}

// serve listens where the CLI expects a daemon and returns the environment.
func serve(t *testing.T, h http.Handler) func(string) string {
	t.Helper()
	home, err := os.MkdirTemp("", "k") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	l, err := net.Listen("unix", filepath.Join(home, "karasu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return func(name string) string {
		if name == "KARASU_HOME" {
			return home
		}
		return ""
	}
}

func handler(f *fake) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(karasuv1connect.NewKarasuServiceHandler(f))
	return mux
}

func karasu(getenv func(string) string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs, getenv)
	return out.String(), errs.String(), code
}

func TestErrorsOfTheDaemon(t *testing.T) {
	f := &fake{}
	env := serve(t, handler(f))
	for _, tt := range []struct {
		err  error
		line string
		code int
	}{
		{connect.NewError(connect.CodeInvalidArgument, errors.New("job is missing")), "job is missing", exitUsage},
		{connect.NewError(connect.CodeNotFound, errors.New("no such search")), "no such search", exitFailed},
		{connect.NewError(connect.CodeAlreadyExists, errors.New("exists already")), "exists already", exitFailed},
		{connect.NewError(connect.CodeFailedPrecondition, errors.New("no price")), "no price", exitFailed},
		{connect.NewError(connect.CodeInternal, errors.New("disk\nfull")), "the daemon failed: disk; full", exitFailed},
		{connect.NewError(connect.CodeUnavailable, errors.New("stopping")), "the daemon failed: stopping", exitFailed},
		{connect.NewError(connect.CodeDeadlineExceeded, errors.New("x")), "the daemon did not answer in time", exitFailed},
	} {
		f.err = tt.err
		stdout, stderr, code := karasu(env, "search", "status", "--job", "j")
		if stdout != "" || stderr != "karasu: "+tt.line+"\n" || code != tt.code {
			t.Errorf("%v: %q, %q, exit code %d; want %q, %d", tt.err, stdout, stderr, code, tt.line, tt.code)
		}
	}
	if _, stderr, code := karasu(env, "peers"); code != exitFailed || !strings.Contains(stderr, "another version") {
		t.Errorf("an unknown request: %q, exit code %d", stderr, code)
	}
}

// asking is a daemon with runs, which a client may want to delete.
type asking struct{ fake }

func (*asking) ListRuns(context.Context, *connect.Request[karasuv1.ListRunsRequest]) (*connect.Response[karasuv1.ListRunsResponse], error) {
	return connect.NewResponse(&karasuv1.ListRunsResponse{Total: 2}), nil
}

// TestSecondSignalEndsAtOnce signals a command that waits for an answer.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(karasuv1connect.NewKarasuServiceHandler(&asking{}))
	env := serve(t, mux)
	c := exec.Command("karasu", "runs", "delete", "--job", "j")
	c.Env = append(os.Environ(), "KARASU_HOME="+env("KARASU_HOME"))
	stdin, err := c.StdinPipe() // open, and nothing comes
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if question, err := bufio.NewReader(stderr).ReadString(']'); err != nil || !strings.HasPrefix(question, "Delete 2 runs of the job j") {
		t.Errorf("asked %q (%v)", question, err)
	}
	for range 2 {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two of the same kind at once are one
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit code %d, want %d", c.ProcessState.ExitCode(), exitFailed)
	}
}

func TestSomethingElseListens(t *testing.T) {
	env := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<p>hello")) // the client notices
	}))
	_, stderr, code := karasu(env, "status")
	if code != exitFailed || !strings.HasSuffix(stderr, "is no Karasu daemon\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%q, exit code %d", stderr, code)
	}
	raw := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = c.Write([]byte("\x00\xff garbage\n\n"))
			_ = c.Close()
		}
	}))
	_, stderr, code = karasu(raw, "status")
	if code != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "is no Karasu daemon") {
		t.Errorf("foreign bytes: %q, exit code %d", stderr, code)
	}
}

func TestTCPWithToken(t *testing.T) {
	f := &fake{state: &karasuv1.SearchState{}}
	s := httptest.NewServer(handler(f))
	defer s.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	_, stderr, code := karasu(none, "search", "status", "--job", "j", "--api", s.URL+"/", "--token-file", token)
	if code != exitOK || f.token != "Bearer secret" {
		t.Errorf("%q, exit code %d, token %q", stderr, code, f.token)
	}
	f.err = connect.NewError(connect.CodeUnauthenticated, errors.New("no"))
	_, stderr, code = karasu(none, "search", "status", "--job", "j", "--api", s.URL, "--token-file", token)
	if code != exitFailed || !strings.Contains(stderr, "--token-file") {
		t.Errorf("a wrong token: %q, exit code %d", stderr, code)
	}
	if _, stderr, code = karasu(none, "status"); code != exitUsage || !strings.Contains(stderr, "KARASU_HOME") {
		t.Errorf("no home and no HOME: %q, exit code %d", stderr, code)
	}
}
