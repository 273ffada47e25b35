package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	"github.com/karasu-project/karasu/node/checkpoint"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	"github.com/karasu-project/karasu/optimizer/checkpoint/replay"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// day is when the first run of a test began.
func day(n int) time.Time { return time.Date(2026, 3, n, 3, 0, 0, 0, time.UTC) }

// chain is a job of five stages in a row that read 100 GB times a scale; the second writes
// little, which makes it the place to cut. Two hosts, of which the second comes late.
func chain(n int, scale float64) model.Execution {
	start := day(n)
	g := &model.StageGraph{}
	at := 0.0
	for i, gigabytes := range []float64{40, 2, 30, 30, 0} {
		s := model.Stage{
			ID: i, Name: fmt.Sprintf("map at Job.scala:%d", 10+i), Query: -1, Tasks: 8, Finished: 8, Outcome: model.OK,
			StartSeconds: at, EndSeconds: at + 100*scale, TaskSeconds: 800 * scale, RunSeconds: 800 * scale, ShuffleWriteBytes: gigabytes * 1e9 * scale,
		}
		if i > 0 {
			s.Parents = []int{i - 1}
		} else {
			s.InputBytes = 100e9 * scale
		}
		at = s.EndSeconds
		g.Stages = append(g.Stages, s)
	}
	return model.Execution{
		Origin: fmt.Sprintf("spark/app-%d/1/%d", n, start.UnixMilli()), Framework: "spark", ApplicationID: fmt.Sprintf("app-%d", n), Name: "nightly",
		Start: start, End: start.Add(time.Duration(at * 1e9)), Outcome: model.OK, InputBytes: 100e9 * scale,
		Cluster: model.Cluster{Hosts: 2, MaxExecutors: 2, ExecutorCores: 4},
		Executors: []model.Executor{
			{ID: "1", Host: "node-1", Cores: 4, RemovedSeconds: at},
			{ID: "2", Host: "node-2", Cores: 4, AddedSeconds: 250 * scale, RemovedSeconds: at},
		},
		Graph: g,
	}
}

