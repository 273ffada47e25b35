package spark

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

// files makes a file system of names; content is in place of the empty files.
func files(content map[string]string, names ...string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for _, n := range names {
		fsys[n] = &fstest.MapFile{Data: []byte(content[n]), ModTime: time.Unix(1_700_000_000, 0)}
	}
	return fsys
}

func found(t *testing.T, fsys fstest.MapFS, root string) []Log {
	t.Helper()
	var out []Log
	for l, err := range Find(t.Context(), fsys, root, "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func TestLayouts(t *testing.T) {
	for name, tc := range map[string]struct {
		files   []string
		layout  Layout
		parts   []string
		running bool
		notes   []string
	}{
		"rolling, in numeric order": {
			files:  []string{"eventlog_v2_a/appstatus_a", "eventlog_v2_a/events_10_a.zstd", "eventlog_v2_a/events_9_a.zstd", "eventlog_v2_a/events_8_a.zstd.compact", "eventlog_v2_a/events_8_a.zstd"},
			layout: Rolling, parts: []string{"events_8_a.zstd.compact", "events_9_a.zstd", "events_10_a.zstd"},
		},
		"rolling, from the newest compacted": {
			files:  []string{"eventlog_v2_a/appstatus_a.inprogress", "eventlog_v2_a/events_1_a.compact", "eventlog_v2_a/events_2_a", "eventlog_v2_a/events_3_a.compact", "eventlog_v2_a/events_4_a"},
			layout: Rolling, parts: []string{"events_3_a.compact", "events_4_a"}, running: true,
		},
		"rolling, with gaps": {
			files:  []string{"eventlog_v2_a/events_2_a", "eventlog_v2_a/events_6_a"},
			layout: Rolling, parts: []string{"events_2_a", "events_6_a"},
			notes: []string{"missing files of the log: 1", "missing files of the log: 3 to 5", "the folder has no appstatus file"},
		},
		"rolling, only a status": {
			files: []string{"eventlog_v2_a/appstatus_a"}, layout: Rolling,
		},
		"rolling, in a folder of another name": {
			files:  []string{"copy/appstatus_a", "copy/events_1_a", "copy/events_2_a"},
			layout: Rolling, parts: []string{"events_1_a", "events_2_a"},
		},
		"legacy": {
			files:  []string{"a/EVENT_LOG_2", "a/EVENT_LOG_1", "a/SPARK_VERSION_1.2.0", "a/COMPRESSION_CODEC_org.apache.spark.io.LZFCompressionCodec", "a/APPLICATION_COMPLETE"},
			layout: Legacy, parts: []string{"EVENT_LOG_1", "EVENT_LOG_2"},
		},
		"legacy, running": {
			files: []string{"a/EVENT_LOG_1"}, layout: Legacy, parts: []string{"EVENT_LOG_1"}, running: true,
		},
		"Databricks, the undated last": {
			files:  []string{"a/eventlog", "a/eventlog-2021-06-15--15-00.gz", "a/eventlog-2021-06-14--23-40.gz"},
			layout: Databricks, parts: []string{"eventlog-2021-06-14--23-40.gz", "eventlog-2021-06-15--15-00.gz", "eventlog"},
		},
		"a file": {files: []string{"a/app-1.lz4.inprogress"}, layout: File, parts: []string{"app-1.lz4.inprogress"}, running: true},
	} {
		t.Run(name, func(t *testing.T) {
			logs := found(t, files(nil, tc.files...), ".")
			if len(logs) != 1 {
				t.Fatalf("%d logs: %+v", len(logs), logs)
			}
			l := logs[0]
			var parts []string
			for _, p := range l.parts {
				parts = append(parts, filepath.Base(p.name))
			}
			if l.Layout != tc.layout || l.InProgress != tc.running {
				t.Errorf("layout %s, in progress %v", l.Layout, l.InProgress)
			}
			if diff := cmp.Diff(tc.parts, parts); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.notes, l.notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindWalks(t *testing.T) {
	fsys := files(nil, "logs/a", "logs/.hidden", "logs/b/c.zstd", "logs/eventlog_v2_x/events_1_x", "logs/eventlog_v2_x/appstatus_x", "logs/deep/1/2/d")
	var names []string
	for _, l := range found(t, fsys, "logs") {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"logs/a", "logs/b/c.zstd", "logs/deep/1/2/d", "logs/eventlog_v2_x"}, names); diff != "" {
		t.Error(diff)
	}
	deep := strings.Repeat("d/", maxDepth+1) + "log"
	for _, err := range Find(t.Context(), files(nil, deep), ".", "") {
		var p *ingest.Problem
		if !errors.As(err, &p) || !strings.Contains(p.Text, "folders deep") {
			t.Errorf("got %v", err)
		}
	}
}

// TestFindPath gives a log one identity, by whatever path it is named.
func TestFindPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "app.log")
	if err := os.WriteFile(file, small(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{file, dir, "app.log", ".", "./app.log"} {
		n := 0
		for l, err := range FindPath(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := l.Read(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if e.Origin != "spark/application_1_0001/1/1700000000000" || l.Bytes != int64(len(small())) {
				t.Errorf("%s: %s, %d bytes", name, e.Origin, l.Bytes)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%s: %d logs", name, n)
		}
	}
	for _, err := range FindPath(t.Context(), filepath.Join(dir, "absent")) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}

// TestParts splits a log over the files of each layout: it is the same execution.
func TestParts(t *testing.T) {
	whole := check(t, small(), "small")
	at := bytes.Index(small(), []byte(`{"Event":"SparkListenerStageCompleted"`))
	first, rest := string(small()[:at]), string(small()[at:])
	for name, content := range map[string]map[string]string{
		"rolling":    {"eventlog_v2_a/appstatus_a": "", "eventlog_v2_a/events_1_a": first, "eventlog_v2_a/events_2_a.zstd": string(compressed(t, []byte(rest)))},
		"legacy":     {"a/EVENT_LOG_1": first, "a/EVENT_LOG_2": rest, "a/SPARK_VERSION_3.5.1": "", "a/APPLICATION_COMPLETE": ""},
		"databricks": {"a/eventlog-2021-06-15--15-00": first, "a/eventlog": rest},
	} {
		var names []string
		for n := range content {
			names = append(names, n)
		}
		logs := found(t, files(content, names...), ".")
		if len(logs) != 1 {
			t.Fatalf("%s: %+v", name, logs)
		}
		e, err := logs[0].Read(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, e); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPartsMissing(t *testing.T) {
	content := map[string]string{"eventlog_v2_a/events_1_a": string(small()), "eventlog_v2_a/events_3_a": ""}
	l := found(t, files(content, "eventlog_v2_a/events_1_a", "eventlog_v2_a/events_3_a"), ".")[0]
	e, err := l.Read(t.Context(), Options{})
	if err != nil || !e.Quality.Cut || len(e.Quality.Notes) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	l = found(t, files(nil, "eventlog_v2_a/appstatus_a"), ".")[0]
	var p *ingest.Problem
	if _, err := l.Read(t.Context(), Options{}); !errors.As(err, &p) || !strings.Contains(p.Text, "only a status") {
		t.Errorf("got %v", err)
	}
}

// TestReadErrors tells errors of the disk from those of the data.
func TestReadErrors(t *testing.T) {
	broken := errors.New("disk is gone")
	for _, in := range [][]byte{small(), compressed(t, small())} {
		half := io.MultiReader(bytes.NewReader(in[:len(in)/2]), failing{broken})
		if _, err := ReadStream(t.Context(), half, "log", Options{}); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestFollow takes a log that is still written: between lines the execution is what is
// known so far.
func TestFollow(t *testing.T) {
	p := NewParser()
	var last *model.Execution
	for i, l := range bytes.Split(bytes.TrimSpace(small()), []byte("\n")) {
		p.Line(l)
		e, err := p.Execution()
		if err != nil {
			if i > 3 {
				t.Fatalf("line %d: %v", i+1, err)
			}
			continue
		}
		if last != nil && (e.Tasks.Count < last.Tasks.Count || e.Start != last.Start || e.Origin != last.Origin) {
			t.Fatalf("line %d: %+v after %+v", i+1, e, last)
		}
		last = e
	}
	if last == nil || !last.Finished() || last.EndEstimated {
		t.Errorf("at the end: %+v", last)
	}
}
