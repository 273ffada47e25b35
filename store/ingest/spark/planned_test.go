package spark

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
)

// TestPlannedStages are those of running jobs that were not submitted, only where they are
// asked for, and without those whose shuffle an earlier job wrote.
func TestPlannedStages(t *testing.T) {
	const begin = 1772330400000
	info := func(id, rdd int, parents string) string {
		return fmt.Sprintf(`{"Stage ID":%d,"Stage Attempt ID":0,"Stage Name":"map at x.py:%d","Number of Tasks":1,"RDD Info":[{"RDD ID":%d,"Parent IDs":[]}],"Parent IDs":[%s],"Details":""}`, id, id, rdd, parents)
	}
	ran := func(id, rdd int, parents string) string {
		return fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":%s,"Properties":{}}
{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Stage Attempt ID":0,"Task Type":"ShuffleMapTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":%d,"Index":0,"Attempt":0,"Launch Time":%d,"Executor ID":"1","Host":"h","Finish Time":%d,"Failed":false,"Killed":false},"Task Metrics":{"Shuffle Write Metrics":{"Shuffle Bytes Written":1000}}}
{"Event":"SparkListenerStageCompleted","Stage Info":%s}
`, info(id, rdd, parents), id, id, begin+1000, begin+2000, info(id, rdd, parents))
	}
	job := func(id int, stages ...string) string {
		return fmt.Sprintf(`{"Event":"SparkListenerJobStart","Job ID":%d,"Submission Time":%d,"Stage Infos":[%s],"Stage IDs":[],"Properties":{}}`+"\n", id, begin+1000, strings.Join(stages, ","))
	}
	log := fmt.Sprintf(`{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}
{"Event":"SparkListenerApplicationStart","App Name":"x","App ID":"app","Timestamp":%d,"User":"u"}
`, begin) + job(0, info(0, 7, "")) + ran(0, 7, "") + `{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":1772330403000,"Job Result":{"Result":"JobSucceeded"}}` + "\n" +
		// Stage 1 is stage 0 under a new number; 9 is in no job.
		job(1, info(1, 7, ""), info(2, 8, "1"), info(3, 9, "1, 2"), info(4, 10, "2, 3, 9")) + ran(2, 8, "1")
	for _, tt := range []struct {
		planned bool
		want    map[int][]int // parents by number
	}{
		{false, map[int][]int{0: nil, 2: {0}}},
		{true, map[int][]int{0: nil, 2: {0}, 3: {0, 2}, 4: {2, 3}}},
	} {
		e, err := ReadStream(t.Context(), strings.NewReader(log), "log", Options{Planned: tt.planned})
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Graph.Stages) != len(tt.want) {
			t.Errorf("planned %t: %d stages, want %d", tt.planned, len(e.Graph.Stages), len(tt.want))
		}
		for _, s := range e.Graph.Stages {
			if parents, ok := tt.want[s.ID]; !ok || !slices.Equal(parents, s.Parents) {
				t.Errorf("planned %t: stage %d reads %v, want %v", tt.planned, s.ID, s.Parents, parents)
			}
			if done := s.Outcome == model.OK; done != (s.ID < 3) || !done && (s.Tasks != 1 || s.Name == "" || s.ShuffleWriteBytes != 0) {
				t.Errorf("stage is %+v", s)
			}
		}
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
	e, err := ReadStream(t.Context(), strings.NewReader(log+`{"Event":"SparkListenerJobEnd","Job ID":1,"Completion Time":1772330404000,"Job Result":{"Result":"JobFailed"}}`+"\n"), "log", Options{Planned: true})
	if err != nil || len(e.Graph.Stages) != 2 {
		t.Errorf("after the job: %v, %d stages", err, len(e.Graph.Stages))
	}
}
