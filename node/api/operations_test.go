package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/node/api"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

// Backup sends two chunks and the end, or stops where the client is gone.
func (fakeNode) Backup(_ context.Context, send func(*karasuv1.BackupResponse) error) error {
	for _, m := range []*karasuv1.BackupResponse{{Chunk: []byte("ab")}, {Chunk: []byte("c")}, {Sha256: "sum"}} {
		if err := send(m); err != nil {
			return err
		}
	}
	return nil
}

func read(stream *connect.ServerStreamForClient[karasuv1.BackupResponse], err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	var out strings.Builder
	for stream.Receive() {
		out.Write(stream.Msg().GetChunk())
		out.WriteString(stream.Msg().GetSha256())
	}
	return out.String(), stream.Err()
}

// TestBackupsLeaveByTheSocketOnly: also who has the token gets no keys over TCP.
func TestBackupsLeaveByTheSocketOnly(t *testing.T) {
	s, socket := serve(t, "127.0.0.1:0")
	got, err := read(unixClient(socket).Backup(t.Context(), connect.NewRequest(&karasuv1.BackupRequest{})))
	if got != "abcsum" || err != nil {
		t.Errorf("by the socket: %q, %v", got, err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	tcp := karasuv1connect.NewKarasuServiceClient(&http.Client{Transport: transport}, "http://"+s.TCPAddr().String())
	req := connect.NewRequest(&karasuv1.BackupRequest{})
	req.Header().Set("Authorization", "Bearer "+token)
	got, err = read(tcp.Backup(t.Context(), req))
	if got != "" || connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "by the unix socket only") {
		t.Errorf("over TCP: %q, %v", got, err)
	}
	status := connect.NewRequest(&karasuv1.StatusRequest{})
	status.Header().Set("Authorization", "Bearer "+token)
	if _, err := tcp.Status(t.Context(), status); err != nil {
		t.Errorf("other requests over TCP: %v", err)
	}
}

func TestObserverIsTold(t *testing.T) {
	var mu sync.Mutex
	var told []string
	dir := t.TempDir()
	s := api.NewServer(&api.Service{Node: fakeNode{}}, api.Options{
		Socket: dir + "/s", Logger: slog.New(slog.DiscardHandler), Observer: func(procedure, code string, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, procedure+" "+code)
			if took < 0 {
				t.Error(took)
			}
		},
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	client := unixClient(dir + "/s")
	_, _ = client.Status(t.Context(), connect.NewRequest(&karasuv1.StatusRequest{}))
	_, _ = client.ImportRuns(t.Context(), connect.NewRequest(&karasuv1.ImportRunsRequest{}))
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(told, ", "); got != "Status ok, ImportRuns invalid_argument" {
		t.Errorf("told %s", got)
	}
}