func store(t testing.TB, executions ...model.Execution) *private.DB {
	t.Helper()
	db, err := private.OpenDB(t.TempDir(), private.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, e := range executions {
		_, err := db.PutExecution(t.Context(), e, private.Hints{}, func(model.Execution, private.Hints) *model.Run { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func advisor(t testing.TB, o checkpoint.Options) *checkpoint.Advisor {
	t.Helper()
	a := checkpoint.New(o)
	t.Cleanup(a.Close)
	return a
}

func over(t testing.TB, executions ...model.Execution) *checkpoint.Advisor {
	t.Helper()
	return advisor(t, checkpoint.Options{Executions: store(t, executions...)})
}

func advise(t testing.TB, a *checkpoint.Advisor, target *karasuv1.CheckpointTarget, goal *karasuv1.CheckpointGoal) *karasuv1.AdviseCheckpointResponse {
	t.Helper()
	res, err := a.Advise(t.Context(), &karasuv1.AdviseCheckpointRequest{Target: target, Goal: goal})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func app(name string) *karasuv1.CheckpointTarget { return &karasuv1.CheckpointTarget{App: name} }
func job(name string) *karasuv1.CheckpointTarget { return &karasuv1.CheckpointTarget{Job: name} }

// one goal's fields, with room for writes.
func wide() *karasuv1.CheckpointGoal { return &karasuv1.CheckpointGoal{MaxOverhead: new(10.0)} }

func persisted(m *karasuv1.AdviseCheckpointResponse) (ids []uint32) {
	for _, s := range m.GetStages() {
		if s.GetPersist() {
			ids = append(ids, s.GetId())
		}
	}
	return ids
}

func TestAdviceOnAPastRun(t *testing.T) {
	a := over(t, chain(1, 1))
	m := advise(t, a, app("app-1"), nil)
	// Stages 0 and 1 end at 200 s: 42 GB for the 300 s that are left, for 2 GB in 4 s.
	if got := persisted(m); len(got) != 1 || got[0] != 1 {
		t.Fatalf("persists %v, want stage 1", got)
	}
	w := m.GetWorth()
	if w.GetFreedByteSeconds() != 42e9*300 || w.GetDurableBytes() != 2e9 || w.GetWriteSeconds() != 4 {
		t.Errorf("worth is %v", w)
	}
	// Uniform, nearly: without a cut 250 s are lost; with it, failures after 204 s lose 200 s less.
	if math.Abs(w.GetLostWithoutSeconds()-250) > 1 || math.Abs(w.GetLostSeconds()-(250-200*296./500)) > 1 {
		t.Errorf("a failure costs %g s, without the cut %g s", w.GetLostSeconds(), w.GetLostWithoutSeconds())
	}
	if math.Abs(w.GetRestartWithoutSeconds()-500) > 1e-9 || math.Abs(w.GetRestartSeconds()-(500-(w.GetLostWithoutSeconds()-w.GetLostSeconds()))) > 1e-9 {
		t.Errorf("restarts take %g s and %g s", w.GetRestartSeconds(), w.GetRestartWithoutSeconds())
	}
	if !m.GetExact() || m.GetMethod() != "exact" || m.GetGap() != 0 || m.GetBasis().GetSource() != "measured" {
		t.Errorf("exact %t, method %q, gap %v, from %q", m.GetExact(), m.GetMethod(), m.Gap, m.GetBasis().GetSource())
	}
	if s := m.GetStages()[1]; s.GetKind() != "rdd" || !strings.Contains(s.GetHow(), "map at Job.scala:11") || !strings.Contains(s.GetSnippet(), "rdd.checkpoint()") {
		t.Errorf("stage 1 is told %q, %q", s.GetHow(), s.GetSnippet())
	}
	for i := 1; i < len(m.GetMarginal()); i++ {
		if m.GetMarginal()[i] < m.GetMarginal()[i-1] {
			t.Errorf("more cuts reach less: %v", m.GetMarginal())
		}
	}
}

func TestObjectivesAndConstraints(t *testing.T) {
	a := over(t, chain(1, 1))
	for _, tt := range []struct {
		name string
		goal *karasuv1.CheckpointGoal
		want []uint32
	}{
		{"restart", &karasuv1.CheckpointGoal{Objective: "restart"}, []uint32{1}},
		{"restart, two cuts", &karasuv1.CheckpointGoal{Objective: "restart", Cuts: 2, MaxOverhead: new(1.0)}, []uint32{1, 2}},
		{"mix", &karasuv1.CheckpointGoal{Objective: "mix", Weight: new(.5)}, []uint32{1}},
		{"never the best", &karasuv1.CheckpointGoal{Never: []string{"1"}, MaxOverhead: new(10.0)}, []uint32{0}},
		{"never by call site", &karasuv1.CheckpointGoal{Never: []string{"Job.scala:11"}, MaxOverhead: new(10.0)}, []uint32{0}},
		{"nothing to write", &karasuv1.CheckpointGoal{DurableBytes: new(0.0)}, nil},
		{"a share that is too small", &karasuv1.CheckpointGoal{DurableShare: new(.001)}, nil},
		{"writes that take too long", &karasuv1.CheckpointGoal{WriteBandwidth: 1e6}, nil},
		{"two cuts", &karasuv1.CheckpointGoal{Cuts: 2, MaxOverhead: new(10.0)}, []uint32{0, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := advise(t, a, app("app-1"), tt.goal)
			if got := persisted(m); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("persists %v, want %v", got, tt.want)
			}
			if w := m.GetWorth(); w.GetLostSeconds() > w.GetLostWithoutSeconds() || math.IsNaN(w.GetLostSeconds()) {
				t.Errorf("worth is %v", w)
			}
			if tt.want == nil && len(m.GetNotes()) == 0 {
				t.Error("nobody says why nothing is persisted")
			}
		})
	}
}

func TestHotspots(t *testing.T) {
	a := over(t, chain(1, 1))
	// node-2 came at 250 s, so that only stages 2 (half of its time), 3 and 4 may be on it.
	m := advise(t, a, app("app-1"), &karasuv1.CheckpointGoal{Hotspots: []string{"node-2"}, MaxOverhead: new(10.0)})
	for _, s := range m.GetStages() {
		if want := s.GetId() >= 3; s.GetHotspot() != want {
			t.Errorf("stage %d on the hotspot: %t, want %t", s.GetId(), s.GetHotspot(), want)
		}
	}
	if got := m.GetByteSeconds(); got != 30e9*100 {
		t.Errorf("%g byte-seconds on the hotspot, want those of stage 3", got)
	}
	bare := chain(2, 1)
	bare.Executors = nil
	a = over(t, bare)
	_, err := a.Advise(t.Context(), &karasuv1.AdviseCheckpointRequest{Target: app("app-2"), Goal: &karasuv1.CheckpointGoal{Hotspots: []string{"node-2"}}})
	if !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), "does not tell on which hosts") {
		t.Errorf("without hosts: %v", err)
	}
}

func TestNextRunOfAJob(t *testing.T) {
	a := over(t, chain(1, 1), chain(2, 1.5), chain(3, 1))
	m := advise(t, a, &karasuv1.CheckpointTarget{Job: "nightly", DataSize: 200e9}, nil)
	if b := m.GetBasis(); b.GetSource() != "earlier runs" || b.GetRuns() != 3 {
		t.Fatalf("basis is %v", b)
	}
	if got := persisted(m); len(got) != 1 || got[0] != 1 {
		t.Fatalf("persists %v, want stage 1", got)
	}
	// Twice the data of the last run: twice the bytes.
	if got := m.GetStages()[1].GetBytes(); got < 3e9 || got > 5e9 {
		t.Errorf("stage 1 is predicted to write %g bytes, want about 4e9", got)
	}
	if m.GetStages()[1].BytesLow == nil {
		t.Error("no interval of a predicted size")
	}
	same := advise(t, a, job("nightly"), nil)
	if got := same.GetStages()[1].GetBytes(); math.Abs(got-2e9) > .3e9 {
		t.Errorf("with the data of the last run stage 1 is predicted to write %g bytes, want about 2e9", got)
	}
}

func TestRateOfFailures(t *testing.T) {
	failed := chain(2, 1)
	failed.Outcome = model.Failed
	for _, tt := range []struct {
		name   string
		given  *float64
		runs   []model.Execution
		source string
	}{
		{"given", new(.25), []model.Execution{chain(1, 1)}, "given"},
		{"fitted", nil, []model.Execution{chain(1, 1), failed}, "fitted"},
		{"assumed", nil, []model.Execution{unknownEnd(1)}, "assumed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := advise(t, over(t, tt.runs...), app("app-1"), &karasuv1.CheckpointGoal{FailuresPerHour: tt.given})
			f := m.GetFailures()
			if f.GetSource() != tt.source || f.GetSummary() == "" || !(f.GetPerHour() > 0) || f.GetLowPerHour() > f.GetPerHour() || f.GetHighPerHour() < f.GetPerHour() {
				t.Errorf("failures are %v", f)
			}
			if tt.source == "fitted" && (f.GetFailures() != 1 || math.Abs(f.GetHours()-1000./3600) > 1e-9) {
				t.Errorf("fitted from %d failures in %g hours", f.GetFailures(), f.GetHours())
			}
		})
	}
}

func unknownEnd(n int) model.Execution {
	e := chain(n, 1)
	e.Outcome = 0
	return e
}

// TestBadInput gives each thing that cannot be answered an error of its kind that says
// what is wrong.
func TestBadInput(t *testing.T) {
	bare := chain(3, 1)
	bare.Graph, bare.Name, bare.ApplicationID = nil, "bare", "app-bare"
	other := chain(4, 1)
	other.Name, other.Framework, other.ApplicationID, other.Outcome = "other", "flink", "app-other", model.Failed
	a := over(t, chain(1, 1), chain(2, 1), bare, other)
	for _, tt := range []struct {
		name   string
		target *karasuv1.CheckpointTarget
		goal   *karasuv1.CheckpointGoal
		want   error
		says   string
	}{
		{"no target", nil, nil, model.ErrInvalid, "an application or a job"},
		{"two targets", &karasuv1.CheckpointTarget{App: "app-1", Job: "nightly"}, nil, model.ErrInvalid, "not both"},
		{"unknown application", app("app-9"), nil, private.ErrNoExecution, `"app-9"`},
		{"unknown job", job("daily"), nil, private.ErrNoExecution, `"daily"`},
		{"no stages", app("app-bare"), nil, checkpoint.ErrNoStages, "the record of spark/app-3"},
		{"a job without stages", job("bare"), nil, checkpoint.ErrNoStages, "1 stored run"},
		{"nothing to predict from", &karasuv1.CheckpointTarget{App: "app-other", Predicted: true}, nil, checkpoint.ErrNoPredictor, "ended before this one is stored, and no peer shares a predictor; import finished applications"},
		{"data size of a past run", &karasuv1.CheckpointTarget{App: "app-1", DataSize: 1}, nil, model.ErrInvalid, "past run"},
		{"negative data size", &karasuv1.CheckpointTarget{Job: "nightly", DataSize: -1}, nil, model.ErrInvalid, "data size"},
		{"no number", &karasuv1.CheckpointTarget{Job: "nightly", DataSize: math.NaN()}, nil, model.ErrInvalid, "data size"},
		{"objective", app("app-1"), &karasuv1.CheckpointGoal{Objective: "speed"}, model.ErrInvalid, `"speed"`},
		{"weight without a mix", app("app-1"), &karasuv1.CheckpointGoal{Weight: new(.5)}, model.ErrInvalid, "weight"},
		{"weight", app("app-1"), &karasuv1.CheckpointGoal{Objective: "mix", Weight: new(2.0)}, model.ErrInvalid, "weight"},
		{"several cuts of a mix", app("app-1"), &karasuv1.CheckpointGoal{Objective: "mix", Cuts: 2}, model.ErrInvalid, "cuts"},
		{"negative budget", app("app-1"), &karasuv1.CheckpointGoal{DurableBytes: new(-1.0)}, model.ErrInvalid, "durable bytes"},
		{"share", app("app-1"), &karasuv1.CheckpointGoal{DurableShare: new(1.5)}, model.ErrInvalid, "durable share"},
		{"bandwidth", app("app-1"), &karasuv1.CheckpointGoal{WriteBandwidth: math.Inf(1)}, model.ErrInvalid, "bandwidth"},
		{"overhead", app("app-1"), &karasuv1.CheckpointGoal{MaxOverhead: new(0.0)}, model.ErrInvalid, "overhead"},
		{"cuts", app("app-1"), &karasuv1.CheckpointGoal{Cuts: 33}, model.ErrInvalid, "cuts"},
		{"rate", app("app-1"), &karasuv1.CheckpointGoal{FailuresPerHour: new(0.0)}, model.ErrInvalid, "failure rate"},
		{"no such stage", app("app-1"), &karasuv1.CheckpointGoal{Never: []string{"77"}}, model.ErrInvalid, `"77"`},
		{"no such call site", app("app-1"), &karasuv1.CheckpointGoal{Never: []string{"reduce"}}, model.ErrInvalid, `"reduce"`},
		{"no such host", app("app-1"), &karasuv1.CheckpointGoal{Hotspots: []string{"node-9"}}, model.ErrInvalid, "node-1, node-2"},
		{"hotspots of a restart", app("app-1"), &karasuv1.CheckpointGoal{Objective: "restart", Hotspots: []string{"node-1"}}, model.ErrInvalid, "hotspots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := a.Advise(t.Context(), &karasuv1.AdviseCheckpointRequest{Target: tt.target, Goal: tt.goal})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want one that wraps %v and says %q", err, tt.want, tt.says)
			}
		})
	}
}

