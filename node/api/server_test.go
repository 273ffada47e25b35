package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/api"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

// fakeNode answers with its version and refuses every run.
type fakeNode struct{ api.Node }

func (fakeNode) Status(context.Context) (*karasuv1.StatusResponse, error) {
	return &karasuv1.StatusResponse{Version: "here"}, nil
}

func (fakeNode) ImportRuns(context.Context, []model.Run) (int, int, error) {
	return 0, 0, &model.FieldError{Field: "runtime", Problem: "is odd"}
}

const token = "0123456789abcdef0123456789abcdef"

func serve(t *testing.T, tcp string) (*api.Server, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "k-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s.sock")
	s := api.NewServer(&api.Service{Node: fakeNode{}}, api.Options{Socket: socket, TCP: tcp, Token: token, Logger: slog.New(slog.DiscardHandler)})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s, socket
}

func unixClient(socket string) karasuv1connect.KarasuServiceClient {
	return karasuv1connect.NewKarasuServiceClient(&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}, "http://karasu")
}

func TestSocketIsPrivateAndGone(t *testing.T) {
	s, socket := serve(t, "")
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("socket mode %v (%v), want 0600", info.Mode(), err)
	}
	if _, err := unixClient(socket).Status(t.Context(), connect.NewRequest(&karasuv1.StatusRequest{})); err != nil {
		t.Errorf("status: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there after a stop: %v", err)
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	_, socket := serve(t, "")
	_, err := unixClient(socket).ImportRuns(t.Context(), connect.NewRequest(&karasuv1.ImportRunsRequest{}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "runtime is odd") {
		t.Errorf("error %v, want an invalid argument", err)
	}
	bad := &karasuv1.ImportRunsRequest{Runs: []*karasuv1.Run{{}}}
	if _, err = unixClient(socket).ImportRuns(t.Context(), connect.NewRequest(bad)); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("an empty run: error %v, want an invalid argument", err)
	}
}

// TestForeignBytes sends what is no request; the server goes on.
func TestForeignBytes(t *testing.T) {
	_, socket := serve(t, "")
	for _, garbage := range []string{"\x00\x01\x02\x03", "SSH-2.0-OpenSSH\r\n", strings.Repeat("A", 1<<17), "POST /karasu.v1.KarasuService/Status HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 4\r\n\r\n\xff\xff\xff\xff"} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = c.Write([]byte(garbage)) // the server may hang up in the middle
		_ = c.(*net.UnixConn).CloseWrite()
		answer, _ := io.ReadAll(io.LimitReader(c, 1<<16))
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("%.20q was answered with %q", garbage, answer)
		}
		_ = c.Close()
	}
	if _, err := unixClient(socket).Status(t.Context(), connect.NewRequest(&karasuv1.StatusRequest{})); err != nil {
		t.Errorf("status after garbage: %v", err)
	}
}

func TestTCPNeedsTheToken(t *testing.T) {
	s, _ := serve(t, "127.0.0.1:0")
	for _, c := range []struct {
		header string
		want   connect.Code
	}{
		{"", connect.CodeUnauthenticated}, {"Bearer wrong", connect.CodeUnauthenticated}, {"Bearer ", connect.CodeUnauthenticated},
		{"Basic " + token, connect.CodeUnauthenticated}, {"Bearer " + token, 0},
	} {
		client := karasuv1connect.NewKarasuServiceClient(http.DefaultClient, "http://"+s.TCPAddr().String())
		req := connect.NewRequest(&karasuv1.StatusRequest{})
		req.Header().Set("Authorization", c.header)
		_, err := client.Status(t.Context(), req)
		if err == nil && c.want != 0 || err != nil && connect.CodeOf(err) != c.want {
			t.Errorf("%q: error %v, want code %v", c.header, err, c.want)
		}
	}
}

func TestSocketPathIsChecked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{file, filepath.Join(dir, strings.Repeat("x", 120))} {
		s := api.NewServer(&api.Service{}, api.Options{Socket: socket, Logger: slog.New(slog.DiscardHandler)})
		if err := s.Start(t.Context()); !errors.Is(err, api.ErrSocket) {
			t.Errorf("%s: error %v, want %v", socket, err, api.ErrSocket)
			_ = s.Stop(t.Context())
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "precious" {
		t.Errorf("the file in the socket's place is now %q (%v)", content, err)
	}
}
