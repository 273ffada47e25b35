package node_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/private"
)

// secretExecution has a secret in every field that could hold one.
func secretExecution(n int) model.Execution {
	s := secrets()
	start := time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)
	return model.Execution{
		Origin: "spark/" + s[0] + string(rune('a'+n)), Framework: "spark", ApplicationID: s[1], Name: s[0], User: s[3], Queue: s[1], MainClass: s[1],
		Properties: map[string]string{s[1]: s[2]}, Start: start, End: start.Add(time.Duration(100/n) * time.Second), Outcome: model.OK,
		Cluster:   model.Cluster{Hosts: n},
		Executors: []model.Executor{{ID: "1", Host: s[4]}},
		Graph:     &model.StageGraph{Stages: []model.Stage{{ID: 0, Name: s[2], Details: s[2], Operators: []string{s[1]}, Query: -1}}},
		Quality:   model.Quality{Notes: []string{s[2]}},
	}
}

func secretRule() naming.Rule {
	return naming.Rule{Name: "(" + secrets()[0] + ")", Infrastructure: "aws-ec2", Algorithm: "etl", Job: "${1}", Dataset: secrets()[1], MachineType: "m4.xlarge"}
}

// TestExecutionsStayPrivate: a run that was made of an execution is shared as any, and
// nothing of the execution leaves with it.
func TestExecutionsStayPrivate(t *testing.T) {
	var wire tap
	app := startNode(t, "acme", func(_ *node.Home, c *node.Config) { c.Workloads = []naming.Rule{secretRule()} }, node.Options{Tap: wire.see})
	var all []model.Execution
	for n := range 4 {
		all = append(all, secretExecution(n+1))
	}
	done, err := app.ImportExecutions(t.Context(), all, naming.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		if d.GetResult() != karasuv1.ImportResult_IMPORT_RESULT_IMPORTED || d.GetJob() != secrets()[0] {
			t.Errorf("%+v", d)
		}
	}
	preview, err := app.PreviewShare(t.Context())
	if err != nil || len(preview.GetRecords()) == 0 {
		t.Fatalf("nothing would be shared: %+v (%v)", preview, err)
	}
	leaves := wire.sent()
	for _, r := range preview.GetRecords() {
		leaves = append(leaves, r.GetRecord().GetBody()...)
		leaves = append(leaves, r.GetRecord().GetKey()...)
	}
	for _, s := range secrets() {
		if bytes.Contains(bytes.ToLower(leaves), []byte(s)) {
			t.Errorf("%q leaves", s)
		}
	}
}

func TestRulesChange(t *testing.T) {
	var home node.Home
	app := startNode(t, "acme", func(h *node.Home, _ *node.Config) { home = *h }, node.Options{})
	ctx := t.Context()
	done, err := app.ImportExecutions(ctx, []model.Execution{secretExecution(1), secretExecution(2)}, naming.Hints{Infrastructure: "aws-ec2"})
	if err != nil || done[0].GetRunId() != "" || done[0].GetReason() != string(naming.NoRule) {
		t.Fatalf("without rules: %+v (%v)", done, err)
	}
	groups, n, err := app.Unmatched(ctx)
	if err != nil || n != 2 || len(groups) != 1 || groups[0].GetSuggestion() == "" {
		t.Fatalf("unmatched: %d in %+v (%v)", n, groups, err)
	}
	apply := func(rules string, want *karasuv1.ApplyRulesResponse) {
		t.Helper()
		if err := os.WriteFile(home.ConfigFile(), []byte("organisation = 'acme'\n"+rules), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := app.ApplyRules(ctx)
		if (err == nil) != (want != nil) {
			t.Fatalf("%s: %v", rules, err)
		}
		if want == nil {
			if !errors.Is(err, node.ErrConfig) {
				t.Errorf("%s: error %v, want %v", rules, err, node.ErrConfig)
			}
			return
		}
		if got.String() != want.String() {
			t.Errorf("%s: %v, want %v", rules, got, want)
		}
	}
	rule := groups[0].GetSuggestion() + "machine_type = 'm4.xlarge'\n"
	apply(rule, &karasuv1.ApplyRulesResponse{Rules: 1, Executions: 2, Runs: 2, Added: 2})
	apply("[[workload]]\nname = '('\n", nil)
	apply("[[workload]]\nname = '.'\nalgorithm = 'a'\njob = 'j'\nmachine_type = 'm4.xlarge'\n"+rule, &karasuv1.ApplyRulesResponse{Rules: 2, Executions: 2, Runs: 2, Changed: 2})
	workloads, err := app.Workloads(ctx)
	if err != nil || len(workloads) != 1 || workloads[0].GetJob() != "j" || workloads[0].GetOk() != 2 {
		t.Errorf("workloads %+v (%v)", workloads, err)
	}
	apply("[[workload]]\nname = '.'\nalgorithm = 'a'\njob = 'j'\nmachine_type = 'm4.xxl'\n", &karasuv1.ApplyRulesResponse{Rules: 1, Executions: 2, Removed: 2})
	if groups, _, err = app.Unmatched(ctx); err != nil || groups[0].GetReason() != string(naming.BadMachineType) {
		t.Errorf("unmatched: %+v (%v)", groups, err)
	}
	got, err := app.Execution(ctx, secretExecution(1).Origin, "")
	if err != nil || len(got.GetExecution().GetGraph().GetStages()) != 1 || got.GetHints().GetInfrastructure() != "aws-ec2" {
		t.Errorf("execution %+v (%v)", got, err)
	}
	for _, c := range [][2]string{{"", ""}, {"a", "b"}} {
		if _, err := app.Execution(ctx, c[0], c[1]); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%q: error %v", c, err)
		}
	}
	if _, err := app.Execution(ctx, "spark/none", ""); !errors.Is(err, private.ErrNoExecution) {
		t.Errorf("none: error %v", err)
	}
	if _, err := app.ImportExecutions(ctx, nil, naming.Hints{Infrastructure: "A b"}); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("bad hint: error %v", err)
	}
	if d := cmp.Diff(uint32(2), func() uint32 { s, _ := app.Status(ctx); return s.GetUnmatchedExecutions() }()); d != "" {
		t.Errorf("status: %s", d)
	}
}
