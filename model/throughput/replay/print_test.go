package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
)

// measured reads the public measurements.
func measured(tb testing.TB) []Curve {
	tb.Helper()
	curves, err := ReadCurves(filepath.Dir(modeltest.Data(tb, "tensorflow")))
	if err != nil {
		tb.Fatal(err)
	}
	return curves
}

func TestPrint(t *testing.T) {
	if os.Getenv("KARASU_PRINT") == "" {
		t.Skip("set KARASU_PRINT=1 to print the table of docs/elastic.md")
	}
	rows, err := Run(measured(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := Print(os.Stdout, rows); err != nil {
		t.Fatal(err)
	}
}
