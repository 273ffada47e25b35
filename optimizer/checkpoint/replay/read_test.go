package replay

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/optimizer/checkpoint"
)

const query = `{"benchmark":"b","query":"q","stages":[
{"id":0,"parents":[],"operators":["Scan"],"shuffle_write_bytes":0,"duration_ms":1000,"end_ms":null},
{"id":1,"parents":[],"operators":["Scan"],"shuffle_write_bytes":50,"duration_ms":4000,"end_ms":null},
{"id":2,"parents":[1],"operators":["BroadcastQueryStageExec"],"shuffle_write_bytes":7,"duration_ms":2000,"end_ms":5000},
{"id":3,"parents":[2],"operators":["Sort"],"shuffle_write_bytes":0,"duration_ms":1000,"end_ms":null}]}`

func TestTimelineOfAQuery(t *testing.T) {
	jobs, err := Queries(true)(strings.NewReader(strings.ReplaceAll(query, "\n", "") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]struct{ start, end float64 }{
		0: {.13, 1.13}, // after the launch
		1: {0, 3},      // not after its child's known start
		2: {3, 5},      // known
		3: {5.13, 6.13},
	}
	for _, s := range jobs[0].Graph.Stages() {
		if w := want[s.ID]; math.Abs(s.Start-w.start) > 1e-9 || math.Abs(s.End-w.end) > 1e-9 {
			t.Errorf("stage %d runs from %g to %g s, want %+v", s.ID, s.Start, s.End, w)
		}
		if s.ID == 2 && len(s.Parents) != 2 {
			t.Errorf("the broadcast is not matched: parents %v", s.Parents)
		}
	}
}

func TestScheduleHasSlots(t *testing.T) {
	var stages []string
	for i := range slots + 1 {
		stages = append(stages, fmt.Sprintf(`{"id":%d,"duration_ms":1000,"output_bytes":1}`, i))
	}
	jobs, err := Workflows(strings.NewReader(`{"stages":[` + strings.Join(stages, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := jobs[0].Graph.Seconds(); got != 2 {
		t.Errorf("%d tasks of a second on %d slots take %g s", slots+1, slots, got)
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	header := strings.Join(historyColumns, ",") + "\n"
	for name, test := range map[string]struct {
		read func(io.Reader) ([]Job, error)
		text string
		want error
		part string
	}{
		"empty":            {Queries(false), "", ErrFormat, "no graphs"},
		"no JSON":          {Queries(false), "\n{", ErrFormat, "line 2"},
		"negative time":    {Workflows, `{"stages":[{"id":1,"duration_ms":-1}]}`, ErrFormat, "stage 1"},
		"no stages":        {Workflows, `{"stages":[]}`, checkpoint.ErrEmpty, "line 1"},
		"cycle":            {Workflows, `{"stages":[{"id":1,"parents":[2]},{"id":2,"parents":[1]}]}`, checkpoint.ErrCycle, "line 1"},
		"query's cycle":    {Queries(true), `{"stages":[{"id":1,"parents":[2]},{"id":2,"parents":[1]}]}`, checkpoint.ErrCycle, "line 1"},
		"missing parent":   {Queries(false), `{"stages":[{"id":1,"parents":[3]}]}`, checkpoint.ErrParent, "line 1"},
		"no header":        {History, "a,b\n", ErrFormat, "line 1"},
		"no runs":          {History, header, ErrFormat, "no runs"},
		"time no number":   {History, header + "a,r,1,0,1,0,s,,1,x,2\n", ErrFormat, "line 2: "},
		"stage no number":  {History, header + "a,r,1,0,1,s,s,,1,0,2\n", ErrFormat, "stage_id"},
		"parent no number": {History, header + "a,r,1,0,1,1,s,p,1,0,2\n", ErrFormat, "parents"},
		"columns":          {History, header + "a,r\n", ErrFormat, "line 2"},
		"backwards":        {History, header + "a,r,1,0,1,0,s,,1,9,2\n", checkpoint.ErrAmount, "run r"},
	} {
		_, err := test.read(strings.NewReader(test.text))
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s: %v, want %v with %q", name, err, test.want, test.part)
		}
	}
}

func TestHistoryStandsInForSkippedStages(t *testing.T) {
	text := strings.Join(historyColumns, ",") + `
app,run,4,0,2,0,load,,8,0,1000
app,run,4,0,2,1,map,0,8,1000,2000
app,run,4,0,2,5,reduce,4 3,8,2500,3000
`
	jobs, err := History(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	stages := jobs[0].Graph.Stages()
	if len(stages) != 3 || len(stages[2].Parents) != 1 || stages[2].Parents[0] != 1 {
		t.Errorf("stages: %+v", stages)
	}
	if stages[0].Bytes != 2e9 || stages[1].Bytes != 2e9 || stages[2].Bytes != 0 {
		t.Errorf("outputs: %g, %g, %g", stages[0].Bytes, stages[1].Bytes, stages[2].Bytes)
	}
}

func FuzzQueries(f *testing.F) {
	f.Add(strings.ReplaceAll(query, "\n", ""))
	f.Add(`{"stages":[{"id":1,"parents":[2,2]},{"id":2}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(io.Reader) ([]Job, error){Queries(true), Workflows} {
			jobs, err := read(strings.NewReader(text))
			if err != nil {
				continue
			}
			for _, j := range jobs {
				if j.Graph.Len() > 200 {
					continue
				}
				r, err := checkpoint.Solve(j.Graph, checkpoint.Share(j.Graph, .1), checkpoint.Options{Relaxations: 20})
				if err != nil || math.IsNaN(r.ByteSeconds) || r.ByteSeconds > r.Bound {
					t.Fatalf("%+v, %v", r, err)
				}
			}
		}
	})
}

func FuzzHistory(f *testing.F) {
	f.Add("app,run,4,0,2,0,load,,8,0,1000\napp,run,4,0,2,5,reduce,4 0,8,2500,3000\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := History(strings.NewReader(strings.Join(historyColumns, ",") + "\n" + text))
		if err == nil && len(jobs) == 0 {
			t.Fatal("no runs and no error")
		}
	})
}
