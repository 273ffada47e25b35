package spark

import (
	"bytes"
	"io"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest/spark/codec"
)

// TestShuffleBalance checks the stage graphs of the public logs: what a stage read from
// shuffles is what its parents wrote. Checkable are the stages with parents of logs
// that are whole and in which no stage failed or was tried again.
func TestShuffleBalance(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	const goal = .95
	dir := modeltest.Data(t, "spark-events")
	checkable, balanced := 0, 0
	for l, err := range FindPath(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := l.Read(t.Context(), Options{})
		if err != nil || e.Graph == nil || !wholeRun(e) {
			continue
		}
		n, ok := balance(t, l.Name, e)
		checkable, balanced = checkable+n, balanced+ok
	}
	share := float64(balanced) / float64(checkable)
	t.Logf("%d of %d checkable stages balance: %.1f%%", balanced, checkable, 100*share)
	if !(share >= goal) {
		t.Errorf("%.1f%% of %d checkable stages balance, want %.0f%%", 100*share, checkable, 100*goal)
	}
}

// balance counts the stages with parents, unless they read a cache in place of a
// parent's shuffle, and those of them that read what their parents wrote, within 2%.
func balance(t *testing.T, name string, e *model.Execution) (checkable, balanced int) {
	t.Helper()
	const tolerance = .02
	wrote := make(map[int]float64)
	for _, s := range e.Graph.Stages {
		wrote[s.ID] = s.ShuffleWriteBytes
	}
	for _, s := range e.Graph.Stages {
		if len(s.Parents) == 0 {
			if s.ShuffleReadBytes > 0 {
				t.Logf("%s: stage %d read %.0f bytes of no parent", name, s.ID, s.ShuffleReadBytes)
			}
			continue
		}
		want := 0.
		for _, p := range s.Parents {
			want += wrote[p]
		}
		if s.InputBytes > 0 && s.ShuffleReadBytes < want {
			continue // a cached RDD lies before a parent's shuffle, and its blocks are the input
		}
		checkable++
		if math.Abs(s.ShuffleReadBytes-want) <= tolerance*want {
			balanced++
		} else {
			t.Logf("%s: stage %d read %.0f bytes, its parents %v wrote %.0f", name, s.ID, s.ShuffleReadBytes, s.Parents, want)
		}
	}
	return checkable, balanced
}

func wholeRun(e *model.Execution) bool {
	if e.Quality.Cut || e.Outcome != model.OK {
		return false
	}
	for _, s := range e.Graph.Stages {
		if s.Attempt > 0 || s.Outcome != model.OK || s.FailedTasks > 0 {
			return false
		}
	}
	return true
}

// TestParentsTwoWays finds the parents of adaptive execution by the starts of jobs, and
// again by lineage, without those: it is the same graph.
func TestParentsTwoWays(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	for _, name := range []string{"v3.2.1-aqe.zstd", "v3.2.1-dynamic-allocation.zstd", "v4.1-146-frames.zstd", "v3.3-local"} {
		f, err := os.Open(modeltest.Data(t, "spark-events/"+name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // only read
		rc, _, err := codec.NewReader(f, name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		with, without := NewParser(), NewParser()
		for _, l := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			with.Line(l)
			if string(eventName(l)) != "SparkListenerJobStart" {
				without.Line(l)
			}
		}
		if diff := cmp.Diff(edges(t, with), edges(t, without)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func edges(t *testing.T, p *Parser) map[int][]int {
	t.Helper()
	e, err := p.Execution()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[int][]int)
	for _, s := range e.Graph.Stages {
		out[s.ID] = s.Parents
	}
	return out
}
