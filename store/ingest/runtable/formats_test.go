package runtable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

func TestReadsJSONLines(t *testing.T) {
	full := plain(8, 800)
	full.Workload.Arguments = model.Arguments{{Name: "format", Text: "parquet"}, {Name: "k", Number: 3}}
	full.Metrics.CPU = &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.9}
	text := `{"infrastructure":"aws-ec2","framework":"spark","algorithm":"pagerank","job":"nightly","machine_type":"m4.xlarge","nodes":8,"runtime_s":800}

{"job":"nightly","algorithm":"pagerank","framework":"spark","infrastructure":"aws-ec2","machine_type":"m4.xlarge","nodes":8.0,"runtime_s":"13m20s","arg":{"k":3,"format":"parquet"},"cpu_p10":0.1,"cpu_p50":0.5,"cpu_p90":0.9,"tags":["x"],"note":null}`
	rep, err := collect(t, "\ufeff"+text, runtable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]model.Run{plain(8, 800), full}, rep.Runs); d != "" || rep.Err() != nil {
		t.Error(d, rep.Err())
	}
}

// The bound is on a line, not on a file.
func TestLargeTables(t *testing.T) {
	const rows = 16_000
	for name, text := range map[string]string{
		"JSON lines": strings.Repeat(jsonRow, rows),
		"CSV":        header + strings.Repeat("aws-ec2,spark,pagerank,nightly"+strings.Repeat(" ", 100)+",m4.xlarge,8,800\n", rows),
	} {
		if len(text) < 2*runtable.MaxLine {
			t.Fatalf("%s: only %d bytes", name, len(text))
		}
		rep, err := collect(t, text, runtable.Options{})
		if err != nil || rep.Err() != nil || len(rep.Runs) != rows {
			t.Errorf("%s: %v, %d runs", name, err, len(rep.Runs))
		}
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[tableRow](&b, parquet.PageBufferSize(64<<10))
	all := tableRows(4000)
	for i := range all {
		all[i].Job = fmt.Sprintf("nightly %d %s", i, strings.Repeat("x", 200+i%100))
	}
	if _, err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := collect(t, b.String(), runtable.Options{Mapping: mapping(t, parquetMapping)})
	if err != nil || rep.Err() != nil || len(rep.Runs) != len(all) || rep.Runs[len(all)-1].Workload.Job != all[len(all)-1].Job {
		t.Errorf("Parquet of %d bytes: %v, %+v", b.Len(), err, rep)
	}
}

const jsonRow = `{"infrastructure":"aws-ec2","framework":"spark","algorithm":"pagerank","job":"nightly","machine_type":"m4.xlarge","nodes":8,"runtime_s":800}` + "\n"

// A key that comes late is a column all the same.
func TestJSONKeysMayComeLate(t *testing.T) {
	late := strings.Replace(jsonRow, "}", `,"start":"2026-03-01T12:00:00Z"}`, 1)
	rep, err := collect(t, strings.Repeat(jsonRow, 300)+late+jsonRow, runtable.Options{})
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep)
	}
	want := plain(8, 800)
	want.Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if d := cmp.Diff([]model.Run{plain(8, 800), want, plain(8, 800)}, rep.Runs[299:]); d != "" {
		t.Error(d)
	}
}

