package node_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/stage"
	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/ingest/naming"
)

// stageRule names all made-up applications runs of one algorithm.
func stageRule(word string) naming.Rule {
	return naming.Rule{Name: word, Infrastructure: "aws-ec2", Algorithm: "etl", Job: word, MachineType: "m4.xlarge"}
}

func stageModelsOf(t *testing.T, app *node.App) []*commons.Record {
	t.Helper()
	all, err := app.Commons().All(shared)
	if err != nil {
		t.Fatal(err)
	}
	var out []*commons.Record
	for _, r := range all {
		if r.Kind == karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL {
			out = append(out, r)
		}
	}
	return out
}

// TestStagesFromPeersAlone: one organisation shares a predictor of stages; another one that
// has no history predicts queries from it that neither has ever run. Every byte that
// leaves is read for what is private.
func TestStagesFromPeersAlone(t *testing.T) {
	const word = "nightlyrevenue"
	var sent tap
	var homes []node.Home
	remember := func(h *node.Home, _ *node.Config) { homes = append(homes, *h) }
	author := startNode(t, "acme", func(h *node.Home, c *node.Config) {
		remember(h, c)
		c.Workloads = []naming.Rule{stageRule(word)}
		c.Share.Policy, c.Share.StageModels = share.Both, true
	}, node.Options{Tap: sent.see})
	reader := startNode(t, "globex", remember, node.Options{})

	applications := modeltest.Executions(60, word, 1)
	for i := range applications {
		applications[i].User, applications[i].Queue = "janedoeuser", "customerledger"
		applications[i].Executors = []model.Executor{{ID: "1", Host: "rackhostname"}}
	}
	if _, err := author.ImportExecutions(t.Context(), applications, naming.Hints{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the author shares a stage model", func() bool { return len(stageModelsOf(t, author)) == 1 })
	connect(t, reader, author)
	eventually(t, "the reader has it, and a summary", func() bool {
		return len(stageModelsOf(t, reader)) == 1 && received(reader) > 1
	})

	predictors, err := reader.StagePredictors(t.Context(), "spark")
	if err != nil || len(predictors) != 1 || predictors[0].Organisation != "acme" {
		t.Fatalf("predictors %+v, %v", predictors, err)
	}
	if none, err := reader.StagePredictors(t.Context(), "flink"); err != nil || len(none) != 0 {
		t.Errorf("predictors for another framework: %+v, %v", none, err)
	}
	if own, err := author.StagePredictors(t.Context(), "spark"); err != nil || len(own) != 0 {
		t.Errorf("the author's own model counts as a peer's: %+v, %v", own, err)
	}
	var task, end, guess, n float64
	for _, e := range modeltest.Executions(20, "other", 2) {
		job, err := stage.FromExecution(&e)
		if err != nil {
			t.Fatal(err)
		}
		f, err := predictors[0].Model.PredictStarted(job)
		if err != nil {
			t.Fatal(err)
		}
		length := e.RuntimeSeconds()
		for i, p := range f.Stages {
			s := job.Graph.Stages[i]
			task += math.Abs(p.TaskSeconds.LogMedian - math.Log(s.TaskSeconds))
			guess += math.Abs(math.Log(s.TaskSeconds) - 1.5) // about the mean of all
			end += math.Abs(p.EndSeconds-s.EndSeconds) / length
			n++
		}
	}
	t.Logf("mean error of ln(task time) %.2f, of one number for all %.2f; of ends %.2f of a job's length", task/n, guess/n, end/n)
	if task > .5*guess || end/n > .3 {
		t.Errorf("errors of task times %.2f (one number: %.2f), of ends %.2f of a job's length", task/n, guess/n, end/n)
	}

	haystacks := map[string][]byte{"sent bytes": sent.sent()}
	for _, app := range []*node.App{author, reader} {
		for _, r := range stageModelsOf(t, app) {
			haystacks["record "+r.Key] = r.Envelope
			// Nothing but numbers and the family's name; by chance some look like letters.
			body := bytes.ReplaceAll(r.Body, []byte(stage.Family), nil)
			if n := longestText(body); n > 8 {
				t.Errorf("the body holds a text of %d letters", n)
			}
		}
	}
	for _, h := range homes {
		for path, content := range files(t, h.CommonsDir()) {
			haystacks[path] = content
		}
	}
	private := append(secrets(), ".scala", "filesourcescan", "hashaggregate", applications[7].QuerySignature, applications[0].ApplicationID)
	if len(haystacks["sent bytes"]) < 10_000 {
		t.Errorf("the tap saw only %d bytes", len(haystacks["sent bytes"]))
	}
	for name, content := range haystacks {
		content = bytes.ToLower(content)
		for _, secret := range private {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
	// Summaries bring pseudonyms, a stage model does not.
	pseudonym := ""
	all, err := reader.Commons().All(shared)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if p, _, found := strings.Cut(r.Key, "/summary"); found && len(p) == 32 {
			pseudonym = p
		}
	}
	for _, r := range stageModelsOf(t, reader) {
		if r.Key != commons.StageKey(stage.Family) || r.Topic != commons.StageTopic("aws-ec2", "spark") {
			t.Errorf("key %q under %s", r.Key, r.Topic)
		}
		if pseudonym == "" || bytes.Contains(r.Envelope, []byte(pseudonym)) {
			t.Errorf("the record holds the pseudonym %q, or nothing is known of it", pseudonym)
		}
	}
}

// longestText is the length of the longest run of lower-case letters.
func longestText(b []byte) int {
	longest, n := 0, 0
	for _, c := range b {
		if n++; c < 'a' || c > 'z' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// TestStageModelsPreview: what would leave is shown with what it tells.
func TestStageModelsPreview(t *testing.T) {
	const word = "nightlyrevenue"
	app := startNode(t, "acme", func(_ *node.Home, c *node.Config) {
		c.Workloads = []naming.Rule{stageRule(word)}
	}, node.Options{})
	applications := modeltest.Executions(15, word, 1)
	if _, err := app.ImportExecutions(t.Context(), applications, naming.Hints{}); err != nil {
		t.Fatal(err)
	}
	res, err := app.PreviewShareAs(t.Context(), share.Trial{Stages: true})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range res.GetRecords() {
		if r.GetStage() == nil {
			continue
		}
		found++
		e := r.GetStageExtent()
		if r.GetShared() || e.GetTrees() == 0 || !(e.GetLeastDurationSeconds() > 0 && e.GetLargestDurationSeconds() > e.GetLeastDurationSeconds()) ||
			!(e.GetLargestOutputBytes() > 0) || !strings.Contains(fmt.Sprint(e.GetOperators()), "HashAggregate") {
			t.Errorf("preview says %+v", e)
		}
	}
	if found != 1 {
		t.Errorf("%d stage models would leave, want one", found)
	}
}

// logTap takes a log's lines.
type logTap struct{ tap }

func (t *logTap) Write(p []byte) (int, error) {
	t.see("", p)
	return len(p), nil
}

// TestStageModelsLeftOut: a model that cannot be used is named in the log, once.
func TestStageModelsLeftOut(t *testing.T) {
	var log logTap
	app := startNode(t, "acme", nil, node.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	key, _, err := crypto.GenerateEd25519Key(nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(&karasuv1.StageModel{Family: "stage-trees/9"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := commons.Seal(key, &karasuv1.Record{
		Topic: commons.StageTopic("aws-ec2", "spark").String(), Kind: karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL,
		Key: commons.StageKey("stage-trees/9"), Revision: 1, Created: time.Now().Unix(), NotAfter: time.Now().Add(time.Hour).Unix(),
		Organisation: "globex", Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Commons().Put(t.Context(), r, false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := app.StagePredictors(t.Context(), "spark"); err != nil || len(got) != 0 {
			t.Errorf("predictors %+v, %v", got, err)
		}
	}
	said := string(log.sent())
	if n := strings.Count(said, "stage model of a peer is not used"); n != 1 || !strings.Contains(said, "organisation=globex") || !strings.Contains(said, "stage-trees/9") {
		t.Errorf("said %d times:\n%s", n, said)
	}
}
