package replay

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tpcLine has a broadcast (0 is read by 2), a measured end (2) and an end that follows (1).
const tpcLine = `{"benchmark":"tpch","query":"tpch100_14b","duration_ms":9000,"stages":[` +
	`{"id":0,"parents":[],"operators":["FileSourceScanExec"],"est_input_bytes":1000,"est_input_rows":10,"duration_ms":1000,"total_task_ms":500,"end_ms":null},` +
	`{"id":1,"parents":[],"operators":["FileSourceScanExec"],"shuffle_write_bytes":70,"duration_ms":7000,"total_task_ms":9000,"end_ms":null},` +
	`{"id":2,"parents":[1],"operators":["BroadcastQueryStageExec"],"shuffle_read_bytes":70,"duration_ms":2000,"total_task_ms":3000,"end_ms":8500}]}`

func TestReadTPC(t *testing.T) {
	queries, err := ReadTPC(strings.NewReader(tpcLine + "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(queries) != 1 {
		t.Fatalf("%d queries, want 1", len(queries))
	}
	q := queries[0]
	if q.Group != "tpch/tpch100_14" {
		t.Errorf("group %q: variants belong together", q.Group)
	}
	if diff := cmp.Diff(map[int][]int{2: {0}}, q.Broadcasts); diff != "" {
		t.Errorf("broadcasts:\n%s", diff)
	}
	// Stage 1 would end at 7 s, but its child started at 6.5 s; it cannot have started
	// before the query.
	for i, want := range [][2]float64{{0, 1}, {0, 7}, {6.5, 8.5}} {
		s := q.Graph.Stages[i]
		if math.Abs(s.StartSeconds-want[0]) > 1e-9 || math.Abs(s.EndSeconds-want[1]) > 1e-9 {
			t.Errorf("stage %d from %g to %g, want %v", i, s.StartSeconds, s.EndSeconds, want)
		}
	}
	if e := q.Estimates[0]; e.Bytes != 1000 || e.Rows != 10 {
		t.Errorf("estimate %+v", e)
	}
}

func TestReadTPCErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":    {"", "no queries"},
		"not JSON": {tpcLine + "\n{", "line 2"},
		"duration": {strings.ReplaceAll(tpcLine, "9000,\"stages", "0,\"stages"), "duration_ms must be above zero"},
		"stage":    {strings.ReplaceAll(tpcLine, `"duration_ms":7000`, `"duration_ms":-1`), "stage 1"},
		"end":      {strings.ReplaceAll(tpcLine, "8500", "-8500"), "stage 2: end_ms"},
		"parent":   {strings.ReplaceAll(tpcLine, `"parents":[1]`, `"parents":[9]`), "line 1"},
		"amount":   {strings.ReplaceAll(tpcLine, `"shuffle_read_bytes":70`, `"shuffle_read_bytes":-70`), "shuffle read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTPC(strings.NewReader(c.text))
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want ErrInput with %q", err, c.want)
			}
		})
	}
}

const (
	historyHead  = "application,run_id,hosts,started_unix_ms,data_size,stage_id,stage_name,parents,tasks,start_ms,end_ms\n"
	historyLines = "A,r2,4,2000,8.5,0,count,,10,0,1500\n" +
		"A,r1,,1000,4,0,count,,10,0,1000\n" +
		"A,r1,,1000,4,3,map,2 0,10,1000,2000\n"
)

func TestReadHistory(t *testing.T) {
	runs, err := ReadHistory(strings.NewReader(historyHead + historyLines))
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || runs[0].ID != "r1" || runs[1].ID != "r2" {
		t.Fatalf("runs %+v, want r1 and r2 in the order of their start", runs)
	}
	if r := runs[0]; r.Hosts != 0 || r.DataSize != 4 || !cmp.Equal(r.Graph.Stages[1].Parents, []int{0}) {
		t.Errorf("r1 is %+v: hosts are unknown, and parent 2 was skipped", r)
	}
	if r := runs[1]; r.Hosts != 4 || r.Graph.Stages[0].RuntimeSeconds() != 1.5 {
		t.Errorf("r2 is %+v", r)
	}
}

func TestReadHistoryErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "line 1"},
		"columns": {"a,b\n", "line 1"},
		"head":    {strings.ReplaceAll(historyHead, "hosts", "nodes"), "columns"},
		"no runs": {historyHead, "no runs"},
		"fields":  {historyHead + "A,r1\n", "line 2"},
		"quote":   {historyHead + "\"A", "line 2"},
		"number":  {historyHead + strings.ReplaceAll(historyLines, "1500", "late"), "line 2: end_ms"},
		"parents": {historyHead + strings.ReplaceAll(historyLines, "2 0", "x"), "line 4: parents"},
		"NaN":     {historyHead + strings.ReplaceAll(historyLines, "8.5", "NaN"), "data_size"},
		"time":    {historyHead + strings.ReplaceAll(historyLines, "0,1500", "1600,1500"), "run \"r2\""},
		"twice":   {historyHead + historyLines + "A,r2,4,2000,8.5,0,count,,10,0,1500\n", "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadHistory(strings.NewReader(c.text))
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want ErrInput with %q", err, c.want)
			}
		})
	}
}

// Both readers refuse what they cannot use, and what they return is a valid graph.
func FuzzReadTPC(f *testing.F) {
	f.Add([]byte(tpcLine))
	f.Add([]byte(`{"query":"a","duration_ms":1,"stages":[{"id":1,"parents":[1],"duration_ms":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		queries, err := ReadTPC(strings.NewReader(string(b)))
		if err != nil && !errors.Is(err, ErrInput) {
			t.Fatal(err)
		}
		for _, q := range queries {
			if err := q.Graph.Validate(); err != nil || len(q.Observed) != len(q.Graph.Stages) {
				t.Fatalf("%+v: %v", q, err)
			}
		}
	})
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte(historyHead + historyLines))
	f.Add([]byte(historyHead + "\"A quote that does not end"))
	f.Add([]byte(historyHead + "A,r,1,1,1,1,\"a\nb\",1,1,1,1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, err := ReadHistory(strings.NewReader(string(b)))
		if err != nil && !errors.Is(err, ErrInput) {
			t.Fatal(err)
		}
		for _, r := range runs {
			if err := r.Graph.Validate(); err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
		}
	})
}

func TestFill(t *testing.T) {
	r := Row{Target: duration}
	r.fill([]point{{1, 1, 1}, {4, 2, 2}, {3, 4, 4}})
	if math.Abs(r.MAPE-1.25/3) > 1e-12 || r.MedianAPE != .25 {
		t.Errorf("mean %g, median %g, want %g and .25", r.MAPE, r.MedianAPE, 1.25/3)
	}
	perfect := Row{Target: end}
	perfect.fill([]point{{1, 1, 9}, {5, 5, 9}})
	if perfect.R2Log != 1 || perfect.MAPE != 0 {
		t.Errorf("perfect predictions: %+v", perfect)
	}
}
