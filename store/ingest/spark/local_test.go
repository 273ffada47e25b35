package spark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
)

// localApp is an application of scripts/sparklogs, with what Spark's own status store
// knew of its stages.
type localApp struct {
	App, Name, Codec, Layout, Outcome string
	Stages                            []localStage
}

type localStage struct {
	ID          int `json:"stageId"`
	Attempt     int `json:"attemptId"`
	Status      string
	NumTasks    int     `json:"numCompleteTasks"`
	Failed      int     `json:"numFailedTasks"`
	Killed      int     `json:"numKilledTasks"`
	RunMS       float64 `json:"executorRunTime"`
	CPUNS       float64 `json:"executorCpuTime"`
	Input       float64 `json:"inputBytes"`
	Output      float64 `json:"outputBytes"`
	ShuffleRead float64 `json:"shuffleReadBytes"`
	Write       float64 `json:"shuffleWriteBytes"`
	SpillMemory float64 `json:"memoryBytesSpilled"`
	SpillDisk   float64 `json:"diskBytesSpilled"`
}

// TestLocalSpark compares what is read from the logs of a local Spark, under each
// compression and layout, with Spark's own numbers. scripts/sparklogs makes them.
func TestLocalSpark(t *testing.T) {
	dir := os.Getenv("KARASU_SPARK_LOGS")
	if dir == "" {
		t.Skip("needs the logs of scripts/sparklogs (set KARASU_SPARK_LOGS)")
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var apps []localApp
	if err := json.Unmarshal(text, &apps); err != nil {
		t.Fatal(err)
	}
	logs := localLogs(t, filepath.Join(dir, "logs"))
	running := localLogs(t, filepath.Join(dir, "running"))
	stages, checkable, balanced := 0, 0, 0
	for _, a := range apps {
		e := logs[a.App]
		if e == nil {
			t.Errorf("%s: no log of %s", a.Name, a.App)
			continue
		}
		outcome := "unknown"
		if e.Outcome != 0 {
			outcome = e.Outcome.String()
		}
		if e.Name != a.Name || outcome != a.Outcome || e.Quality.BadLines > 0 || e.Cluster.ExecutorCores != 2 {
			t.Errorf("%s: %q, outcome %s, want %s, %+v, %+v", a.Name, e.Name, outcome, a.Outcome, e.Quality, e.Cluster)
		}
		stages += compareStages(t, a, e)
		if e.Graph != nil && wholeRun(e) {
			n, ok := balance(t, a.Name, e)
			checkable, balanced = checkable+n, balanced+ok
		}
		if r := running[a.App]; r != nil && (r.Origin != e.Origin || r.Finished() || r.Tasks.Count > e.Tasks.Count) {
			t.Errorf("%s: while it ran: %s, outcome %d, %d tasks of %d", a.Name, r.Origin, r.Outcome, r.Tasks.Count, e.Tasks.Count)
		}
	}
	t.Logf("%d applications, %d of them read while they ran, %d stages as Spark counts them; %d of %d read what their parents wrote",
		len(apps), len(running), stages, balanced, checkable)
}

func localLogs(t *testing.T, dir string) map[string]*model.Execution {
	t.Helper()
	out := make(map[string]*model.Execution)
	for l, err := range FindPath(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(l.Name, ".crc") {
			continue
		}
		e, err := l.Read(t.Context(), Options{})
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		out[e.ApplicationID] = e
	}
	return out
}

func compareStages(t *testing.T, a localApp, e *model.Execution) int {
	t.Helper()
	got := make(map[[2]int]model.Stage)
	if e.Graph != nil {
		for _, s := range e.Graph.Stages {
			got[[2]int{s.ID, s.Attempt}] = s
		}
	}
	for _, w := range a.Stages {
		s, ok := got[[2]int{w.ID, w.Attempt}]
		if !ok {
			t.Errorf("%s: no stage %d", a.Name, w.ID)
			continue
		}
		same := s.Finished == w.NumTasks && s.FailedTasks == w.Failed+w.Killed && (s.Outcome == model.OK) == (w.Status == "COMPLETE")
		if w.Failed+w.Killed == 0 { // Spark's sums have the failed tasks, too
			same = same && s.InputBytes == w.Input && s.OutputBytes == w.Output && s.ShuffleReadBytes == w.ShuffleRead &&
				s.ShuffleWriteBytes == w.Write && s.SpillMemoryBytes == w.SpillMemory && s.SpillDiskBytes == w.SpillDisk &&
				near(s.RunSeconds, w.RunMS/1e3) && near(s.CPUSeconds, w.CPUNS/1e9)
		}
		if !same {
			t.Errorf("%s: stage %d\ngot  %+v\nwant %+v", a.Name, w.ID, s, w)
		}
	}
	return len(a.Stages)
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
