package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/modeltest"
)

// The table in the repository is what the script makes of the facts.
func TestTableIsUpToDate(t *testing.T) {
	facts := modeltest.Data(t, "catalog/machine_types.csv")
	var out bytes.Buffer
	if err := run(facts, &out); err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../optimizer/catalog/machines.csv")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), out.String()); d != "" {
		t.Errorf("run the script again:\n%s", d)
	}
}

func TestRunErrors(t *testing.T) {
	const header = "cloud,region,machine_type,vcpus,memory_gib,price_usd_per_hour,price_date,idle_watts,full_watts\n"
	for _, tt := range []struct{ name, content, says string }{
		{"empty", "", "is empty"},
		{"column missing", "cloud,machine_type\n", "has no column vcpus"},
		{"no memory", header + "aws,r,a,4,,,,,\n", "row 2: vCPUs or memory is missing"},
		{"no vcpus", header + "aws,r,a,,4,,,,\n", "row 2: vCPUs or memory is missing"},
	} {
		path := filepath.Join(t.TempDir(), "facts.csv")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(path, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}