func TestLocatesBadJSON(t *testing.T) {
	for _, c := range []struct{ name, row, want string }{
		{"cut", jsonRow[:50] + "\n", "runs.csv:2: is not a JSON object: write one object a line"},
		{"list", "[1]\n", "runs.csv:2: is not a JSON object: write one object a line"},
		{"null", "null\n", "runs.csv:2: is not a JSON object: write one object a line"},
		{"two values", `{"nodes":1}{"nodes":2}` + "\n", "runs.csv:2: holds more than one JSON value: write one object a line"},
		{"deep", strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9) + "\n", "runs.csv:2: holds objects in objects deeper than 8"},
		{"twice", `{"nodes":1,"NODES":2}` + "\n", `runs.csv:2: holds "nodes" twice`},
		{"bad value", strings.Replace(jsonRow, ":8", ":0.5", 1), `runs.csv:2: nodes is not a whole number: "0.5"`},
		{"missing", strings.Replace(jsonRow, `"nodes":8,`, "", 1), "runs.csv:2: nodes is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := collect(t, jsonRow+c.row+jsonRow, runtable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Runs) != 2 || rep.Bad != 1 || rep.Err().Error() != c.want {
				t.Errorf("%d runs, %v, want %s", len(rep.Runs), rep.Err(), c.want)
			}
		})
	}
	for _, c := range []struct {
		text, want string
		is         error
	}{
		{"{}", "is empty", runtable.ErrEmpty},
		{"{\n", "no line can be read as a JSON object", runtable.ErrDamaged},
		{`{"runtime_s": NaN}`, "the first holds NaN or Infinity, which JSON has not", runtable.ErrDamaged},
		{`{"a":[-Infinity]}`, "the first holds NaN or Infinity", runtable.ErrDamaged},
		{`{"x":1,"y":{"z":1,"z":1}}`, `the first holds "z" twice`, runtable.ErrDamaged},
		{`{"job":"job","x":[{"job":1}],"job":"NaN"}`, `the first holds "job" twice`, runtable.ErrDamaged},
		{`{"x":1}`, "missing", runtable.ErrHeader},
		{jsonRow + strings.Repeat(" ", 2*runtable.MaxLine), "line 2 is longer than", runtable.ErrTooLarge},
	} {
		if _, err := collect(t, c.text, runtable.Options{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %s", c.text, err, c.want)
		}
	}
}

// tableRow is a row as a writer of Parquet may lay it out.
type tableRow struct {
	Infrastructure string    `parquet:"infrastructure,dict"`
	Framework      string    `parquet:"framework,dict,zstd"`
	Algorithm      *string   `parquet:"algorithm,optional,snappy"`
	Job            string    `parquet:"job,gzip"`
	MachineType    string    `parquet:"machine_type,brotli"`
	Nodes          int32     `parquet:"nodes,delta"`
	Millis         *float64  `parquet:"millis,optional,lz4"`
	Start          time.Time `parquet:"start,timestamp(microsecond)"`
	OK             bool      `parquet:"ok"`
	Arg            struct {
		K     int64   `parquet:"k"`
		Ratio float32 `parquet:"ratio,split"`
	} `parquet:"arg"`
	Tags []string `parquet:"tags,list"`
}

const parquetMapping = `
[columns]
runtime_s = { from = "Millis", unit = "ms" }
[[rows]]
when = ["ok = true"]
outcome = "ok"
[[rows]]
when = []
outcome = "failed"
`

func tableRows(n int) []tableRow {
	rows := make([]tableRow, n)
	algorithm, millis := "pagerank", 800_000.0
	for i := range rows {
		r := tableRow{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: &algorithm, Job: "nightly", MachineType: "m4.xlarge", Nodes: int32(i%20 + 1), Millis: &millis, OK: i%5 != 4}
		if !r.OK {
			r.Millis = nil
		}
		r.Start = time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC)
		r.Arg.K, r.Arg.Ratio, r.Tags = int64(i), 0.5, []string{"a", "b"}
		rows[i] = r
	}
	return rows
}

