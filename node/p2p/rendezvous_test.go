package p2p

import (
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/routing"
)

// TestRendezvousByTopic: nodes of one topic, and only those, meet under its name, which a
// third node keeps for them.
func TestRendezvousByTopic(t *testing.T) {
	hub := start(t, newKey(t), func(c *Config) { c.DHT, c.Role = true, Hub })
	withHub := func(c *Config) {
		c.DHT, c.Bootstrap, c.DiscoveryInterval = true, []string{addrOf(hub, "/tcp/")}, 300*time.Millisecond
	}
	a, b, c := start(t, newKey(t), withHub), start(t, newKey(t), withHub), start(t, newKey(t), withHub)
	for n, topic := range map[*Network]string{a: "/karasu/1/x/y/one", b: "/karasu/1/x/y/one", c: "/karasu/1/x/y/two"} {
		tp, err := n.PubSub().Join(topic)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := tp.Subscribe()
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Cancel()
	}
	disc := routing.NewRoutingDiscovery(hub.dht)
	under := func(topic string) (out []peer.ID) {
		found, err := disc.FindPeers(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for info := range found {
			out = append(out, info.ID)
		}
		slices.Sort(out)
		return out
	}
	want := []peer.ID{a.ID(), b.ID()}
	slices.Sort(want)
	eventually(t, "both nodes of the topic, and no other, are found under its name", func() bool { return slices.Equal(under("/karasu/1/x/y/one"), want) })
	eventually(t, "the other topic has its node", func() bool { return slices.Equal(under("/karasu/1/x/y/two"), []peer.ID{c.ID()}) })
	eventually(t, "nodes of one topic are connected", func() bool { return connected(a, b) && len(a.PubSub().ListPeers("/karasu/1/x/y/one")) == 1 })
	if d := a.Diagnose(t.Context()); !d.DHT || d.DHTPeers < 1 || d.TopicPeers["/karasu/1/x/y/one"] != 1 {
		t.Errorf("diagnosis %+v", d)
	}
}

// TestLackingTopicsAreSought: a topic without enough peers is looked up and its nodes are
// dialled, of which there are at most as many as a mesh needs.
func TestLackingTopicsAreSought(t *testing.T) {
	const topic = "/karasu/1/x/y/one"
	hub := start(t, newKey(t), func(c *Config) { c.DHT, c.Role = true, Hub })
	withHub := func(c *Config) {
		c.DHT, c.Bootstrap, c.DiscoveryInterval = true, []string{addrOf(hub, "/tcp/")}, time.Hour
		c.RedialInterval = time.Hour // or good peers would be dialled again
	}
	a, b := start(t, newKey(t), withHub), start(t, newKey(t), withHub)
	eventually(t, "the hub is connected", func() bool {
		return connected(a, hub) && connected(b, hub) && hub.dht.RoutingTable().Size() == 2
	})
	for _, n := range []*Network{a, b} {
		tp, err := n.PubSub().Join(topic)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := tp.Subscribe()
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Cancel()
	}
	of := func(n *Network) *meeting {
		return &meeting{n: n, disc: routing.NewRoutingDiscovery(n.dht), advertised: map[string]time.Time{}, sought: map[string]time.Time{}}
	}
	of(b).topics(time.Now())
	eventually(t, "they are apart", func() bool {
		// The nodes' own loops may look for the topic meanwhile, once.
		if err := a.host.Network().ClosePeer(b.ID()); err != nil {
			t.Error(err)
		}
		return !connected(a, b) && !connected(b, a)
	})
	m := of(a)
	m.topics(time.Now())
	if !connected(a, b) {
		t.Error("the node of a topic that lacks peers is not dialled")
	}
	if m.sought[topic].IsZero() || m.advertised[topic].IsZero() {
		t.Error("the topic counts as new")
	}
}

// TestHubServes: what a hub does for others, and a leaf does not.
func TestHubServes(t *testing.T) {
	hub, leaf := start(t, newKey(t), func(c *Config) { c.Role = Hub }), start(t, newKey(t), nil)
	serves := func(n *Network, protocol string) bool {
		for _, p := range n.host.Mux().Protocols() {
			if string(p) == protocol {
				return true
			}
		}
		return false
	}
	for _, p := range []string{"/libp2p/circuit/relay/0.2.0/hop", "/libp2p/autonat/1.0.0"} {
		eventually(t, "the hub serves "+p, func() bool { return serves(hub, p) })
		if serves(leaf, p) {
			t.Errorf("a leaf serves %s", p)
		}
	}
	eventually(t, "the hub counts as reachable", func() bool { return hub.Diagnose(t.Context()).Reachability == network.ReachabilityPublic })
}
