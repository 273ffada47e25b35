package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"karasu": main})
}

// TestScripts pins what users see: output, error lines and exit codes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("KARASU_UPDATE") != "", // what cmp compares with
		Setup: func(e *testscript.Env) error {
			e.Setenv("KARASU_HOME", e.WorkDir+"/k")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": exitCode, "ready": ready, "until": until, "capture": capture},
	})
}

// exitCode runs a command that must end with a code: exit 2 karasu ...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// capture sets a variable to what a group of an expression finds in the last output:
// capture NAME EXPRESSION
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME EXPRESSION")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%q is not in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// until repeats a command until its output holds the last argument: until karasu status TEXT
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until COMMAND ARGS TEXT")
	}
	last := len(args) - 1
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err := ts.Exec(args[0], args[1:last]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[last]) {
			return
		}
	}
	ts.Fatalf("%q did not come", args[last])
}

// ready waits until the daemon of KARASU_HOME takes connections.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	socket := filepath.Join(ts.Getenv("KARASU_HOME"), "karasu.sock")
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			ts.Check(c.Close())
			return
		}
	}
	ts.Fatalf("no daemon at %s", socket)
}