func writeParquet(tb testing.TB, rows []tableRow, opts ...parquet.WriterOption) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[tableRow](&b, opts...)
	for part := range slices.Chunk(rows, 40) {
		if _, err := w.Write(part); err != nil {
			tb.Fatal(err)
		}
		if err := w.Flush(); err != nil { // a row group
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func mapping(tb testing.TB, text string) *runtable.Mapping {
	tb.Helper()
	m, err := runtable.ReadMapping(strings.NewReader(text), "own.toml")
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestReadsParquet(t *testing.T) {
	rows := tableRows(100)
	var want []model.Run
	for _, r := range rows {
		run := plain(int(r.Nodes), 800)
		run.Start = r.Start
		run.Workload.Arguments = model.Arguments{{Name: "k", Number: float64(r.Arg.K)}, {Name: "ratio", Number: 0.5}}
		if !r.OK {
			run.Outcome, run.RuntimeSeconds = model.Failed, 0
		}
		want = append(want, run)
	}
	path := filepath.Join(t.TempDir(), "runs.parquet")
	for version := 1; version <= 2; version++ {
		text := writeParquet(t, rows, parquet.DataPageVersion(version), parquet.PageBufferSize(200))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]io.Reader{"file": f, "stream": bytes.NewReader(text)} {
			rep, err := ingest.Collect(t.Context(), runtable.New(r, runtable.Options{Name: path, Mapping: mapping(t, parquetMapping)}))
			if err != nil {
				t.Fatalf("version %d, %s: %v", version, name, err)
			}
			if d := cmp.Diff(want, rep.Runs); d != "" || rep.Err() != nil {
				t.Errorf("version %d, %s: %v %s", version, name, rep.Err(), d)
			}
		}
		_ = f.Close()
	}
}

func TestLocatesBadParquetRows(t *testing.T) {
	rows := tableRows(50)
	rows[42].Nodes = 0
	rep, err := collect(t, string(writeParquet(t, rows)), runtable.Options{Mapping: mapping(t, parquetMapping)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `runs.csv:43: nodes must be between 1 and 100000: "0"`; rep.Bad != 1 || rep.Err().Error() != want {
		t.Errorf("got %v, want %s", rep.Err(), want)
	}
}

// Whatever happens to a file, it is refused in one line or read, and never claims
// memory that it has no right to.
func TestDamagedParquet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	text := writeParquet(t, tableRows(6))
	read := func(b []byte) {
		rep, err := collect(t, string(b), runtable.Options{Mapping: mapping(t, parquetMapping)})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %q", err)
			}
			return
		}
		for _, r := range rep.Runs {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range text {
		if i%7 == 0 {
			read(text[:i])
		}
		flipped := bytes.Clone(text)
		flipped[i] ^= 1 << (i % 8)
		read(flipped)
	}
	for _, c := range []struct{ text, want string }{
		{"PAR1", "too short"}, {"PAR1 and much else that is none", "its end is missing"},
		{"PAR1\xff\xff\xff\x7fPAR1", "footer is too long"},
	} {
		if _, err := collect(t, c.text, runtable.Options{}); !errors.Is(err, runtable.ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// What the public tables hold, as the presets read it.
func TestPublicTables(t *testing.T) {
	want := []string{
		"bell/grep.csv bell: 1 jobs, 1 contexts, 105 ok, 0 timeout, 105 different, 4-60 nodes, 130.271-868.414 s, /karasu/1/bell-cluster/spark/grep, ignored []",
		"bell/pagerank.csv bell: 1 jobs, 1 contexts, 105 ok, 0 timeout, 105 different, 4-60 nodes, 83.372-2503.129 s, /karasu/1/bell-cluster/spark/pagerank, ignored []",
		"bell/sgd.csv bell: 1 jobs, 1 contexts, 105 ok, 0 timeout, 104 different, 4-60 nodes, 131.858-675.386 s, /karasu/1/bell-cluster/spark/sgd, ignored []",
		"c3o/grep.tsv c3o: 1 jobs, 25 contexts, 810 ok, 0 timeout, 520 different, 2-12 nodes, 40.000-426.000 s, /karasu/1/aws-emr/spark/grep, ignored []",
		"c3o/kmeans.tsv c3o: 1 jobs, 28 contexts, 900 ok, 0 timeout, 654 different, 2-12 nodes, 94.000-4556.000 s, /karasu/1/aws-emr/spark/kmeans, ignored []",
		"c3o/pagerank.tsv c3o: 1 jobs, 45 contexts, 1410 ok, 0 timeout, 1180 different, 2-12 nodes, 118.000-870.000 s, /karasu/1/aws-emr/spark/pagerank, ignored []",
		"c3o/sgd.tsv c3o: 1 jobs, 28 contexts, 900 ok, 0 timeout, 488 different, 2-12 nodes, 56.000-10915.000 s, /karasu/1/aws-emr/spark/sgd, ignored []",
		"c3o/sort.tsv c3o: 1 jobs, 7 contexts, 630 ok, 0 timeout, 449 different, 2-12 nodes, 72.000-866.000 s, /karasu/1/aws-emr/spark/sort, ignored []",
		"tensorflow/cnn.csv tensorflow: 2 jobs, 6 contexts, 272 ok, 112 timeout, 384 different, 1-112 nodes, 31.525-701.750 s, /karasu/1/aws-ec2/tensorflow/cnn, ignored []",
		"tensorflow/multilayer.csv tensorflow: 2 jobs, 6 contexts, 238 ok, 146 timeout, 384 different, 1-112 nodes, 30.081-632.906 s, /karasu/1/aws-ec2/tensorflow/multilayer, ignored []",
	}
	var got []string
	for _, name := range []string{"bell/grep.csv", "bell/pagerank.csv", "bell/sgd.csv",
		"c3o/grep.tsv", "c3o/kmeans.tsv", "c3o/pagerank.tsv", "c3o/sgd.tsv", "c3o/sort.tsv", "tensorflow/cnn.csv", "tensorflow/multilayer.csv"} {
		f, err := os.Open(modeltest.Data(t, name))
		if err != nil {
			t.Fatal(err)
		}
		opts := runtable.Options{Name: f.Name()}
		if strings.HasPrefix(name, "bell") {
			opts.Preset = "bell"
		}
		table := runtable.New(f, opts)
		rep, err := ingest.Collect(t.Context(), table)
		_ = f.Close()
		if err != nil || rep.Err() != nil {
			t.Fatal(name, err, rep)
		}
		got = append(got, describe(name, table, rep))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func describe(name string, table *runtable.Table, rep *ingest.Report) string {
	jobs, contexts, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}
	outcomes := map[model.Outcome]int{}
	nodes, times := []int{}, []float64{}
	for _, r := range rep.Runs {
		jobs[r.Workload.Job], ids[r.ID()] = true, true
		contexts[fmt.Sprint(r.Workload.InputBytes, r.Workload.Arguments)] = true
		outcomes[r.Outcome]++
		nodes, times = append(nodes, r.Configuration.ScaleOut), append(times, r.RuntimeSeconds)
	}
	return fmt.Sprintf("%s %s: %d jobs, %d contexts, %d ok, %d timeout, %d different, %d-%d nodes, %.3f-%.3f s, %s, ignored %q",
		name, table.Preset(), len(jobs), len(contexts), outcomes[model.OK], outcomes[model.Timeout], len(ids),
		slices.Min(nodes), slices.Max(nodes), slices.Min(times), slices.Max(times), rep.Runs[0].Workload.Topic(), table.Ignored())
}

func FuzzParquet(f *testing.F) {
	f.Add(writeParquet(f, tableRows(6)))
	f.Add(writeParquet(f, tableRows(50), parquet.DataPageVersion(1), parquet.PageBufferSize(100)))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	m := mapping(f, parquetMapping)
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := ingest.Collect(t.Context(), runtable.New(bytes.NewReader(b), runtable.Options{Name: "f", Mapping: m, Format: runtable.FormatParquet}))
		if err != nil {
			return
		}
		for _, r := range rep.Runs {
			if err := r.Validate(); err != nil {
				t.Fatalf("yields an invalid run: %v", err)
			}
		}
	})
}

func FuzzMapping(f *testing.F) {
	f.Add(parquetMapping, "millis,ok\n5,true\n")
	for _, p := range runtable.Presets() {
		f.Add("doc = "+fmt.Sprintf("%q", p.Doc), header)
	}
	f.Add("[constants]\njob = \"{file}/{x}\"\nmachine_type = \"{x}\"\n[arguments]\nk = \"x\"\n[columns]\nnodes = { from = \"n\" }\n[[rows]]\nwhen = [\"x != 3\", \"n<9\"]\nskip = \"why\"\n", "x,n\n1,2\n")
	f.Fuzz(func(t *testing.T, text, table string) {
		m, err := runtable.ReadMapping(strings.NewReader(text), "f.toml")
		if err != nil {
			if !errors.Is(err, runtable.ErrMapping) {
				t.Fatal(err)
			}
			return
		}
		rep, err := ingest.Collect(t.Context(), runtable.New(strings.NewReader(table), runtable.Options{
			Name: "f.csv", Mapping: m, Defaults: map[string]string{"infrastructure": "a", "framework": "b", "algorithm": "c"},
		}))
		if err != nil {
			return
		}
		for _, r := range rep.Runs {
			if err := r.Validate(); err != nil {
				t.Fatalf("yields an invalid run: %v", err)
			}
		}
	})
}
