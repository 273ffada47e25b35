package runtable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

const header = "infrastructure,framework,algorithm,job,machine_type,nodes,runtime_s\n"

func collect(t *testing.T, text string, opts runtable.Options) (*ingest.Report, error) {
	t.Helper()
	opts.Name = "runs.csv"
	return ingest.Collect(t.Context(), runtable.New(strings.NewReader(text), opts))
}

func plain(nodes int, seconds float64) model.Run {
	return model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: "nightly"},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: nodes}, RuntimeSeconds: seconds, Outcome: model.OK,
	}
}

func TestReadsTables(t *testing.T) {
	row := "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\n"
	full := plain(8, 800)
	full.Workload.Dataset, full.Workload.InputBytes = "pages, all", 10e9
	full.Outcome, full.Start = model.Timeout, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	full.Metrics.CPU = &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.855}
	failed := plain(8, 0)
	failed.Outcome = model.Failed
	for _, c := range []struct {
		name, text string
		opts       runtable.Options
		want       []model.Run
	}{
		{"plain", header + row, runtable.Options{}, []model.Run{plain(8, 800)}},
		{"no rows", header, runtable.Options{}, nil},
		{"no rows, no line end", strings.TrimSpace(header), runtable.Options{}, nil},
		{"byte order mark", "\ufeff" + header + row, runtable.Options{}, []model.Run{plain(8, 800)}},
		{"CRLF", strings.ReplaceAll(header+row, "\n", "\r\n"), runtable.Options{}, []model.Run{plain(8, 800)}},
		{"no last line end", header + strings.TrimSpace(row), runtable.Options{}, []model.Run{plain(8, 800)}},
		{"blank lines and rows", header + "\n" + row + "\n,,,,,,\n", runtable.Options{}, []model.Run{plain(8, 800)}},
		{"semicolons", strings.ReplaceAll(header+row, ",", ";"), runtable.Options{}, []model.Run{plain(8, 800)}},
		{"tabs", strings.ReplaceAll(header+row, ",", "\t"), runtable.Options{}, []model.Run{plain(8, 800)}},
		{"spaces and capitals", "Infrastructure, FRAMEWORK ,algorithm,job,machine_type,nodes,runtime_s\nAWS-EC2, Spark , pagerank, nightly ,m4.xlarge, 8.0 , 800 \n", runtable.Options{}, []model.Run{plain(8, 800)}},
		{"duration", header + "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,13m20s\n", runtable.Options{}, []model.Run{plain(8, 800)}},
		{"duration with space", header + "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,13m 20s\n", runtable.Options{}, []model.Run{plain(8, 800)}},
		{"mapped", "infrastructure,framework,algorithm,job,type,node_count,runtime_s\n" + row,
			runtable.Options{Map: map[string]string{"Type": "machine_type", "node_count": "nodes"}}, []model.Run{plain(8, 800)}},
		{"defaults", "job,machine_type,nodes,runtime_s,comment\nnightly,m4.xlarge,8,800,fine\n",
			runtable.Options{Defaults: map[string]string{"infrastructure": "aws-ec2", "framework": "spark", "algorithm": "pagerank"}}, []model.Run{plain(8, 800)}},
		{"every kind of column", "infrastructure,framework,algorithm,job,dataset,input_bytes,machine_type,nodes,runtime_s,outcome,start,cpu_p10,cpu_p50,cpu_p90,disk_p10\n" +
			`aws-ec2,spark,pagerank,nightly,"pages, all",10 GB,m4.xlarge,8,800,Timeout,2026-03-01 12:00:00,0.1,0.5,85.5%,` + "\n", runtable.Options{}, []model.Run{full}},
		{"failed without runtime", strings.TrimSpace(header) + ",outcome\naws-ec2,spark,pagerank,nightly,m4.xlarge,8,,failed\n", runtable.Options{}, []model.Run{failed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := collect(t, c.text, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := rep.Err(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, rep.Runs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLocatesBadRows(t *testing.T) {
	good := "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\n"
	for _, c := range []struct{ name, row, want string }{
		{"NaN", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,NaN\n", "runs.csv:3: runtime_s is not a finite number: NaN s"},
		{"infinite", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,inf\n", "runs.csv:3: runtime_s is not a finite number: +Inf s"},
		{"overflow", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,1e999\n", "runs.csv:3: runtime_s is not a finite number: +Inf s"},
		{"negative", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,-3\n", "runs.csv:3: runtime_s must be above zero: -3 s"},
		{"zero", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,0\n", "runs.csv:3: runtime must be above zero: 0 s"},
		{"eleven years", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,99999h\n", "runs.csv:3: runtime_s is above ten years: 3.599964e+08 s"},
		{"empty runtime", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,\n", "runs.csv:3: runtime_s is missing: only a failed run may lack it"},
		{"words", "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,soon\n", `runs.csv:3: runtime_s is not a time: "soon"; write seconds such as 800, or 13m20s`},
		{"half a node", "aws-ec2,spark,pagerank,nightly,m4.xlarge,0.5,800\n", `runs.csv:3: nodes is not a whole number: "0.5"`},
		{"no nodes", "aws-ec2,spark,pagerank,nightly,m4.xlarge,0,800\n", `runs.csv:3: nodes must be between 1 and 100000: "0"`},
		{"missing nodes", "aws-ec2,spark,pagerank,nightly,m4.xlarge,,800\n", "runs.csv:3: nodes is missing"},
		{"missing job", "aws-ec2,spark,pagerank,,m4.xlarge,8,800\n", "runs.csv:3: job is missing"},
		{"missing machine", "aws-ec2,spark,pagerank,nightly,,8,800\n", "runs.csv:3: machine type is missing"},
		{"unknown machine", "aws-ec2,spark,pagerank,nightly,m9.huge,8,800\n", "runs.csv:3: machine_type m9.huge is not in the catalog"},
		{"bad slug", "aws-ec2,spa rk,pagerank,nightly,m4.xlarge,8,800\n", `runs.csv:3: framework may hold only a-z, 0-9, '.' and '-': "spa rk"`},
		{"control character", "aws-ec2,spark,pagerank,night\x00ly,m4.xlarge,8,800\n", `runs.csv:3: job holds a control character: "night\x00ly"`},
		{"short", "aws-ec2,spark\n", "runs.csv:3: has 2 fields, the header has 7: complete the line, and quote values that hold a separator"},
		{"long", strings.TrimSpace(good) + ",9\n", "runs.csv:3: has 8 fields, the header has 7: complete the line, and quote values that hold a separator"},
		{"header again", header, "runs.csv:3: repeats the header: remove the line"},
		{"bare quote", `aws-ec2,spark,pagerank,nig"htly,m4.xlarge,8,800` + "\n", "runs.csv:3: holds a quote inside a value: quote the whole value and double the quote inside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := collect(t, header+good+c.row+good, runtable.Options{CheckMachine: func(_, name string) error {
				if name == "m9.huge" {
					return errors.New("m9.huge is not in the catalog")
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Runs) != 2 || rep.Bad != 1 {
				t.Fatalf("%d runs and %d problems, want 2 and 1: %v", len(rep.Runs), rep.Bad, rep.Problems)
			}
			if d := cmp.Diff(c.want, rep.Err().Error()); d != "" {
				t.Error(d)
			}
			if !errors.Is(rep.Err(), ingest.ErrProblem) {
				t.Error("does not wrap ErrProblem")
			}
		})
	}
}

func TestOptionalValues(t *testing.T) {
	base := strings.TrimSpace(header)
	row := "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800"
	for _, c := range []struct{ column, value, want string }{
		{"input_bytes", "-1", ""}, {"input_bytes", "0", ""}, {"input_bytes", "", ""}, {"input_bytes", "1.5e9", ""},
		{"input_bytes", "3GiB", ""}, {"input_bytes", "10 tb", ""},
		{"input_bytes", "NaN", "input_bytes must be"}, {"input_bytes", "-5", "input_bytes must be"}, {"input_bytes", "10 lb", "input_bytes is not a size"},
		{"input_bytes", "1e30", "input_bytes must be"}, {"input_bytes", "10 kkb", "input_bytes is not a size"},
		{"start", "2026-03-01", ""}, {"start", "1772366400", ""}, {"start", "1772366400123", ""}, {"start", "2026-03-01T12:00:00.5+02:00", ""},
		{"start", "yesterday", "start is not a time"}, {"start", "12", "start is not a time"}, {"start", "0001-01-02", "start is not between"},
		{"outcome", "OK", ""}, {"outcome", "Killed", ""}, {"outcome", "TIMED_OUT", ""}, {"outcome", "maybe", "outcome must be"},
		{"cpu_p10", "0.5", "cpu_p10, _p50, _p90 must be given together"}, {"cpu_p50", "250%", "cpu_p50 is not a share"},
	} {
		t.Run(c.column+" "+c.value, func(t *testing.T) {
			rep, err := collect(t, base+","+c.column+"\n"+row+","+c.value+"\n", runtable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && rep.Bad > 0:
				t.Error(rep.Err())
			case c.want != "" && (rep.Bad == 0 || !strings.Contains(rep.Err().Error(), "runs.csv:2: "+c.want)):
				t.Errorf("got %v, want %q", rep.Err(), c.want)
			}
		})
	}
}

func TestRefusesTables(t *testing.T) {
	row := "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\n"
	for _, c := range []struct {
		name, text string
		opts       runtable.Options
		want       error
		text2      string
	}{
		{"empty", "", runtable.Options{}, runtable.ErrEmpty, "runs.csv: is empty"},
		{"only a byte order mark", "\ufeff", runtable.Options{}, runtable.ErrEmpty, ""},
		{"only line ends", "\r\n\n", runtable.Options{}, runtable.ErrEmpty, ""},
		{"UTF-32, big end first", "\x00\x00\xfe\xff\x00\x00\x00i", runtable.Options{}, runtable.ErrHeader, "is not text"},
		{"UTF-16 without its mark", "i\x00n\x00f\x00", runtable.Options{}, runtable.ErrHeader, "is not text"},
		{"spreadsheet", "PK\x03\x04\x14\x00\x06\x00", runtable.Options{}, runtable.ErrHeader, "is not text"},
		{"Latin-1", "job,gr\xf6\xdfe\n", runtable.Options{}, runtable.ErrHeader, "is not text in UTF-8"},
		{"bare CR", strings.ReplaceAll(header+row+row, "\n", "\r"), runtable.Options{}, runtable.ErrHeader, "carriage return"},
		{"bare CR, then LF", strings.ReplaceAll(header+row, "\n", "\r") + "\n", runtable.Options{}, runtable.ErrHeader, "carriage return"},
		{"UTF-16", "\xff\xfei\x00n\x00", runtable.Options{}, runtable.ErrHeader, "save it as UTF-8"},
		{"column twice", "job,job," + header, runtable.Options{}, runtable.ErrHeader, `columns 1 and 2 are both "job"`},
		{"no header", row + row, runtable.Options{}, runtable.ErrHeader, "missing"},
		{"two for one", "node_count," + header, runtable.Options{Map: map[string]string{"node_count": "nodes"}}, runtable.ErrHeader, `"node_count" and "nodes" are both nodes`},
		{"mapping from nowhere", header, runtable.Options{Map: map[string]string{"x": "nodes"}}, runtable.ErrOptions, `no column "x"`},
		{"mapping to nowhere", header, runtable.Options{Map: map[string]string{"nodes": "x"}}, runtable.ErrOptions, `no column "x" to map`},
		{"two mapped to one", "a,b," + header, runtable.Options{Map: map[string]string{"a": "start", "b": "start"}}, runtable.ErrOptions, `"a" and "b" are both mapped to start`},
		{"default of nothing", header, runtable.Options{Defaults: map[string]string{"x": "1"}}, runtable.ErrOptions, `no column "x"`},
		{"unknown preset", header, runtable.Options{Preset: "x"}, runtable.ErrOptions, `no preset "x"`},
		{"not scout", header, runtable.Options{Preset: runtable.PresetScout}, runtable.ErrHeader, "mapping scout needs the column completed"},
		{"no table", strings.Repeat("garbage ", 1000) + "\n", runtable.Options{}, runtable.ErrHeader, strings.Repeat("garbage ", 25) + "...: rename a column"},
		{"header with a quote", `job,"x` + "\n" + row, runtable.Options{}, runtable.ErrHeader, "quote"},
		{"huge line", header + row + strings.Repeat("x", 2*runtable.MaxLine) + "\n" + row, runtable.Options{}, runtable.ErrTooLarge, "longer than"},
		{"huge quote", header + `"` + strings.Repeat(row, 2*runtable.MaxLine/len(row)), runtable.Options{}, runtable.ErrTooLarge, "quote not closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := collect(t, c.text, c.opts)
			if !errors.Is(err, c.want) || rep != nil {
				t.Fatalf("got %v and %v, want %v", rep, err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "runs.csv: ") || !strings.Contains(err.Error(), c.text2) || strings.Contains(err.Error(), "\n") {
				t.Errorf("unclear: %v", err)
			}
		})
	}
}

func TestUnclosedQuoteSaysWhatIsLost(t *testing.T) {
	row := "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\n"
	rep, err := collect(t, header+row+`"`+row+row, runtable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "runs.csv:3: opens a quote that is not closed: lines 3 to 4 cannot be read"; rep.Err() == nil || rep.Err().Error() != want {
		t.Errorf("got %v, want %s", rep.Err(), want)
	}
}

func TestBoundsProblems(t *testing.T) {
	rep, err := collect(t, header+strings.Repeat("x\n", 50), runtable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Bad != 50 || len(rep.Problems) != ingest.MaxShown || !strings.HasSuffix(rep.Err().Error(), "(and 49 more)") {
		t.Errorf("%d bad, %d kept, %v", rep.Bad, len(rep.Problems), rep.Err())
	}
}

func TestPassesErrorsOn(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", header} {
		r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		if _, err := ingest.Collect(t.Context(), runtable.New(r, runtable.Options{})); !errors.Is(err, broken) {
			t.Errorf("after %q: %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ingest.Collect(ctx, runtable.New(strings.NewReader(header), runtable.Options{})); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStopsWhenNotWanted(t *testing.T) {
	text := header + strings.Repeat("aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\nx\n", 3)
	n := 0
	for _, err := range runtable.New(strings.NewReader(text), runtable.Options{}).Runs(t.Context()) {
		if n++; n == 2 {
			if !errors.Is(err, ingest.ErrProblem) {
				t.Errorf("got %v", err)
			}
			break // yielding on would panic
		}
	}
}

func TestParseMap(t *testing.T) {
	got, err := runtable.ParseMap([]string{"node_count=nodes", " a = job "})
	if d := cmp.Diff(map[string]string{"node_count": "nodes", "a": "job"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range [][]string{{"nodes"}, {"=nodes"}, {"a="}, {"a=job", "a=nodes"}} {
		if _, err := runtable.ParseMap(bad); !errors.Is(err, runtable.ErrOptions) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// 18 workloads x 69 configurations; 75 runs were not completed, 37 of them because
// they reached the measurement's limit. The others were abandoned.
func TestScoutTable(t *testing.T) {
	f, err := os.Open(modeltest.Data(t, "scout/scout.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	table := runtable.New(f, runtable.Options{Name: "scout.csv"})
	rep, err := ingest.Collect(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	if table.Preset() != runtable.PresetScout {
		t.Errorf("preset %q", table.Preset())
	}
	jobs, outcomes, ids := map[string]int{}, map[model.Outcome]int{}, map[string]bool{}
	for _, r := range rep.Runs {
		jobs[r.Workload.Job]++
		outcomes[r.Outcome]++
		ids[r.ID()] = true
		if r.Workload.Infrastructure != "aws-ec2" || r.Start.IsZero() || (r.Outcome == model.Timeout) != (r.RuntimeSeconds >= 7200 && r.Outcome != model.OK) {
			t.Fatalf("%+v", r)
		}
	}
	if len(rep.Runs) != 1242 || len(jobs) != 18 || jobs["spark/pagerank/huge"] != 69 || len(ids) != 1242 {
		t.Errorf("%d runs, %d jobs, %d of spark/pagerank/huge, %d different", len(rep.Runs), len(jobs), jobs["spark/pagerank/huge"], len(ids))
	}
	if d := cmp.Diff(map[model.Outcome]int{model.OK: 1167, model.Timeout: 37, model.Failed: 38}, outcomes); d != "" {
		t.Error(d)
	}
	if len(table.Skipped()) != 0 {
		t.Errorf("skipped: %v", table.Skipped())
	}
}

func TestScoutPreset(t *testing.T) {
	const scout = "framework,algorithm,dataset,node_count,machine_type,runtime_s,completed,input_bytes,timestamp,program\n"
	read := func(opts runtable.Options, rows string) []model.Run {
		t.Helper()
		rep, err := collect(t, scout+rows, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Err(); err != nil {
			t.Fatal(err)
		}
		return rep.Runs
	}
	runs := read(runtable.Options{Map: map[string]string{"node_count": "nodes"}, Defaults: map[string]string{"infrastructure": "lab"}},
		"spark1.5,naive-bayes,huge,4,c4.large,7200,False,-1,2018-01-05 07:20:25,x\nspark1.5,naive-bayes,huge,4,c4.large,7199.9,False,-1,,x\nspark1.5,naive-bayes,huge,4,c4.large,9000,True,5,,x\n")
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprint(r.Workload.Topic(), " ", r.Workload.Job, " ", r.Workload.Dataset, " ", r.Configuration, " ", r.Outcome, " ", r.Workload.InputBytes))
	}
	want := []string{
		"/karasu/1/lab/spark1.5/naive-bayes spark1.5/naive-bayes/huge huge 4xc4.large timeout 0",
		"/karasu/1/lab/spark1.5/naive-bayes spark1.5/naive-bayes/huge huge 4xc4.large failed 0",
		"/karasu/1/lab/spark1.5/naive-bayes spark1.5/naive-bayes/huge huge 4xc4.large ok 5",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	rep, err := collect(t, scout+"spark,lr,huge,4,c4.large,1,maybe,-1,,\n", runtable.Options{})
	if err != nil || rep.Bad != 1 || !strings.Contains(rep.Err().Error(), "outcome is not told by completed = \"maybe\"") {
		t.Error(err, rep)
	}
	if _, err := collect(t, scout, runtable.Options{Preset: runtable.PresetNone}); !errors.Is(err, runtable.ErrHeader) {
		t.Errorf("without the preset: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header + "aws-ec2,spark,pagerank,nightly,m4.xlarge,8,800\n")
	f.Add("\ufeff" + strings.ReplaceAll(header, ",", ";") + "a;b;c;d;\"e;f\"\"\";1;1s\r\n")
	f.Add("framework,algorithm,dataset,node_count,machine_type,runtime_s,completed\nspark,lr,huge,4,c4.large,7200,False\n")
	f.Add(strings.TrimSpace(header) + ",cpu_p10,cpu_p50,cpu_p90,input_bytes,start,outcome\na,b,c,d,e,1,1,.1,.2,.3,1GiB,2020-01-01,timeout\n")
	f.Add(jsonRow + `{"arg":{"k":3},"x":[1]}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		rep, err := ingest.Collect(t.Context(), runtable.New(strings.NewReader(text), runtable.Options{Name: "f"}))
		if err != nil {
			return
		}
		for _, r := range rep.Runs {
			if err := r.Validate(); err != nil {
				t.Fatalf("yields an invalid run: %v", err)
			}
			if d := cmp.Diff(r.Workload.Normalize(), r.Workload); d != "" {
				t.Fatalf("yields a workload that is not normalised: %s", d)
			}
		}
		for _, p := range rep.Problems {
			if p.Line < 1 || strings.ContainsAny(p.Error(), "\n") {
				t.Fatalf("bad problem %q", p.Error())
			}
		}
	})
}
