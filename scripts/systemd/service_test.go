// Package systemd_test checks the unit where systemd is at hand.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnit lets systemd read the unit, with a program that is there in place of karasu.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	unit, err := os.ReadFile("karasu.service")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "karasu.service")
	text := strings.Replace(string(unit), "/usr/local/bin/karasu daemon", exe, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "karasu.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// Exposure is from 0 to 10; a service without any hardening has 9.6.
	out, err = exec.Command(analyze, "security", "--offline=true", "--threshold=20", file).CombinedOutput()
	if err != nil {
		t.Skipf("this systemd does not rate units offline: %v\n%s", err, out[max(0, len(out)-500):])
	}
	if !regexp.MustCompile(`exposure level for karasu.service: [01]\.\d`).Match(out) {
		t.Errorf("exposure above 2: %s", out[max(0, len(out)-200):])
	}
}
