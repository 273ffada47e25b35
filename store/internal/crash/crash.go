// Package crash is for tests that kill a process which writes to a database, and
// then ask whether what it had acknowledged is still there.
package crash

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const dirVariable = "KARASU_TEST_CRASH_DIR"

// Dir returns the directory to write to in the process that is going to be
// killed, and "" in the test.
func Dir() string { return os.Getenv(dirVariable) }

// Ack tells the test that something is stored. It is one line without line ends.
func Ack(what string) {
	// One write, so that a kill cannot tear it. The test notices a broken pipe.
	_, _ = os.Stdout.WriteString("ack " + what + "\n")
}

// Loop runs the named test of this binary again and again as a process of its
// own in which [Dir] is dir, kills it with SIGKILL at a random moment after its
// first acknowledgement, or every third time after its start, and hands all
// acknowledgements so far to verify.
func Loop(t *testing.T, test, dir string, kills int, verify func(round int, acked []string)) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var acked []string
	for round := range kills {
		//nolint:gosec // this binary, and a name that the test gives
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+test+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), dirVariable+"="+dir)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hang := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		kill := func(within time.Duration) {
			time.AfterFunc(rand.N(within), func() { _ = cmd.Process.Kill() })
		}
		early := round%3 == 2
		if early {
			kill(300 * time.Millisecond)
		}
		fresh := 0
		var other []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			ack, ok := strings.CutPrefix(lines.Text(), "ack ")
			if !ok {
				other = append(other, lines.Text())
				continue
			}
			if fresh == 0 && !early {
				kill(150 * time.Millisecond)
			}
			acked = append(acked, ack)
			fresh++
		}
		err = cmd.Wait()
		hang.Stop()
		if fresh == 0 && !early || err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: %d acknowledgements, ended with %v\n%s\n%s", round, fresh, err, strings.Join(other, "\n"), stderr.String())
		}
		verify(round, acked)
	}
	t.Logf("%d kills, %d acknowledgements", kills, len(acked))
}
