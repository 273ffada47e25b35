package hadoop

import (
	"bytes"
	stdcmp "cmp"
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

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/golden.txt with what the public histories give now")

// TestGolden pins what each public history gives.
func TestGolden(t *testing.T) {
	dir := modeltest.Data(t, "hadoop")
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "history\tversion\tname\tqueue\tproperties\tstages\ttasks\tfailed\tkilled\thosts\tcontainers\truntime_s\toutcome\tinput\tshuffle_read\tshuffle_write\tspilled\tcpu_s\tgc_s\tbad\tnotes")
	for f, err := range FindPath(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Read(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(filepath.Base(f.Name), "-")
		stages := ""
		for _, s := range e.Graph.Stages {
			stages += fmt.Sprintf("%s %d/%d %.3f-%.3f %v ", s.Name, s.Finished, s.Tasks, s.StartSeconds, s.EndSeconds, s.Parents)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%.3f\t%s\t%.0f\t%.0f\t%.0f\t%s\t%.3f\t%.3f\t%d\t%s\n",
			id, stdcmp.Or(e.Version, "-"), e.Name, e.Queue, len(e.Properties), strings.TrimSpace(stages), e.Tasks.Count, e.Tasks.Failed, e.Tasks.Killed, e.Cluster.Hosts, e.Cluster.MaxExecutors,
			e.RuntimeSeconds(), e.Outcome, e.InputBytes, e.Tasks.ShuffleReadBytes, e.Tasks.ShuffleWriteBytes, e.Properties["spilled records"],
			e.Tasks.CPUSeconds, e.Tasks.GCSeconds, e.Quality.BadLines, strings.Join(e.Quality.Notes, "; "))
		if e.Quality.Cut || e.EndEstimated {
			t.Errorf("%s: %+v", id, e.Quality)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden.txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); d != "" {
		t.Errorf("go test -run TestGolden -rewrite accepts this (-want +got):\n%s", d)
	}
}

// What the configuration beside a history tells.
func TestConfiguration(t *testing.T) {
	for e, err := range Executions(t.Context(), modeltest.Data(t, "hadoop"), Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "QuasiMonteCarlo" {
			continue
		}
		if e.MainClass != "org.apache.hadoop.examples.QuasiMonteCarlo$QmcMapper" || e.Cluster.ExecutorCores != 1 || e.Cluster.ExecutorMemoryBytes != 1<<30 || e.Properties["mapreduce.task.io.sort.mb"] != "100" {
			t.Errorf("%+v %q", e.Cluster, e.Properties)
		}
		if e.Origin != "hadoop/job_1526555215992_0001" || e.ApplicationID != "application_1526555215992_0001" || e.Attempt != "1" {
			t.Errorf("%s %s %s", e.Origin, e.ApplicationID, e.Attempt)
		}
		// 2.097 s of map and 2.211 s of reduce, as Hadoop counted them.
		if e.Cluster.CoreSeconds != 2.097+2.211 {
			t.Errorf("%g core seconds", e.Cluster.CoreSeconds)
		}
		return
	}
	t.Error("no such job")
}

// The shuffle is whole: reduces read what maps wrote.
func TestShuffleIsWhole(t *testing.T) {
	for e, err := range Executions(t.Context(), modeltest.Data(t, "hadoop"), Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Outcome == model.OK && len(e.Quality.Notes) == 0 && e.Tasks.ShuffleReadBytes != e.Tasks.ShuffleWriteBytes {
			t.Errorf("%s: read %g, wrote %g", e.Name, e.Tasks.ShuffleReadBytes, e.Tasks.ShuffleWriteBytes)
		}
	}
}

// Cutting a history keeps what comes before, and a flipped bit never makes nonsense.
func TestCutsAndFlips(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	texts := [][]byte{[]byte(history())}
	for f, err := range FindPath(t.Context(), modeltest.Data(t, "hadoop")) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	for i, text := range texts {
		// Every byte of the first; enough to wait for of the larger ones.
		step := []int{1, 67, 29, 17}[min(i, 3)]
		for n := max(0, len(text)-4096); n < len(text); n += step {
			if e := check(t, text[:n]); e != nil && n < len(text)-1 && e.Outcome != 0 {
				t.Fatalf("cut at %d: %+v", n, e)
			}
		}
		for n := 0; n < len(text); n += step * 13 {
			b := bytes.Clone(text)
			b[n] ^= 1 << (n % 8)
			check(t, b)
		}
	}
}

func check(tb testing.TB, text []byte) *model.Execution {
	tb.Helper()
	e, err := ReadStream(tb.Context(), strings.NewReader(string(text)), "f.jhist", nil, Options{})
	if err != nil {
		var p *ingest.Problem
		if !errors.As(err, &p) || strings.Contains(err.Error(), "\n") {
			tb.Fatalf("%v", err)
		}
		return nil
	}
	if err := e.Validate(); err != nil {
		tb.Fatal(err)
	}
	return e
}
