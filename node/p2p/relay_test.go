package p2p

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// TestBehindARelay: a node that listens nowhere is dialled through a hub, and gossip
// passes.
func TestBehindARelay(t *testing.T) {
	hub := start(t, newKey(t), func(c *Config) { c.Role = Hub })
	hidden := start(t, newKey(t), func(c *Config) {
		c.Listen, c.DialOnly, c.Relays = nil, true, []string{addrOf(hub, "/tcp/")}
	})
	eventually(t, "the hub grants a place", func() bool {
		d := hidden.Diagnose(t.Context())
		return len(d.Relays) == 1 && d.Relays[0].Connected && d.Relays[0].Reserved
	})
	eventually(t, "the address through the hub is announced", func() bool { return addrOf(hidden, "/p2p-circuit") != "" })
	if d := hidden.Diagnose(t.Context()); len(d.Listening) != 0 || d.Reachability != network.ReachabilityPrivate {
		t.Errorf("listens on %v, reachability %s", d.Listening, d.Reachability)
	}

	other := start(t, newKey(t), func(c *Config) { c.Bootstrap = []string{addrOf(hidden, "/p2p-circuit")} })
	eventually(t, "the hidden node is connected through the hub", func() bool {
		return slices.ContainsFunc(other.Peers(), func(p PeerInfo) bool {
			return p.ID == hidden.ID() && p.Connected && p.Relayed && !p.Inbound
		})
	})
	const topic = "/karasu/1/aws-ec2/spark/sort"
	in, err := hidden.PubSub().Join(topic)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := in.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Cancel()
	out, err := other.PubSub().Join(topic)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.SetScoreParams(TopicScore()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hidden node takes part", func() bool { return len(out.ListPeers()) == 1 })
	if err := out.Publish(t.Context(), []byte("through the hub")); err != nil {
		t.Fatal(err)
	}
	m, err := sub.Next(t.Context())
	if err != nil || string(m.GetData()) != "through the hub" {
		t.Errorf("%v, %v", m, err)
	}
}

// TestRelayOfMembers: a hub with an allowlist relays for nobody else, and a leaf for
// nobody at all; both are told.
func TestRelayOfMembers(t *testing.T) {
	leaf := start(t, newKey(t), nil)
	hidden := start(t, newKey(t), func(c *Config) {
		c.Listen, c.DialOnly, c.Relays = nil, true, []string{addrOf(leaf, "/tcp/")}
	})
	eventually(t, "it is said that there is no place", func() bool {
		r := hidden.Diagnose(t.Context()).Relays[0]
		return r.Connected && !r.Reserved && strings.Contains(r.LastError, "no place on the relay")
	})
	g := newGater(nil)
	if acl := (members{g}); !acl.AllowReserve("a", nil) || !acl.AllowConnect("a", nil, "b") {
		t.Error("an open hub does not relay")
	}
	g.set([]peer.ID{"a"})
	if acl := (members{g}); !acl.AllowReserve("a", nil) || acl.AllowReserve("b", nil) || acl.AllowConnect("a", nil, "b") || acl.AllowConnect("b", nil, "a") {
		t.Error("a consortium's hub relays for strangers")
	}
}

// TestRelayComesBack: the place is taken again after the hub was away.
func TestRelayComesBack(t *testing.T) {
	key := newKey(t)
	hub := start(t, key, func(c *Config) { c.Role = Hub })
	addr := addrOf(hub, "/tcp/")
	hidden := start(t, newKey(t), func(c *Config) { c.Listen, c.DialOnly, c.Relays = nil, true, []string{addr} })
	reserved := func() bool { return hidden.Diagnose(t.Context()).Relays[0].Reserved }
	eventually(t, "the hub grants a place", reserved)
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the place is lost, and its address", func() bool { return !reserved() && addrOf(hidden, "/p2p-circuit") == "" })
	port, _, _ := strings.Cut(addr, "/p2p/")
	start(t, key, func(c *Config) { c.Role, c.Listen = Hub, []string{port} })
	eventually(t, "the hub grants a place again", reserved)
}

func TestRolesAreChecked(t *testing.T) {
	relay := "/ip4/127.0.0.1/tcp/1/p2p/" + idOf(t, newKey(t)).String()
	for name, cfg := range map[string]Config{
		"unknown role":         {Role: "king"},
		"hub behind a relay":   {Role: Hub, Relays: []string{relay}},
		"hub that only dials":  {Role: Hub, DialOnly: true},
		"relay without a peer": {Relays: []string{"/ip4/127.0.0.1/tcp/1"}},
		"listens and does not": {DialOnly: true, Listen: []string{"/ip4/127.0.0.1/tcp/0"}},
	} {
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Config{DialOnly: true, Relays: []string{relay, relay}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestHubHasRoom: limits follow the role, not the memory.
func TestHubHasRoom(t *testing.T) {
	for role, want := range map[Role]int{Leaf: 2 * leafConnectionsHigh, Hub: 2 * hubConnectionsHigh} {
		t.Run(string(role), func(t *testing.T) {
			s, err := Config{Role: role}.parse()
			if err != nil {
				t.Fatal(err)
			}
			m, err := newResourceManager(s.Limits, s.exempt)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close() //nolint:errcheck // the test is over
			got := 0
			for range want + 10 {
				scope, err := m.OpenConnection(network.DirInbound, false, ma.StringCast("/ip4/127.0.0.1/tcp/4001"))
				if err != nil {
					break
				}
				defer scope.Done()
				if err := scope.SetPeer(idOf(t, newKey(t))); err != nil {
					t.Fatal(err)
				}
				got++
			}
			if got != want {
				t.Errorf("%d connections fit, want %d", got, want)
			}
		})
	}
}

// TestReset: what is remembered is forgotten, and a peer whose dials were paused is
// dialled at once.
func TestReset(t *testing.T) {
	key := newKey(t)
	gone := start(t, key, nil)
	addr := addrOf(gone, "/tcp/")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	n := start(t, newKey(t), func(c *Config) { c.Bootstrap, c.RedialInterval = []string{addr}, time.Hour })
	eventually(t, "the dial fails", func() bool { return n.Peers()[0].LastError != "" })
	remembered := start(t, newKey(t), nil)
	n.good.seen(remembered.ID(), remembered.host.Addrs(), time.Now())
	port, _, _ := strings.Cut(addr, "/p2p/")
	back := start(t, key, func(c *Config) { c.Listen = []string{port} })
	if got := n.Reset(); got != 1 {
		t.Errorf("%d peers forgotten, want 1", got)
	}
	eventually(t, "the peer is dialled before its hour", func() bool { return connected(n, back) })
	if connected(n, remembered) {
		t.Error("a forgotten peer is dialled")
	}
}
