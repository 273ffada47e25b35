package spark

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/golden.txt with what the public logs give now")

// TestGolden pins what each public log gives, or why it is refused.
func TestGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	dir := modeltest.Data(t, "spark-events")
	lines := []string{"log\tversion\tstages\ttasks\texecutors\truntime_s\toutcome\tshuffle_read\tshuffle_write\tbad\tnotes"}
	for l, err := range FindPath(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(l.Name, filepath.ToSlash(dir)+"/")
		e, err := l.Read(t.Context(), Options{})
		var p *ingest.Problem
		switch {
		case errors.As(err, &p):
			lines = append(lines, fmt.Sprintf("%s\trefused: %s", name, p.Text))
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines = append(lines, goldenLine(name, e))
	}
	got := aligned(t, lines)
	file := filepath.Join("testdata", "golden.txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("go test -run TestGolden -rewrite accepts this (-want +got):\n%s", diff)
	}
}

func goldenLine(name string, e *model.Execution) string {
	stages := 0
	if e.Graph != nil {
		stages = len(e.Graph.Stages)
	}
	outcome := "unknown"
	if e.Outcome != 0 {
		outcome = e.Outcome.String()
	}
	runtime := fmt.Sprintf("%.3f", e.RuntimeSeconds())
	if e.EndEstimated {
		runtime = "~" + runtime
	}
	notes := strings.Join(e.Quality.Notes, "; ")
	if e.Quality.Cut {
		notes = strings.TrimSuffix("cut; "+notes, "; ")
	}
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%s\t%s\t%.0f\t%.0f\t%d\t%s", name, e.Version, stages, e.Tasks.Count,
		len(e.Executors), runtime, outcome, e.Tasks.ShuffleReadBytes, e.Tasks.ShuffleWriteBytes, e.Quality.BadLines, notes)
}

// aligned lines up the columns, which tabs separate.
func aligned(t *testing.T, lines []string) string {
	t.Helper()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if _, err := w.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	text := strings.Split(out.String(), "\n")
	for i := range text {
		text[i] = strings.TrimRight(text[i], " ")
	}
	return strings.Join(text, "\n")
}
