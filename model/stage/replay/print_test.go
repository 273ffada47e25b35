package replay

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model/modeltest"
)

func queriesOf(tb testing.TB) []Query {
	tb.Helper()
	f, err := os.Open(modeltest.Data(tb, "stages/tpc.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	queries, err := ReadTPC(f)
	if err != nil {
		tb.Fatal(err)
	}
	return queries
}

func readHistory(tb testing.TB) []Run {
	tb.Helper()
	f, err := os.Open(modeltest.Data(tb, "stages/history.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	runs, err := ReadHistory(f)
	if err != nil {
		tb.Fatal(err)
	}
	return runs
}

// TestPrintTPC prints the table of docs/checkpoint.md where KARASU_PRINT is set to how
// many groups are stepped over.
func TestPrintTPC(t *testing.T) {
	every, err := strconv.Atoi(os.Getenv("KARASU_PRINT"))
	if err != nil {
		t.Skip("set KARASU_PRINT=1 to print the whole table")
	}
	began := time.Now()
	rows, err := TPC(t.Context(), queriesOf(t), Options{Every: every, ChosenOnly: os.Getenv("KARASU_CHOSEN") != ""}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Print(os.Stdout, rows); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began))
}

func TestPrintHistory(t *testing.T) {
	every, err := strconv.Atoi(os.Getenv("KARASU_PRINT"))
	if err != nil {
		t.Skip("set KARASU_PRINT=1 to print the whole table")
	}
	began := time.Now()
	rows, err := History(t.Context(), readHistory(t), Options{Every: every})
	if err != nil {
		t.Fatal(err)
	}
	if err := Print(os.Stdout, rows); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began))
}
