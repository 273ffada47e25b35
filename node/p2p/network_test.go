package p2p

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

const patience = 30 * time.Second

func newKey(t testing.TB) crypto.PrivKey {
	t.Helper()
	priv, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return priv
}

func idOf(t testing.TB, key crypto.PrivKey) peer.ID {
	t.Helper()
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func start(t testing.TB, key crypto.PrivKey, change func(*Config)) *Network {
	t.Helper()
	cfg := Loopback()
	cfg.RedialInterval = 50 * time.Millisecond
	if change != nil {
		change(&cfg)
	}
	n, err := New(t.Context(), key, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

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

func connected(a, b *Network) bool {
	return a.host.Network().Connectedness(b.ID()) == network.Connected
}

func addrOf(n *Network, transport string) string {
	for _, a := range n.Addrs() {
		if strings.Contains(a.String(), transport) {
			return a.String()
		}
	}
	return ""
}

func TestConnectOverBothTransports(t *testing.T) {
	for _, transport := range []string{"/tcp/", "/quic-v1"} {
		t.Run(strings.Trim(transport, "/"), func(t *testing.T) {
			a, b := start(t, newKey(t), nil), start(t, newKey(t), func(c *Config) { c.Version = "1.2.3" })
			if err := a.Connect(t.Context(), addrOf(b, transport)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "user agent is known", func() bool {
				v, err := a.host.Peerstore().Get(b.ID(), "AgentVersion")
				return err == nil && v == "karasu/1.2.3"
			})
			peers := a.Peers()
			if len(peers) != 1 || peers[0].ID != b.ID() || !peers[0].Connected {
				t.Errorf("peers %+v", peers)
			}
			eventually(t, "latency is measured", func() bool { return a.Peers()[0].Latency > 0 })
		})
	}
}

func TestConnectRefusesBadAddresses(t *testing.T) {
	n := start(t, newKey(t), nil)
	for _, a := range []string{"", "example.org:4001", "/ip4/127.0.0.1/tcp/4001"} {
		if err := n.Connect(t.Context(), a); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v", a, err)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	for name, cfg := range map[string]Config{
		"listen":    {Listen: []string{"0.0.0.0:80"}},
		"announce":  {Announce: []string{"here"}},
		"bootstrap": {Bootstrap: []string{"/ip4/127.0.0.1/tcp/1"}},
		"allowlist": {Allowlist: []string{"me"}},
		"interval":  {RedialInterval: -1},
		"limits":    {Limits: Limits{ConnectionsLow: 5, ConnectionsHigh: 2}},
		"prefix":    {Limits: Limits{ExemptPrefixes: []string{"10.0.0.0"}}},
	} {
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := New(t.Context(), newKey(t), cfg, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("New with %s: %v", name, err)
		}
	}
	for name, cfg := range map[string]Config{"zero": {}, "loopback": Loopback()} {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(t.Context(), nil, Config{}, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no key: %v", err)
	}
}

func TestAllowlist(t *testing.T) {
	keyA, keyB := newKey(t), newKey(t)
	members := []string{idOf(t, keyA).String(), idOf(t, keyB).String()}
	a := start(t, keyA, func(c *Config) { c.Allowlist = members })
	b := start(t, keyB, func(c *Config) { c.Allowlist = members })
	stranger := start(t, newKey(t), nil)

	if err := a.Connect(t.Context(), b.Addrs()[0].String()); err != nil {
		t.Fatalf("members: %v", err)
	}
	t.Run("stranger is not dialled", func(t *testing.T) {
		if err := a.Connect(t.Context(), stranger.Addrs()[0].String()); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
	for _, transport := range []string{"/tcp/", "/quic-v1"} {
		t.Run("stranger dials over "+strings.Trim(transport, "/"), func(t *testing.T) {
			before := a.Refused()
			// Over some transports the stranger learns of the refusal only afterwards.
			_ = stranger.Connect(t.Context(), addrOf(a, transport))
			eventually(t, "the stranger is refused", func() bool {
				return a.Refused() > before && !connected(stranger, a) && !connected(a, stranger)
			})
		})
	}
	t.Run("member is removed", func(t *testing.T) {
		if err := a.Allow([]peer.ID{a.ID()}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the former member is disconnected", func() bool { return !connected(a, b) })
	})
	t.Run("list is lifted", func(t *testing.T) {
		if err := a.Allow(nil); err != nil {
			t.Fatal(err)
		}
		if err := a.Connect(t.Context(), stranger.Addrs()[0].String()); err != nil {
			t.Error(err)
		}
	})
}

func TestBootstrapIsRedialled(t *testing.T) {
	keyB := newKey(t)
	b := start(t, keyB, nil)
	addr := addrOf(b, "/tcp/")
	a := start(t, newKey(t), func(c *Config) { c.Bootstrap = []string{addr} })
	eventually(t, "bootstrap peer is connected", func() bool { return connected(a, b) })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the loss is noticed", func() bool { return len(a.host.Network().Peers()) == 0 })
	if p := a.Peers(); len(p) != 1 || p[0].Connected {
		t.Errorf("a lost bootstrap peer is listed: %+v", p)
	}
	listen, _ := ma.SplitFunc(ma.StringCast(addr), func(c ma.Component) bool { return c.Protocol().Code == ma.P_P2P })
	b = start(t, keyB, func(c *Config) { c.Listen = []string{listen.String()} })
	eventually(t, "bootstrap peer is connected again", func() bool { return connected(a, b) })
}

func TestGoodPeersSurviveRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	b := start(t, newKey(t), nil)
	keyA := newKey(t)
	withFile := func(c *Config) { c.GoodPeersPath = path }
	a := start(t, keyA, withFile)
	if err := a.Connect(t.Context(), b.Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	a = start(t, keyA, withFile)
	eventually(t, "good peer is connected after the restart", func() bool { return connected(a, b) })
}

func TestGoodPeersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	addr := ma.StringCast("/ip4/127.0.0.1/tcp/4001")
	g, err := loadGoodPeers(path)
	if err != nil {
		t.Fatal(err)
	}
	var ids []peer.ID
	for range MaxGoodPeers + 10 {
		id := idOf(t, newKey(t))
		ids = append(ids, id)
		g.seen(id, []ma.Multiaddr{addr}, time.Now())
	}
	g.seen(ids[len(ids)-2], []ma.Multiaddr{addr}, time.Now())
	if err := g.save(); err != nil {
		t.Fatal(err)
	}
	if g, err = loadGoodPeers(path); err != nil {
		t.Fatal(err)
	}
	infos := g.infos()
	if len(infos) != MaxGoodPeers || infos[0].ID != ids[len(ids)-2] || infos[1].ID != ids[len(ids)-1] {
		t.Errorf("%d peers are kept, the latest first: %v", len(infos), infos[:2])
	}
	for name, raw := range map[string]string{
		"no json": "{", "other version": `{"version":9}`, "bad id": `{"version":1,"peers":[{"id":"x","addrs":["/ip4/1.2.3.4/tcp/1"]}]}`,
	} {
		if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := loadGoodPeers(path)
		if err == nil || len(g.infos()) != 0 {
			t.Errorf("%s: %v, %v", name, g.infos(), err)
		}
		// A node starts all the same, and writes a good file at the end.
		n := start(t, newKey(t), func(c *Config) { c.GoodPeersPath = path })
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRendezvous(t *testing.T) {
	hub := start(t, newKey(t), func(c *Config) { c.DHT = true })
	withHub := func(c *Config) {
		c.DHT, c.Bootstrap, c.DiscoveryInterval = true, []string{hub.Addrs()[0].String()}, 300*time.Millisecond
	}
	a, b := start(t, newKey(t), withHub), start(t, newKey(t), withHub)
	eventually(t, "two nodes find each other through a third", func() bool { return connected(a, b) })
	for _, p := range a.host.Mux().Protocols() {
		if strings.Contains(string(p), "/ipfs/kad") {
			t.Errorf("the public DHT's protocol is served: %s", p)
		}
	}
}

// TestFoundPeerIsDialled stands in for multicast DNS, which would leave loopback.
func TestFoundPeerIsDialled(t *testing.T) {
	a, b := start(t, newKey(t), nil), start(t, newKey(t), nil)
	f := found{a}
	f.HandlePeerFound(peer.AddrInfo{ID: a.ID(), Addrs: a.host.Addrs()})
	f.HandlePeerFound(peer.AddrInfo{ID: b.ID(), Addrs: b.host.Addrs()})
	if !connected(a, b) {
		t.Error("a peer that was found is not dialled")
	}
}

func TestLifecycle(t *testing.T) {
	n, err := New(t.Context(), newKey(t), Loopback(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Addrs()) != 0 {
		t.Errorf("listens before start: %v", n.Addrs())
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Start(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("start with an ended context: %v", err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("second start: %v", err)
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := n.Start(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("start after close: %v", err)
	}
	// A network that never started closes too.
	n, err = New(t.Context(), newKey(t), Loopback(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestPortInUse(t *testing.T) {
	a := start(t, newKey(t), nil)
	for _, full := range a.Addrs() {
		taken, _ := ma.SplitFunc(full, func(c ma.Component) bool { return c.Protocol().Code == ma.P_P2P })
		t.Run(taken.String(), func(t *testing.T) {
			// One address that is free does not make up for one that is taken.
			n, err := New(t.Context(), newKey(t), Config{Listen: []string{"/ip4/127.0.0.1/tcp/0", taken.String()}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Start(t.Context()); err == nil {
				t.Error("two nodes listen on one port")
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnnounce(t *testing.T) {
	n := start(t, newKey(t), func(c *Config) { c.Announce = []string{"/dns4/node.example.org/tcp/4001"} })
	if got := n.Addrs(); len(got) != 1 || !strings.HasPrefix(got[0].String(), "/dns4/node.example.org/tcp/4001/p2p/") {
		t.Errorf("announces %v", got)
	}
}

// TestConnectionsPerAddress: the bound is ours, not the library's 8, and does not
// hold for exempt prefixes.
func TestConnectionsPerAddress(t *testing.T) {
	s, err := Config{Limits: Limits{ConnectionsPerAddress: 20, ExemptPrefixes: []string{"10.0.0.0/8"}}}.parse()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newResourceManager(s.Limits, s.exempt)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // the test is over
	for addr, want := range map[string]int{"203.0.113.5": 20, "10.3.4.5": 40, "127.0.0.1": 40} {
		t.Run(addr, func(t *testing.T) {
			endpoint := ma.StringCast("/ip4/" + addr + "/tcp/4001")
			got := 0
			for range 40 {
				scope, err := m.OpenConnection(network.DirInbound, false, endpoint)
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
				t.Errorf("%d connections, want %d", got, want)
			}
		})
	}
}

// TestPlainLibp2pPeer: a plain libp2p node is no danger to an open one.
func TestPlainLibp2pPeer(t *testing.T) {
	n := start(t, newKey(t), nil)
	h, err := libp2p.New(libp2p.NoListenAddrs)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close() //nolint:errcheck // the test is over
	info, err := peer.AddrInfoFromP2pAddr(n.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Connect(t.Context(), *info); err != nil {
		t.Error(err)
	}
}