// TestAssumptions lists what was taken for granted where a record does not tell.
func TestAssumptions(t *testing.T) {
	e := chain(1, 1)
	e.Graph.Stages[1].ShuffleWriteBytes = 0
	e.Graph.Stages[2].EndSeconds = e.Graph.Stages[2].StartSeconds
	e.Graph.Stages[3].EndEstimated = true
	e.Outcome = 0
	e.Quality.Notes = []string{"stages that depend on each other in a cycle; those edges are left out"}
	m := advise(t, over(t, e), app("app-1"), wide())
	all := strings.Join(m.GetBasis().GetAssumptions(), "\n")
	for _, want := range []string{"it wrote nothing", "no time passed", "the end of the last task is taken", "how it ended", "when it was imported: stages that depend on each other in a cycle"} {
		if !strings.Contains(all, want) {
			t.Errorf("assumptions do not say %q:\n%s", want, all)
		}
	}
	e = chain(2, 1)
	for i := range e.Graph.Stages {
		e.Graph.Stages[i].ShuffleWriteBytes = 0
	}
	m = advise(t, over(t, e), app("app-2"), nil)
	if len(m.GetNotes()) == 0 || m.GetWorth().GetFreedShare() != 0 {
		t.Errorf("a job without sizes: %v, notes %q", m.GetWorth(), m.GetNotes())
	}
	e = chain(3, 1)
	e.Graph.Stages = e.Graph.Stages[:1]
	if m = advise(t, over(t, e), app("app-3"), nil); !strings.Contains(strings.Join(m.GetNotes(), ""), "one stage") {
		t.Errorf("a job of one stage: notes %q", m.GetNotes())
	}
}

