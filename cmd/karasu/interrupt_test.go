package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

func TestInterruptedIsOneWord(t *testing.T) {
	for _, err := range []error{
		context.Canceled,
		fmt.Errorf("start newcomer-1: %w; network.listen in config.toml says where to listen", context.Canceled),
		&unreachableError{"karasu.sock", &net.OpError{Op: "dial", Err: context.Canceled}},
		connect.NewError(connect.CodeCanceled, context.Canceled),
	} {
		if line, code := describe(err); line != "interrupted" || code != exitFailed {
			t.Errorf("%v: %q, exit code %d", err, line, code)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	table := filepath.Join(t.TempDir(), "runs.csv")
	rows := "infrastructure,framework,algorithm,job,machine_type,nodes,runtime_s\n"
	for nodes := 2; nodes < 8; nodes++ {
		rows += fmt.Sprintf("aws-ec2,spark,sort,j,m4.large,%d,%d\n", nodes, 1000/nodes)
	}
	if err := os.WriteFile(table, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"demo", "bench search --runs " + table, "bench pareto --runs " + table, "bench calibration --runs " + table} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, strings.Fields(command), strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
		if code != exitFailed || stderr.String() != "karasu: interrupted\n" || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stderr.String(), stdout.String())
		}
	}
}
