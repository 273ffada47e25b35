package node_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/store/commons"
)

// shared takes what organisations share, and not what they say of themselves.
func shared(t model.Topic) bool { return t != commons.ControlTopic() }

func pagerankRuns() []model.Run {
	var runs []model.Run
	for i := range 3 {
		runs = append(runs, model.Run{
			Workload:       model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank", Job: "weekly"},
			Configuration:  model.Configuration{MachineType: "m4.xlarge", ScaleOut: 2 + i},
			RuntimeSeconds: 100 / float64(i+1), Outcome: model.OK,
		})
	}
	return runs
}

func TestSecondDaemonIsRefused(t *testing.T) {
	var home node.Home
	startNode(t, "acme", func(h *node.Home, _ *node.Config) { home = *h }, node.Options{})
	loopback := p2p.Loopback()
	_, err := node.New(t.Context(), home, node.DefaultConfig("acme"), node.Options{Network: &loopback, NoAPI: true})
	if !errors.Is(err, commons.ErrInUse) {
		t.Errorf("second daemon: error %v, want %v", err, commons.ErrInUse)
	}
}

// TestPolicyOffRetracts: what was shared is withdrawn, also at peers, once the policy
// no longer allows it.
func TestPolicyOffRetracts(t *testing.T) {
	dir := t.TempDir()
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := home.Init("acme", node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	start := func(mode share.Mode) *node.App {
		config := node.DefaultConfig("acme")
		config.Share.Policy = mode
		loopback := p2p.Loopback()
		app, err := node.New(t.Context(), home, config, node.Options{Network: &loopback, NoAPI: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return app
	}
	reader := startNode(t, "globex", nil, node.Options{})
	usable := func() int {
		records, err := reader.Commons().All(shared)
		if err != nil {
			t.Fatal(err)
		}
		return len(records)
	}
	connect := func(app *node.App) {
		if err := app.Network().Connect(t.Context(), reader.Network().Addrs()[0].String()+"/p2p/"+reader.Network().ID().String()); err != nil {
			t.Fatal(err)
		}
	}
	app := start(share.Both)
	connect(app)
	if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has summary and model", func() bool { return usable() == 2 })
	if err := app.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	app = start(share.Off)
	defer func() { _ = app.Stop(context.Background()) }()
	connect(app)
	eventually(t, "the reader has nothing usable left", func() bool { return usable() == 0 })
}

// TestDeletedRunsAreWithdrawn: what was shared follows the private runs.
func TestDeletedRunsAreWithdrawn(t *testing.T) {
	app := startNode(t, "acme", nil, node.Options{})
	if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	usable := func() int {
		records, err := app.Commons().All(shared)
		if err != nil {
			t.Fatal(err)
		}
		return len(records)
	}
	eventually(t, "summary and model are shared", func() bool { return usable() == 2 })
	if _, _, err := app.DeleteRuns(t.Context(), []string{pagerankRuns()[0].ID()}, ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are withdrawn, two runs being too few", func() bool { return usable() == 0 })
	if runs, _, err := app.DeleteRuns(t.Context(), nil, " Weekly "); runs != 0 || err != nil {
		t.Errorf("%d runs of a job of another name deleted (%v)", runs, err)
	}
	if runs, _, err := app.DeleteRuns(t.Context(), nil, " weekly"); runs != 2 || err != nil {
		t.Errorf("%d runs of the job deleted (%v), want 2", runs, err)
	}
	for _, wrong := range [][]string{nil, {"12345678"}} {
		job := ""
		if wrong != nil {
			job = "weekly"
		}
		if _, _, err := app.DeleteRuns(t.Context(), wrong, job); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("IDs %v and job %q: error %v", wrong, job, err)
		}
	}
}

// TestAuthorsViaOthers: who shares by way of others is listed, and withdrawn records
// count nowhere.
func TestAuthorsViaOthers(t *testing.T) {
	far, middle, near := startNode(t, "far", nil, node.Options{}), startNode(t, "middle", nil, node.Options{}), startNode(t, "near", nil, node.Options{})
	for _, pair := range [][2]*node.App{{far, middle}, {middle, near}} {
		to := pair[1].Network()
		if err := pair[0].Network().Connect(t.Context(), to.Addrs()[0].String()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := far.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	counted := func(status, topics, peers uint32) bool {
		s, err := near.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := near.Topics(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		known, err := near.Peers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var inTopics, ofPeers uint32
		for _, x := range all {
			inTopics += x.GetReceivedRecords()
		}
		for _, p := range known {
			if ofPeers += p.GetRecords(); p.GetPeerId() == far.Network().ID().String() && (!p.GetViaOthers() || p.GetConnected()) {
				return false
			}
		}
		return s.GetReceivedRecords() == status && inTopics == topics && ofPeers == peers
	}
	eventually(t, "the records of the far node count everywhere", func() bool { return counted(2, 2, 2) })
	if _, _, err := far.DeleteRuns(t.Context(), nil, "weekly"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "withdrawn records count nowhere", func() bool { return counted(0, 0, 0) })
}

// TestPreviewIsWhatLeaves compares the preview before anything left with what a peer
// receives.
func TestPreviewIsWhatLeaves(t *testing.T) {
	author := startNode(t, "acme", nil, node.Options{})
	reader := startNode(t, "globex", nil, node.Options{})
	if _, _, err := author.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	preview, err := author.PreviewShare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := author.Network().Connect(t.Context(), reader.Network().Addrs()[0].String()+"/p2p/"+reader.Network().ID().String()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has all records", func() bool { return received(reader) == len(preview.GetRecords()) })
	got, err := reader.Commons().All(shared)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, r := range got {
		bodies[r.Key] = string(r.Body)
	}
	// Under another policy, something else would.
	would, err := author.PreviewShareAs(t.Context(), share.Trial{Mode: share.Models})
	if err != nil || len(would.GetRecords()) != 1 || would.GetRecords()[0].GetModel() == nil {
		t.Errorf("with policy models %d records would leave (%v), want the model", len(would.GetRecords()), err)
	}
	if _, err := author.PreviewShareAs(t.Context(), share.Trial{Mode: "some"}); !errors.Is(err, share.ErrPolicy) {
		t.Errorf("an unknown policy: error %v", err)
	}
	for _, p := range preview.GetRecords() {
		if bodies[p.GetRecord().GetKey()] != string(p.GetRecord().GetBody()) {
			t.Errorf("%s left with another body than previewed", p.GetRecord().GetKey())
		}
	}
}

// TestLostRunsAreNotRetracted: a home whose private database is gone keeps what it
// shared.
func TestLostRunsAreNotRetracted(t *testing.T) {
	dir := t.TempDir()
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := home.Init("acme", node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	own := func(app *node.App) int {
		n := 0
		for _, topic := range app.Commons().Topics() {
			n += topic.Own
		}
		return n
	}
	var log bytes.Buffer
	with := func(fn func(*node.App)) {
		loopback := p2p.Loopback()
		app, err := node.New(t.Context(), home, node.DefaultConfig("acme"), node.Options{
			Network: &loopback, NoAPI: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		fn(app)
		if err := app.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	with(func(app *node.App) {
		if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "summary and model are shared", func() bool { return own(app) == 2 })
	})
	if err := os.RemoveAll(home.PrivateDir()); err != nil {
		t.Fatal(err)
	}
	with(func(app *node.App) {
		runs := pagerankRuns()
		for i := range runs {
			runs[i].Workload.Job = "other"
		}
		if _, _, err := app.ImportRuns(t.Context(), runs); err != nil {
			t.Fatal(err)
		}
		eventually(t, "new runs are shared beside the old", func() bool { return own(app) == 4 })
	})
	if !strings.Contains(log.String(), "restore it from a backup") {
		t.Errorf("the log says nothing of it:\n%s", log.String())
	}
}