// shared are the predictors of peers.
type shared []checkpoint.Shared

func (s shared) StagePredictors(_ context.Context, framework string) ([]checkpoint.Shared, error) {
	if framework != "spark" {
		return nil, nil
	}
	return s, nil
}

// general is a predictor of twelve chains whose outputs are larger by a factor.
func general(t *testing.T, factor float64) *stage.General {
	t.Helper()
	var jobs []stage.Job
	for i := range 12 {
		e := chain(i+1, 1+float64(i)/10)
		for k := range e.Graph.Stages {
			e.Graph.Stages[k].ShuffleWriteBytes *= factor
		}
		j, err := stage.FromExecution(&e)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	g, err := stage.Fit(t.Context(), jobs, stage.Options{Trees: 8})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLyingPeers: one of three does not decide, and what cannot be is not asked.
func TestLyingPeers(t *testing.T) {
	honest := general(t, 1)
	for name, peers := range map[string]shared{
		"one of three": {{Model: honest}, {Model: general(t, 1e5)}, {Model: honest}},
		"impossible":   {{Model: general(t, 1e13)}, {Model: honest}},
	} {
		a := advisor(t, checkpoint.Options{Executions: store(t, chain(20, 1)), Predictors: peers})
		m := advise(t, a, &karasuv1.CheckpointTarget{App: "app-20", Predicted: true}, wide())
		if got := m.GetStages()[0].GetBytes(); got < 10e9 || got > 100e9 {
			t.Errorf("%s: stage 0 is predicted to write %g bytes, want some 40e9", name, got)
		}
	}
}

func TestPredictorsOfPeers(t *testing.T) {
	g := general(t, 1)
	peers := shared{{Organisation: "globex", Model: g}, {Organisation: "initech", Model: g}}
	a := advisor(t, checkpoint.Options{Executions: store(t, chain(20, 1)), Predictors: peers})
	m := advise(t, a, &karasuv1.CheckpointTarget{App: "app-20", Predicted: true}, wide())
	if b := m.GetBasis(); b.GetSource() != "peers' predictors" || b.GetRuns() != 2 {
		t.Errorf("basis is %v", b)
	}
	if got := m.GetStages()[0].GetBytes(); got < 10e9 || got > 100e9 {
		t.Errorf("stage 0 is predicted to write %g bytes, want some 40e9", got)
	}
}

func TestCompareUsesEarlierRunsOnly(t *testing.T) {
	a := over(t, chain(1, 1), chain(2, 1.2), chain(3, .9))
	res, err := a.Compare(t.Context(), &karasuv1.CompareCheckpointsRequest{Target: job("nightly")})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.GetRuns()); n != 3 {
		t.Fatalf("%d runs, want 3", n)
	}
	for i, r := range res.GetRuns() {
		by := map[string]*karasuv1.ComparedCheckpoint{}
		for _, p := range r.GetPolicies() {
			by[p.GetPolicy()] = p
		}
		if i == 0 {
			if by["advised"].GetWorth() != nil || by["advised"].GetProblem() == "" {
				t.Errorf("the first run had advice: %v", by["advised"])
			}
			continue
		}
		if got := r.GetBasis().GetRuns(); got != uint32(i) {
			t.Errorf("run %d was advised from %d earlier runs", i, got)
		}
		best := by["optimum"].GetWorth().GetFreedShare()
		for name, p := range by {
			if v := p.GetWorth().GetFreedShare(); !p.GetOverBudget() && v > best+1e-9 {
				t.Errorf("run %d: %s frees %g, more than the optimum's %g", i, name, v, best)
			}
		}
		if by["none"].GetWorth().GetFreedShare() != 0 || by["everything"].GetWorth().GetFreedShare() != 1 {
			t.Errorf("run %d: none frees %v, everything %v", i, by["none"], by["everything"])
		}
		for _, name := range []string{"advised", "advised, re-solved"} {
			if v := by[name].GetWorth().GetFreedShare(); v < .95*best {
				t.Errorf("run %d: %s frees %g, the optimum %g", i, name, v, best)
			}
		}
	}
	if len(res.GetMean()) != 6 || len(res.GetNotes()) != 2 {
		t.Errorf("%d means, notes %q", len(res.GetMean()), res.GetNotes())
	}
}

func TestSimulationIsRepeatable(t *testing.T) {
	a := over(t, chain(1, 1), chain(2, 1))
	req := &karasuv1.SimulateCheckpointsRequest{
		Target: job("nightly"), Goal: &karasuv1.CheckpointGoal{Objective: "restart", FailuresPerHour: new(10.0)}, Times: 500, Seed: 7,
	}
	first, err := a.Simulate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Simulate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("the same seed gives another answer")
	}
	by := map[string]*karasuv1.SimulatedCheckpoint{}
	for _, p := range first.GetMean() {
		by[p.GetPolicy()] = p
	}
	if !(by["advised"].GetSeconds() < by["none"].GetSeconds() && by["none"].GetSeconds() > 500) {
		t.Errorf("with failures %g s, with advice %g s", by["none"].GetSeconds(), by["advised"].GetSeconds())
	}
	req.Times = 1e9
	if _, err := a.Simulate(t.Context(), req); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("a billion plays: %v", err)
	}
}

