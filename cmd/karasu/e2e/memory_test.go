package e2e

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// maxResidentKB is what a daemon at rest may have resident.
const maxResidentKB = 150_000

// TestResidentMemory: a daemon that holds the whole scout table and what follows from
// it, with a peer that holds the same records, is at rest within 150 MB.
func TestResidentMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	table := readScout(t)
	a := newOrganisation(t, "a", "")
	a.start()
	b := newOrganisation(t, "b", a.bootstrap())
	b.start()
	a.must("import", "csv", table.file(t, "all.csv", func(_, _, _ string) bool { return true }))
	const records = 36 // 18 workloads, a summary and a model each
	b.eventually("B has A's records", func() bool { return b.status().ReceivedRecords == records })
	for _, o := range []*organisation{a, b} {
		o.eventually("the daemon comes to rest", func() bool { return o.resident() <= maxResidentKB })
		t.Logf("%s: %d kB resident", o.home, o.resident())
	}
	a.stop()
	b.stop()
}

// resident is the daemon's resident memory in kB.
func (o *organisation) resident() int {
	o.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int
		if strings.HasPrefix(lines.Text(), "VmRSS:") {
			if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kb); err != nil {
				o.t.Fatal(err)
			}
			return kb
		}
	}
	o.t.Fatal("no VmRSS")
	return 0
}
