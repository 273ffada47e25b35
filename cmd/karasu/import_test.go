package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

// importing is a daemon that takes runs and calls back at each batch.
type importing struct {
	karasuv1connect.UnimplementedKarasuServiceHandler
	at func()
}

func (i *importing) ImportRuns(_ context.Context, req *connect.Request[karasuv1.ImportRunsRequest]) (*connect.Response[karasuv1.ImportRunsResponse], error) {
	i.at()
	return connect.NewResponse(&karasuv1.ImportRunsResponse{Imported: uint32(len(req.Msg.GetRuns()))}), nil
}

// runTable writes n runs.
func runTable(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("infrastructure,framework,algorithm,job,machine_type,nodes,runtime_s\n")
	for i := range n {
		fmt.Fprintf(&b, "aws-ec2,spark,sort,etl,m4.large,4,%d\n", 100+i)
	}
	path := filepath.Join(t.TempDir(), "runs.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInterruptedImport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, handler := karasuv1connect.NewKarasuServiceHandler(&importing{at: cancel})
	getenv := serve(t, handler)
	var stderr bytes.Buffer
	if code := run(ctx, []string{"import", "csv", runTable(t, importBatch+1)}, nil, io.Discard, &stderr, getenv); code != exitFailed || stderr.String() != "karasu: interrupted; 2,000 of 2,001 runs were stored\n" {
		t.Errorf("in the middle: code %d, %q", code, stderr.String())
	}
	stderr.Reset()
	never, w := io.Pipe()
	defer func() { _ = w.Close() }()
	if code := run(ctx, []string{"import", "csv", "-"}, never, io.Discard, &stderr, getenv); code != exitFailed || stderr.String() != "karasu: interrupted; nothing was stored\n" {
		t.Errorf("while reading: code %d, %q", code, stderr.String())
	}
}

// dying takes some requests, then breaks every connection.
type dying struct {
	http.Handler
	left int
}

func (d *dying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.left--; d.left >= 0 {
		d.Handler.ServeHTTP(w, r)
		return
	}
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func (i *importing) Status(context.Context, *connect.Request[karasuv1.StatusRequest]) (*connect.Response[karasuv1.StatusResponse], error) {
	return connect.NewResponse(&karasuv1.StatusResponse{}), nil
}

func (i *importing) ImportExecutions(_ context.Context, req *connect.Request[karasuv1.ImportExecutionsRequest]) (*connect.Response[karasuv1.ImportExecutionsResponse], error) {
	res := &karasuv1.ImportExecutionsResponse{}
	for _, e := range req.Msg.GetExecutions() {
		res.Executions = append(res.Executions, &karasuv1.ImportedExecution{Origin: e.GetOrigin(), Result: karasuv1.ImportResult_IMPORT_RESULT_IMPORTED})
	}
	return connect.NewResponse(res), nil
}

// TestDaemonEndsInImport: what was stored before is said.
func TestDaemonEndsInImport(t *testing.T) {
	logs := t.TempDir()
	for i := range executionBatch + 1 {
		log := fmt.Sprintf(`{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-%d","Timestamp":1772330400000}`+"\n", i)
		if err := os.WriteFile(filepath.Join(logs, fmt.Sprint(i)), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, c := range map[string]struct {
		left int // requests, with that for the status
		args []string
	}{
		"at least 2,000 of 2,001 runs were stored, and what is imported again changes nothing": {1, []string{"import", "csv", runTable(t, importBatch+1)}},
		"at least 100 applications were stored, and what is imported again changes nothing":    {2, []string{"import", "spark", logs}},
	} {
		_, handler := karasuv1connect.NewKarasuServiceHandler(&importing{at: func() {}})
		var stderr bytes.Buffer
		code := run(t.Context(), c.args, nil, io.Discard, &stderr, serve(t, &dying{handler, c.left}))
		if code == exitOK || !strings.HasPrefix(stderr.String(), "karasu: "+want+"\n") || strings.Count(stderr.String(), "\n") != 2 {
			t.Errorf("%v: code %d, %q", c.args[:2], code, stderr.String())
		}
	}
}

// TestDaemonEndsWhileAnswering: a connection that breaks is the daemon's end.
func TestDaemonEndsWhileAnswering(t *testing.T) {
	cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	})
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"import", "csv", runTable(t, 3)}, nil, io.Discard, &stderr, serve(t, cut))
	if code != exitFailed || !strings.HasSuffix(stderr.String(), "the daemon ended while answering; see its log\n") {
		t.Errorf("code %d, %q", code, stderr.String())
	}
}
