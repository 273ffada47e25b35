package node_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	rpc "connectrpc.com/connect"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
	"github.com/karasu-project/karasu/proto/brain/brainconnect"
)

// TestBrain: a job that a DLRover master reports is kept, also by the next daemon of the home.
func TestBrain(t *testing.T) {
	dir := t.TempDir()
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := home.Init("acme", node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	config := node.DefaultConfig("acme")
	config.Elastic.Brain = "127.0.0.1:0"
	start := func() *node.App {
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
	app := start()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	client := brainconnect.NewBrainClient(&http.Client{Transport: transport}, "http://"+app.BrainAddr().String(), rpc.WithGRPC())
	_, err := client.PersistMetrics(t.Context(), rpc.NewRequest(&brainv1.JobMetrics{
		JobMeta: &brainv1.JobMeta{Uuid: "u-1"}, MetricsType: brainv1.MetricsType_Runtime_Info,
		RuntimeInfo: &brainv1.RuntimeInfo{GlobalStep: 10, Speed: 2, RunningPods: []*brainv1.PodMeta{{PodName: "ctr-edljob-worker-0"}, {PodName: "ctr-edljob-ps-0"}}},
	}))
	if err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	if err := app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	app = start()
	defer func() {
		if err := app.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	state, err := app.Elastic().Job("u-1")
	if err != nil || state.Reports != 1 || !strings.HasPrefix(state.Job.Topic.Algorithm, "job-") || strings.Contains(state.Job.Topic.Algorithm, "ctr") {
		t.Errorf("job after a restart: %+v with %d reports, error %v", state.Job, state.Reports, err)
	}
}

// TestBrainAddress: an address that is none, or that does not say whom it is open to, is
// refused.
func TestBrainAddress(t *testing.T) {
	for _, v := range []struct{ address, want string }{
		{"127.0.0.1:50001", ""}, {"[::1]:50001", ""}, {"0.0.0.0:50001", ""},
		{"127.0.0.1", "elastic.brain must be a host and a port"},
		{"127.0.0.1:99999", "elastic.brain must be a host and a port"},
		{":50001", "elastic.brain must name a host"},
	} {
		dir := t.TempDir()
		home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
		text := "organisation = \"acme\"\n[elastic]\nbrain = \"" + v.address + "\"\n"
		if err := os.WriteFile(home.ConfigFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := node.LoadConfig(home)
		switch {
		case v.want == "" && (err != nil || config.Elastic.Brain != v.address):
			t.Errorf("%q: read as %q, error %v", v.address, config.Elastic.Brain, err)
		case v.want != "" && (!errors.Is(err, node.ErrConfig) || !strings.Contains(err.Error(), v.want)):
			t.Errorf("%q: error %v, want one with %q", v.address, err, v.want)
		}
	}
}
