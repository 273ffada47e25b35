package simulator

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/throughput/replay"
)

// measured reads the public measurements.
func measured(tb testing.TB) Config {
	tb.Helper()
	dir := filepath.Dir(modeltest.Data(tb, "tensorflow"))
	modeltest.Data(tb, "cluster-traces")
	curves, err := replay.ReadCurves(dir)
	if err != nil {
		tb.Fatal(err)
	}
	trace, err := ReadTrace(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return Config{Curves: curves, Trace: trace}
}

// TestPrint prints the tables of docs/elastic.md. KARASU_SEED is the first seed,
// KARASU_SEEDS their number and KARASU_ARMS a list of arms.
func TestPrint(t *testing.T) {
	if os.Getenv("KARASU_PRINT") == "" {
		t.Skip("set KARASU_PRINT=1 to print the table of docs/elastic.md")
	}
	c := measured(t)
	if n, err := strconv.Atoi(os.Getenv("KARASU_SEEDS")); err == nil {
		c.Seeds = n
	}
	if n, err := strconv.ParseUint(os.Getenv("KARASU_SEED"), 10, 64); err == nil {
		c.FirstSeed = n
	}
	if arms := os.Getenv("KARASU_ARMS"); arms != "" {
		c.Arms = strings.Split(arms, ",")
	}
	report, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	for _, load := range DefaultLoads() {
		for _, other := range []string{Manual, ManualInformed, Oracle, DLRover, DLRoverNoisy, KarasuAlone} {
			if x, ok := report.Against(load, KarasuPeers, other); ok {
				t.Logf("load %.1f: %s takes %.3f (%.3f to %.3f) of %s", load, x.Arm, x.Ratio, x.Low, x.High, other)
			}
		}
	}
}
