package exchange

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/store/commons"
)

// gossipProtocol is what a raw stream of gossip speaks.
const gossipProtocol protocol.ID = "/meshsub/1.1.0"

// stream opens a raw stream to a node.
func (h *hostile) stream(n *node, p protocol.ID) (network.Stream, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	s, err := h.host.NewStream(ctx, n.net.ID(), p)
	if err == nil {
		h.t.Cleanup(func() { _ = s.Reset() })
	}
	return s, err
}

// streamsOf counts the streams that a peer has open on a node under a protocol.
func streamsOf(n *node, h *hostile, p protocol.ID) int {
	count := 0
	for _, c := range n.net.Host().Network().ConnsToPeer(h.host.ID()) {
		for _, s := range c.GetStreams() {
			if s.Protocol() == p && s.Stat().Direction == network.DirInbound {
				count++
			}
		}
	}
	return count
}

// TestSlowLorisGossip: a peer that opens gossip streams, promises messages and sends a
// byte now and then holds one stream at most, and holds up nobody.
func TestSlowLorisGossip(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	// The length of the largest message that is read, and none of its bytes yet.
	promise := protowire.AppendVarint(nil, p2p.MaxMessage)
	for range 32 {
		s, err := m.stream(b, gossipProtocol)
		if err != nil {
			break // refused, which is fine, too
		}
		if _, err := s.Write(promise); err != nil {
			break
		}
		_, _ = s.Write([]byte{0}) // a stream that was replaced meanwhile takes none
	}
	after := a.publish(pagerank, 1)
	eventually(t, "an honest record passes meanwhile", func() bool { return b.holds(after) })
	eventually(t, "one stream is left", func() bool { return streamsOf(b, m, gossipProtocol) <= 1 })
}

// TestOversizeGossip: a message above the limit ends its stream before it is read, and
// nothing of it is stored.
func TestOversizeGossip(t *testing.T) {
	b := startNode(t, nil)
	r := b.publish(pagerank, 0)
	m := newHostile(t)
	m.connect(b)
	s, err := m.stream(b, gossipProtocol)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(protowire.AppendVarint(nil, 1<<30)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream is reset", func() bool {
		_, err := s.Write(make([]byte, 1<<10))
		return err != nil
	})
	if entries, err := b.db.Entries(nil); err != nil || len(entries) != 1 || entries[0].ID != r.ID {
		t.Errorf("B holds %v, %v", entries, err)
	}
}

// TestTopicsOfOnePeer: of the topics that a peer subscribes to, a node remembers as many
// as an honest one has at most, names of other networks not at all.
func TestTopicsOfOnePeer(t *testing.T) {
	b := startNode(t, nil)
	// Without a gossip layer, whose own stream would take the place of the raw one.
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	h.SetStreamHandler(gossipProtocol, func(s network.Stream) { _, _ = io.Copy(io.Discard, s) })
	m := &hostile{t: t, host: h}
	m.connect(b)
	s, err := m.stream(b, gossipProtocol)
	if err != nil {
		t.Fatal(err)
	}
	topic := func(i int) string {
		return model.Topic{Infrastructure: "x", Framework: "y", Algorithm: fmt.Sprint("z", i)}.String()
	}
	yes := true
	rpc := &pb.RPC{}
	for i := range 4 * p2p.MaxPeerTopics {
		rpc.Subscriptions = append(rpc.Subscriptions, &pb.RPC_SubOpts{Subscribe: &yes, Topicid: proto.String(topic(i))})
	}
	rpc.Subscriptions = append(rpc.Subscriptions, &pb.RPC_SubOpts{Subscribe: &yes, Topicid: proto.String("/other/network")})
	body, err := proto.Marshal(rpc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(append(protowire.AppendVarint(nil, uint64(len(body))), body...)); err != nil {
		t.Fatal(err)
	}
	last := topic(p2p.MaxPeerTopics - 1)
	eventually(t, "the last topic within the bound is known", func() bool { return len(b.net.PubSub().ListPeers(last)) == 1 })
	for _, beyond := range []string{topic(p2p.MaxPeerTopics), topic(4*p2p.MaxPeerTopics - 1), "/other/network"} {
		if len(b.net.PubSub().ListPeers(beyond)) != 0 {
			t.Errorf("%s is remembered", beyond)
		}
	}
	if len(b.ex.Topics()) != 0 {
		t.Errorf("B takes part in %d topics", len(b.ex.Topics()))
	}
}

// TestRecordsInAThousandTopics: genuine records of one author in more topics than it may
// have are refused by sync, whose sender is not blamed for them.
func TestRecordsInAThousandTopics(t *testing.T) {
	quota := func(o *Options) { o.Quotas = Quotas{TopicsPerAuthor: 5} }
	b := startNode(t, quota)
	a := startNode(t, nil)
	author := newKey(t)
	var records []*commons.Record
	for i := range 40 {
		topic := model.Topic{Infrastructure: "x", Framework: "y", Algorithm: fmt.Sprint("z", i)}
		records = append(records, seal(t, author, topic, i, nil))
	}
	if _, err := a.db.PutAll(t.Context(), records, false); err != nil {
		t.Fatal(err)
	}
	a.connect(b)
	connected(t, a, b)
	syncNow(t, a)
	held := func() int { return b.db.Authors()[records[0].Author].Records }
	eventually(t, "five topics come", func() bool { return held() == 5 })
	eventually(t, "the others are refused", func() bool { return b.ex.Stats().Rejected[QuotaTopics] >= 35 })
	// More of a topic that it has is fine.
	first := ""
	for _, s := range b.db.Served() {
		first = s.Topic.Algorithm
		break
	}
	more := seal(t, author, model.Topic{Infrastructure: "x", Framework: "y", Algorithm: first}, 100, nil)
	if _, err := a.db.Put(t.Context(), more, false); err != nil {
		t.Fatal(err)
	}
	syncNow(t, a)
	eventually(t, "a record in a topic that it has comes", func() bool { return b.holds(more) })
	if n := held(); n != 6 || len(b.ex.Offenders()) != 0 {
		t.Errorf("%d records are held, offenders %v", n, b.ex.Offenders())
	}
}

// TestSlowLorisClock: who asks for the time and never closes costs nothing that stays.
func TestSlowLorisClock(t *testing.T) {
	const clock protocol.ID = "/karasu/clock/1"
	b := startNode(t, nil)
	m := newHostile(t)
	m.connect(b)
	for range 200 {
		s, err := m.stream(b, clock)
		if err != nil {
			break // the resource manager has had enough
		}
		_, _ = s.Write(bytes.Repeat([]byte{1}, 10))
	}
	eventually(t, "no stream is left on the node's side", func() bool { return streamsOf(b, m, clock) == 0 })
	a := startNode(t, nil)
	a.connect(b)
	if d := a.net.Diagnose(t.Context()); len(d.Clocks) != 1 || d.Clocks[0].Ahead.Abs() > time.Minute {
		t.Errorf("an honest peer is told %+v", d.Clocks)
	}
}
