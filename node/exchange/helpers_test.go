package exchange

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// patience is how long tests poll before they fail.
const patience = 60 * time.Second

var (
	pagerank = model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank"}
	kmeans   = model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "kmeans"}
	wordsort = model.Topic{Infrastructure: "gcp", Framework: "hadoop", Algorithm: "sort"}
)

// node is a whole node but for the API: network, commons and exchange.
type node struct {
	t    *testing.T
	key  crypto.PrivKey
	dir  string
	net  *p2p.Network
	db   *commons.DB
	ex   *Exchange
	opts Options
}

func newKey(t testing.TB) crypto.PrivKey {
	t.Helper()
	priv, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return priv
}

// startNode starts a node on loopback. Tests that want no periodic sync leave its
// interval at the hour that is set here.
func startNode(t *testing.T, change func(*Options)) *node {
	t.Helper()
	n := &node{t: t, key: newKey(t), dir: t.TempDir(), opts: Options{SyncInterval: time.Hour}}
	if change != nil {
		change(&n.opts)
	}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func (n *node) start() {
	n.t.Helper()
	var err error
	if n.net, err = p2p.New(n.t.Context(), n.key, p2p.Loopback(), nil); err != nil {
		n.t.Fatal(err)
	}
	if err = n.net.Start(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	if n.db, err = commons.OpenDB(n.dir, commons.Options{}); err != nil {
		n.t.Fatal(err)
	}
	opts := n.opts
	opts.Host, opts.PubSub, opts.Store = n.net.Host(), n.net.PubSub(), n.db
	if n.ex, err = New(opts); err != nil {
		n.t.Fatal(err)
	}
	if err = n.ex.Start(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

// stop stops the node; a stopped one stays so.
func (n *node) stop() {
	if n.net == nil {
		return
	}
	for _, c := range []interface{ Close() error }{n.ex, n.net, n.db} {
		if err := c.Close(); err != nil {
			n.t.Errorf("close %T: %v", c, err)
		}
	}
	n.net = nil
}

func (n *node) connect(other *node) {
	n.t.Helper()
	if err := n.net.Connect(n.t.Context(), other.net.Addrs()[0].String()); err != nil {
		n.t.Fatal(err)
	}
}

// publish seals and publishes the summary of workload i.
func (n *node) publish(topic model.Topic, i int) *commons.Record {
	n.t.Helper()
	r := seal(n.t, n.key, topic, i, nil)
	if err := n.ex.Publish(n.t.Context(), r); err != nil {
		n.t.Fatal(err)
	}
	return r
}

func (n *node) holds(records ...*commons.Record) bool {
	for _, r := range records {
		if !n.db.Has(r.ID) {
			return false
		}
	}
	return true
}

// seal signs the summary of workload i; change may spoil it.
func seal(t testing.TB, key crypto.PrivKey, topic model.Topic, i int, change func(*karasuv1.Record)) *commons.Record {
	t.Helper()
	r, err := commons.Seal(key, draft(t, topic, i, change))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func draft(t testing.TB, topic model.Topic, i int, change func(*karasuv1.Record)) *karasuv1.Record {
	t.Helper()
	pseudonym := fmt.Sprintf("%032x", i)
	body, err := proto.Marshal(commons.EncodeSummary(model.Summary{
		Topic: topic, Pseudonym: pseudonym,
		Points: []model.Point{{
			Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 1 + i%64},
			Resources:     model.Resources{VCPUs: 4, MemoryGiB: 16},
			OK:            1,
		}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := &karasuv1.Record{
		Major: commons.Major, Topic: topic.String(), Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY,
		Key: commons.SummaryKey(pseudonym), Revision: 1,
		Created: now.Unix(), NotAfter: now.Add(24 * time.Hour).Unix(), Organisation: "test", Body: body,
	}
	if change != nil {
		change(r)
	}
	return r
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// connected waits until two nodes know each other's protocols.
func connected(t testing.TB, a, b *node) {
	t.Helper()
	eventually(t, "connection", func() bool {
		return a.net.Host().Network().Connectedness(b.net.ID()) == network.Connected &&
			len(a.ex.speakers()) > 0 && len(b.ex.speakers()) > 0
	})
}

func syncNow(t testing.TB, n *node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := n.ex.SyncNow(ctx); err != nil {
		t.Fatal(err)
	}
}