// at is an execution as its log told it at a time.
func at(e model.Execution, seconds float64) *karasuv1.Execution {
	var stages []model.Stage
	for _, s := range e.Graph.Stages {
		if s.StartSeconds > seconds || s.StartSeconds == seconds && s.StartSeconds > 0 {
			continue
		}
		if s.EndSeconds > seconds {
			s.EndSeconds, s.Outcome, s.ShuffleWriteBytes, s.TaskSeconds = seconds, 0, 0, 0
		}
		stages = append(stages, s)
	}
	e.Graph, e.Outcome, e.Executors = &model.StageGraph{Stages: stages}, 0, nil
	e.End = e.Start.Add(time.Duration(seconds * 1e9))
	m, _ := wire.FromExecution(e)
	return m
}

func TestFollow(t *testing.T) {
	a := over(t, chain(1, 1), chain(2, 1))
	now := chain(5, 2)
	var committed []*karasuv1.CheckpointCut
	for _, tt := range []struct {
		seconds          float64
		finished, stages uint32
		commit, planned  bool
	}{
		{50, 0, 5, false, true}, {250, 1, 5, false, true}, {401, 2, 5, true, true}, {650, 3, 5, false, false},
	} {
		res, err := a.Follow(t.Context(), &karasuv1.FollowCheckpointRequest{Execution: at(now, tt.seconds), Committed: committed})
		if err != nil {
			t.Fatal(err)
		}
		if res.GetFinished() != tt.finished || res.GetStages() != tt.stages || res.GetCommit() != tt.commit || (res.GetPlanned() != nil) != tt.planned {
			t.Errorf("at %g s: %d of %d stages, commit %t, planned %v; want %+v", tt.seconds, res.GetFinished(), res.GetStages(), res.GetCommit(), res.GetPlanned(), tt)
		}
		if res.GetCommit() {
			committed = append(committed, res.GetPlanned())
			if p := res.GetPersist(); len(p) != 1 || p[0].GetId() != 1 || p[0].GetBytes() != 4e9 {
				t.Errorf("persist %v, want stage 1 with its true size", p)
			}
		}
	}
	for name, req := range map[string]*karasuv1.FollowCheckpointRequest{
		"no execution":      {},
		"an unended cut":    {Execution: at(now, 50), Committed: []*karasuv1.CheckpointCut{{Before: []uint32{0}}}},
		"too many cuts":     {Execution: at(now, 450), Committed: []*karasuv1.CheckpointCut{{}, {}}},
		"negative size":     {Execution: at(now, 450), DataSize: -1},
		"amounts of a cut":  {Execution: at(now, 450), Committed: []*karasuv1.CheckpointCut{{DurableBytes: math.NaN()}}},
		"negative duration": {Execution: broken(now, func(s *karasuv1.Stage) { s.StartSeconds = s.EndSeconds + 1 })},
		"missing parent":    {Execution: broken(now, func(s *karasuv1.Stage) { s.Parents = []uint64{99} })},
		"cycle":             {Execution: broken(now, func(s *karasuv1.Stage) { s.Parents = []uint64{s.GetId()} })},
		"no number":         {Execution: broken(now, func(s *karasuv1.Stage) { s.ShuffleWriteBytes = math.NaN() })},
	} {
		if _, err := a.Follow(t.Context(), req); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func broken(e model.Execution, how func(*karasuv1.Stage)) *karasuv1.Execution {
	m := at(e, 450)
	how(m.GetGraph().GetStages()[1])
	return m
}

// TestFollowSeveralCuts says of each cut only what is not persisted yet, and no more than
// the goal has.
func TestFollowSeveralCuts(t *testing.T) {
	a := over(t, chain(1, 1), chain(2, 1))
	now := chain(5, 1)
	goal := &karasuv1.CheckpointGoal{Cuts: 2, MaxOverhead: new(10.0)}
	for _, objective := range []string{checkpoint.Storage, checkpoint.Restart} {
		goal.Objective = objective
		var committed []*karasuv1.CheckpointCut
		told := map[uint32]int{}
		for _, seconds := range []float64{101, 201, 301, 401, 500} {
			res, err := a.Follow(t.Context(), &karasuv1.FollowCheckpointRequest{Execution: at(now, seconds), Goal: goal, Committed: committed})
			if err != nil {
				t.Fatal(err)
			}
			if !res.GetCommit() {
				continue
			}
			committed = append(committed, res.GetPlanned())
			for _, s := range res.GetPersist() {
				told[s.GetId()]++
			}
		}
		if len(committed) != 2 || committed[0].GetRestartSeconds() >= committed[1].GetRestartSeconds() {
			t.Errorf("%s: committed to %v, want two cuts that follow each other", objective, committed)
		}
		for id, n := range told {
			if n > 1 {
				t.Errorf("%s: told %d times to persist stage %d", objective, n, id)
			}
		}
	}
}

// TestFollowWithoutHistory knows only what was submitted, and says so.
func TestFollowWithoutHistory(t *testing.T) {
	other := chain(1, 1)
	other.Name = "other"
	a := over(t, other)
	res, err := a.Follow(t.Context(), &karasuv1.FollowCheckpointRequest{Execution: at(chain(5, 1), 350)})
	if err != nil {
		t.Fatal(err)
	}
	if res.GetStages() != 4 || res.GetBasis().GetSource() != "own predictor" || !strings.Contains(strings.Join(res.GetNotes(), ""), "no earlier run") {
		t.Errorf("%d stages, basis %v, notes %q", res.GetStages(), res.GetBasis(), res.GetNotes())
	}
	_, err = over(t).Follow(t.Context(), &karasuv1.FollowCheckpointRequest{Execution: at(chain(5, 1), 350)})
	if !errors.Is(err, checkpoint.ErrNoPredictor) {
		t.Errorf("with an empty store: %v", err)
	}
}

// large is a synthetic application of many stages.
func large(t testing.TB, n int) model.Execution {
	t.Helper()
	graph, err := replay.Synthetic(n)
	if err != nil {
		t.Fatal(err)
	}
	e := chain(1, 1)
	e.Graph = &model.StageGraph{}
	for _, s := range graph.Stages() {
		e.Graph.Stages = append(e.Graph.Stages, model.Stage{
			ID: s.ID, Name: fmt.Sprintf("map at Job.scala:%d", s.ID), Query: -1, Parents: s.Parents, Tasks: 8, Finished: 8, Outcome: model.OK,
			StartSeconds: s.Start, EndSeconds: s.End, TaskSeconds: s.End - s.Start, ShuffleWriteBytes: s.Bytes,
		})
	}
	e.End = e.Start.Add(time.Duration((graph.Seconds() + 1) * 1e9))
	e.Executors = nil
	return e
}

// TestAdviceKeepsItsLimits on a large graph, whatever the objective.
func TestAdviceKeepsItsLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("large graphs")
	}
	a := over(t, large(t, 2000))
	for _, goal := range []*karasuv1.CheckpointGoal{
		{DurableShare: new(.1)}, {Objective: "restart", DurableShare: new(.1), Cuts: 3}, {Objective: "mix", DurableShare: new(.1)}, {Cuts: 2, DurableShare: new(.1)},
	} {
		m := advise(t, a, app("app-1"), goal)
		if len(m.GetCuts()) == 0 || m.GetWorth().GetDurableBytes() > .1*m.GetOutputBytes()*(1+1e-9) {
			t.Errorf("%v: %d cuts that write %g of %g bytes", goal, len(m.GetCuts()), m.GetWorth().GetDurableBytes(), m.GetOutputBytes())
		}
	}
}

