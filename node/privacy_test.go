package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/wire"
)

// secrets are words that occur in private fields only. Each is long enough not to
// come up by chance in signatures or compressed blocks.
func secrets() []string {
	return []string{"nightlyrevenue", "customerledger", "hdfspathprefix", "janedoeuser", "rackhostname", "bespokemachine"}
}

// tap collects all that a node sends.
type tap struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (t *tap) see(channel string, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes.WriteString(channel)
	t.bytes.Write(data)
}

func (t *tap) sent() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.bytes.Bytes())
}

// startNode starts a node on loopback in a home of its own.
func startNode(t *testing.T, name string, change func(*node.Home, *node.Config), o node.Options) *node.App {
	t.Helper()
	dir := t.TempDir()
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := home.Init(name, node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	config := node.DefaultConfig(name)
	if change != nil {
		change(&home, &config)
	}
	loopback := p2p.Loopback()
	o.Network, o.NoAPI = &loopback, true
	app, err := node.New(t.Context(), home, config, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Stop(context.Background()); err != nil {
			t.Errorf("stop %s: %v", name, err)
		}
	})
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return app
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

func received(app *node.App) int {
	n := 0
	for _, topic := range app.Commons().Topics() {
		n += topic.Received
	}
	return n
}

// TestNothingPrivateLeaves reads every byte that a node sends, and every byte of the
// commons of both sides, and looks for the names of job, data set, path, user, host
// and own machine type.
func TestNothingPrivateLeaves(t *testing.T) {
	var sent tap
	machines := filepath.Join(t.TempDir(), "machines.toml")
	text := "[[machine]]\ncloud = \"aws\"\nmachine_type = \"bespokemachine-rackhostname\"\nvcpus = 32\nmemory_gib = 256\nusd_per_hour = 1.5\n"
	if err := os.WriteFile(machines, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var homes []node.Home
	remember := func(h *node.Home, _ *node.Config) { homes = append(homes, *h) }
	author := startNode(t, "acme", func(h *node.Home, c *node.Config) {
		remember(h, c)
		c.Catalog.File = machines
		c.Share.RuntimeModels = true
	}, node.Options{Tap: sent.see})
	reader := startNode(t, "globex", remember, node.Options{})

	var runs []model.Run
	for i, machine := range []string{"m4.xlarge", "m4.xlarge", "m4.2xlarge", "bespokemachine-rackhostname"} {
		runs = append(runs, model.Run{
			Workload: model.Workload{
				Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank",
				Job: "nightlyrevenue by janedoeuser", Dataset: "hdfspathprefix://rackhostname/customerledger", InputBytes: 1e11,
				Arguments: model.Arguments{{Name: "damping", Number: .85}, {Name: "output", Text: "hdfspathprefix://customerledger"}},
			},
			Configuration:  model.Configuration{MachineType: machine, ScaleOut: 4 + i},
			RuntimeSeconds: 4000 / float64(4+i), Outcome: model.OK,
		})
	}
	if _, _, err := author.ImportRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	// A search adds runs of its own.
	search := &karasuv1.SearchSettings{Workload: wire.FromWorkload(model.Workload{
		Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: "nightlyrevenue-sort", Dataset: "customerledger",
	})}
	if _, err := author.Advisor().Start(t.Context(), search); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := author.Advisor().Report(t.Context(), &karasuv1.ReportRunRequest{
			Job: "nightlyrevenue-sort", Configuration: &karasuv1.Configuration{MachineType: "m4.xlarge", ScaleOut: uint32(i + 2)},
			RuntimeSeconds: 60, Outcome: karasuv1.Outcome_OUTCOME_OK,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const records = 5 // a summary and a model of each workload, a runtime model of one topic
	addr := fmt.Sprintf("%s/p2p/%s", author.Network().Addrs()[0], author.Network().ID())
	if err := reader.Network().Connect(t.Context(), addr); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has all records", func() bool { return received(reader) == records })

	haystacks := map[string][]byte{"sent bytes": sent.sent()}
	for _, app := range []*node.App{author, reader} {
		all, err := app.Commons().All(func(model.Topic) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			haystacks["record "+r.Key] = r.Envelope
		}
		models := slices.DeleteFunc(all, func(r *commons.Record) bool { return r.Kind != karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL })
		if len(models) != 1 || !bytes.Contains(models[0].Envelope, []byte("damping")) {
			t.Errorf("%d runtime models, want one with the arguments' names", len(models))
		}
	}
	for _, h := range homes {
		for path, content := range files(t, h.CommonsDir()) {
			haystacks[path] = content
		}
	}
	if len(haystacks["sent bytes"]) < 1000 {
		t.Errorf("the tap saw only %d bytes", len(haystacks["sent bytes"]))
	}
	for name, content := range haystacks {
		content = bytes.ToLower(content)
		for _, secret := range secrets() {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
	// The search for secrets would find them: they are in the private store.
	found := 0
	for _, content := range files(t, homes[0].PrivateDir()) {
		if bytes.Contains(content, []byte("customerledger")) {
			found++
		}
	}
	if found == 0 {
		t.Error("the private store does not hold the secret in the clear, so this test proves nothing")
	}
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "LOCK") {
			return err
		}
		out[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
