// Package container_test checks what can be checked of the Containerfile without building
// it.
package container_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestContainerfile(t *testing.T) {
	file, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	got := regexp.MustCompile(`golang:(\d+\.\d+)`).FindSubmatch(file)
	if want == nil || got == nil || string(want[1]) != string(got[1]) {
		t.Errorf("builds with Go %s, and go.mod asks for %s", got, want)
	}
	stages := strings.Split(string(file), "\nFROM ")
	last := stages[len(stages)-1]
	for _, line := range []string{"USER nonroot:nonroot", "ENV KARASU_HOME=/var/lib/karasu", `HEALTHCHECK `, `ENTRYPOINT ["/karasu"]`, "STOPSIGNAL SIGTERM"} {
		if !strings.Contains(last, "\n"+line) {
			t.Errorf("the last stage lacks %s", line)
		}
	}
	if strings.Contains(last, "\nRUN ") {
		t.Error("the last stage runs something, and has no shell to do so")
	}
}
