// Package e2e tests the binary as its users run it: daemons as processes of their
// own, each with a home of its own, on real sockets.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "karasu-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "karasu")
	build := exec.Command("go", "build", "-o", binary, "github.com/karasu-project/karasu/cmd/karasu")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// waitLimit bounds every wait for something that is going to happen.
const waitLimit = 60 * time.Second

// organisation is a home and, while it runs, the daemon on it.
type organisation struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	log  *safeBuffer
	// inside is a command that runs the daemon elsewhere; empty is here.
	inside []string
}

// newOrganisation initialises a home whose daemon stays on loopback.
func newOrganisation(t *testing.T, name string, config string) *organisation {
	t.Helper()
	o := newHome(t, name)
	o.must("init", "--org", name)
	o.configure(name, config)
	return o
}

// newHome names a home that is to be initialised.
func newHome(t *testing.T, name string) *organisation {
	t.Helper()
	// Paths of unix sockets are short, so the homes are too.
	dir, err := os.MkdirTemp("", "k-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &organisation{t: t, home: filepath.Join(dir, name)}
	t.Cleanup(o.kill)
	return o
}

// configure replaces the configuration. Peers are added with connect.
func (o *organisation) configure(name, more string) {
	o.t.Helper()
	text := fmt.Sprintf("organisation = %q\n[network]\nlisten = [\"/ip4/127.0.0.1/tcp/0\"]\nmdns = false\ndht = false\nsync_interval = \"2s\"\n%s", name, more)
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// start starts the daemon and waits until its API answers.
func (o *organisation) start() {
	o.t.Helper()
	o.launch()
	o.eventually("daemon of "+o.home+" answers", func() bool {
		_, _, code := o.run("status", "--json")
		return code == 0
	})
}

// launch starts the daemon and does not wait.
func (o *organisation) launch() {
	o.t.Helper()
	o.log = &safeBuffer{}
	args := append(slices.Clone(o.inside), binary, "daemon")
	o.cmd = exec.Command(args[0], args[1:]...)
	o.cmd.Env = append(os.Environ(), "KARASU_HOME="+o.home)
	o.cmd.Stderr = o.log
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
}

// stop ends the daemon as a service manager does, and expects it to end well.
func (o *organisation) stop() {
	o.t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		o.t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		o.t.Fatalf("daemon of %s ended with %v:\n%s", o.home, err, o.log)
	}
	o.cmd = nil
}

// kill ends the daemon as a power cut does.
func (o *organisation) kill() {
	if o.cmd == nil {
		return
	}
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	o.cmd = nil
}

// run runs a command against the organisation's home.
func (o *organisation) run(args ...string) (stdout, stderr string, code int) {
	return o.runInput("", args...)
}

func (o *organisation) runInput(stdin string, args ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "KARASU_HOME="+o.home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), errs.String(), exit.ExitCode()
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

// must runs a command that has to succeed.
func (o *organisation) must(args ...string) string {
	o.t.Helper()
	out, errs, code := o.run(args...)
	if code != 0 {
		o.t.Fatalf("karasu %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// query runs a command with --json into v.
func (o *organisation) query(v any, args ...string) {
	o.t.Helper()
	out := o.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		o.t.Fatalf("karasu %s --json: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// status is what `karasu status --json` prints, as far as the tests look at it.
type status struct {
	PeerID          string   `json:"peer_id"`
	Addresses       []string `json:"addresses"`
	Runs            int      `json:"runs"`
	OwnRecords      int      `json:"own_records"`
	ReceivedRecords int      `json:"received_records"`
	Peers           int      `json:"peers"`
}

func (o *organisation) status() status {
	o.t.Helper()
	var s status
	o.query(&s, "status")
	return s
}

// bootstrap is the configuration that makes a daemon dial this one.
func (o *organisation) bootstrap() string {
	o.t.Helper()
	s := o.status()
	return fmt.Sprintf("bootstrap = [%q]\n", s.Addresses[0]+"/p2p/"+s.PeerID)
}

// eventually polls until ok, and fails the test with the daemon's log otherwise.
func (o *organisation) eventually(what string, ok func() bool) {
	o.t.Helper()
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	o.t.Fatalf("not within %s: %s\n%s", waitLimit, what, o.log)
}

// safeBuffer collects a process's output while it is read.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