// BenchmarkAdvise is the answer for 2,000 stages, which is to come within 300 ms.
func BenchmarkAdvise(b *testing.B) {
	a := over(b, large(b, 2000))
	for _, bench := range []struct {
		name   string
		target *karasuv1.CheckpointTarget
		goal   *karasuv1.CheckpointGoal
	}{
		{"storage", app("app-1"), &karasuv1.CheckpointGoal{DurableShare: new(.1)}},
		{"storage-3", app("app-1"), &karasuv1.CheckpointGoal{DurableShare: new(.1), Cuts: 3}},
		{"restart", app("app-1"), &karasuv1.CheckpointGoal{Objective: "restart", DurableShare: new(.1)}},
		{"restart-3", app("app-1"), &karasuv1.CheckpointGoal{Objective: "restart", DurableShare: new(.1), Cuts: 3}},
		{"mix", app("app-1"), &karasuv1.CheckpointGoal{Objective: "mix", DurableShare: new(.1)}},
		{"next", job("nightly"), &karasuv1.CheckpointGoal{DurableShare: new(.1)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				advise(b, a, bench.target, bench.goal)
			}
		})
	}
}

// TestSuccessiveCutsAreNested: each later one holds the stages of the one before.
func TestSuccessiveCutsAreNested(t *testing.T) {
	m := advise(t, over(t, chain(1, 1)), app("app-1"), &karasuv1.CheckpointGoal{Cuts: 3, MaxOverhead: new(10.0)})
	before := 0
	for _, c := range m.GetCuts() {
		if len(c.GetBefore()) <= before {
			t.Errorf("cuts hold %d and then %d stages", before, len(c.GetBefore()))
		}
		before = len(c.GetBefore())
	}
	if optimizer.MaxCuts < 3 || before == 0 {
		t.Error("no cut")
	}
}
