package share_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/stage"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const kindStage = karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL

// applications are executions and the runs that they became.
type applications struct {
	executions map[string]model.Execution
	version    string
	reads      int
	fail       error
}

func (a *applications) Executions(context.Context) (map[string]string, error) {
	out := make(map[string]string)
	for id := range a.executions {
		out[id] = "v" + a.version
	}
	return out, a.fail
}

func (a *applications) StageJob(_ context.Context, runID string) (stage.Job, error) {
	a.reads++
	e := a.executions[runID]
	return stage.FromExecution(&e)
}

// queriesOf are n applications of so many queries of one algorithm, each a run.
func queriesOf(n, queries int) (*applications, []model.Run) {
	a := &applications{executions: make(map[string]model.Execution)}
	var runs []model.Run
	for i, e := range modeltest.Executions(n, "secretcorp", 1) {
		e.QuerySignature = fmt.Sprintf("%016x", i%queries)
		r := run("m4.large", 2, e.RuntimeSeconds(), model.OK)
		r.Workload.Job = "secret-job"
		r.Origin, r.Start = e.Origin, e.Start
		a.executions[r.ID()] = e
		runs = append(runs, r)
	}
	return a, runs
}

func stagePublisher(t *testing.T, source share.StageSource) *published {
	t.Helper()
	p := newPublisher(t)
	p.Policy.Mode, p.Policy.Stages, p.Stages = share.Models, true, source
	return p
}

// stagesOf are the records of stage models, or their retractions.
func stagesOf(records []*commons.Record) []*commons.Record {
	var out []*commons.Record
	for _, r := range records {
		if strings.HasPrefix(r.Key, "stage/") {
			out = append(out, r)
		}
	}
	return out
}

func TestStageModelsFollowTheExecutions(t *testing.T) {
	a, runs := queriesOf(16, 8)
	p := stagePublisher(t, a)
	first := stagesOf(p.refresh(t, runs))
	topic := commons.StageTopic(runs[0].Workload.Infrastructure, "spark")
	if len(first) != 1 || first[0].Kind != kindStage || first[0].Topic != topic || first[0].Revision != 1 {
		t.Fatalf("published %+v", first)
	}
	if err := commons.ValidateBody(first[0]); err != nil {
		t.Error(err)
	}
	g, err := commons.DecodeStageModel(first[0])
	if err != nil {
		t.Fatal(err)
	}
	if jobs, stages := g.Trained(); jobs != 16 || stages != 64 {
		t.Errorf("of %d jobs and %d stages, want 16 and 64", jobs, stages)
	}
	for _, private := range []string{"secret", "Secret", runs[0].ID(), p.Pseudonyms.Workload(runs[0].Workload)} {
		if bytes.Contains(first[0].Envelope, []byte(private)) {
			t.Errorf("the record holds %q", private)
		}
	}
	reads := a.reads
	if again := p.refresh(t, runs); len(again) != 0 || a.reads != reads {
		t.Errorf("published %d records of the same executions, and read %d of them again", len(again), a.reads-reads)
	}
	// The same amounts under a new version make the same record, other ones another.
	a.version = "2"
	if again := p.refresh(t, runs); len(again) != 0 || a.reads == reads {
		t.Errorf("published %d records of executions that were read again as they were", len(again))
	}
	for id, e := range a.executions {
		e.Graph = &model.StageGraph{Stages: append([]model.Stage(nil), e.Graph.Stages...)}
		e.Graph.Stages[3].TaskSeconds *= 2
		a.executions[id] = e
	}
	a.version = "3"
	if again := stagesOf(p.refresh(t, runs)); len(again) != 1 || again[0].Revision != 2 {
		t.Errorf("published %+v of changed executions", again)
	}
	// What has no longer enough queries is withdrawn.
	if last := stagesOf(p.refresh(t, runs[:4])); len(last) != 1 || last[0].Kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		t.Errorf("published %+v with four queries left", last)
	}
}

func TestStageModelsLeaveByChoice(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*share.Policy)
		queries  int
		want     int
		withheld string
	}{
		{"models", func(*share.Policy) {}, 8, 1, ""},
		{"both", func(p *share.Policy) { p.Mode = share.Both }, 8, 1, ""},
		{"not by default", func(p *share.Policy) { *p = share.DefaultPolicy() }, 8, 0, ""},
		{"runtime models", func(p *share.Policy) { p.Stages, p.Runtimes = false, true }, 8, 0, ""},
		{"summaries", func(p *share.Policy) { p.Mode = share.Summaries }, 8, 0, ""},
		{"off", func(p *share.Policy) { p.Mode = share.Off }, 8, 0, ""},
		{"off for the algorithm", func(p *share.Policy) {
			p.Overrides = []share.Override{{Match: func(t model.Topic) bool { return t.Algorithm != "stages" }, Mode: share.Off}}
		}, 8, 0, ""},
		{"off for stages", func(p *share.Policy) {
			p.Overrides = []share.Override{{Match: func(t model.Topic) bool { return t.Algorithm == "stages" }, Mode: share.Off}}
		}, 8, 0, ""},
		{"few queries", func(*share.Policy) {}, 4, 0, "stage model: 16 applications of 4 queries with stages, beside 0 of workloads with fewer than 3; it takes 5 queries"},
		{"few runs", func(p *share.Policy) { p.MinimumRuns = 17 }, 8, 0, "0 applications of 0 queries with stages, beside 16 of workloads with fewer than 17"},
		{"noise", func(p *share.Policy) { p.Epsilon = 1 }, 8, 0, "without the noise that share.epsilon asks for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, runs := queriesOf(16, c.queries)
			p := stagePublisher(t, a)
			c.change(&p.Policy)
			if got := stagesOf(p.refresh(t, runs)); len(got) != c.want {
				t.Errorf("published %+v, want %d", got, c.want)
			}
			preview, err := p.Preview(t.Context(), runs, share.Trial{})
			if err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for _, w := range preview.Withheld {
				if w.Workload.Algorithm == "stages" {
					reasons = append(reasons, w.Reason)
				}
			}
			if got := strings.Join(reasons, "\n"); !strings.Contains(got, c.withheld) || (got == "") != (c.withheld == "") {
				t.Errorf("withheld %q, want %q", got, c.withheld)
			}
		})
	}
}

func TestPreviewOfStageModels(t *testing.T) {
	a, runs := queriesOf(16, 8)
	p := stagePublisher(t, a)
	p.Policy.Stages = false
	preview, err := p.Preview(t.Context(), runs, share.Trial{Stages: true})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range preview.Records {
		if r.Draft.Stage != nil {
			found++
			if r.Shared || r.Wire.GetKind() != kindStage {
				t.Errorf("%+v", r.Wire)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d stage models would leave, want one", found)
	}
	if len(p.records) != 0 {
		t.Errorf("a preview published %d records", len(p.records))
	}
}

// A store that cannot be read withdraws nothing, and keeps nothing else from leaving.
func TestStageModelsOfABrokenStore(t *testing.T) {
	a, runs := queriesOf(16, 8)
	p := stagePublisher(t, a)
	p.refresh(t, runs)
	a.fail = errors.New("broken disk")
	p.records = nil
	more := ofJob("other", threeRuns())
	_, err := p.Refresh(t.Context(), append(more, runs...))
	if !errors.Is(err, a.fail) {
		t.Errorf("%v, want that of the store", err)
	}
	if len(stagesOf(p.records)) != 0 || len(p.records) != 1 {
		t.Errorf("published %+v, want the other workload's model alone", p.records)
	}
}
