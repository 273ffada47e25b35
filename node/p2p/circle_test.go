package p2p

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/peer"
)

// TestStrangerToTheCircle: a raw libp2p host on no list gets no further than the
// handshake, and is remembered as kept out.
func TestStrangerToTheCircle(t *testing.T) {
	n := start(t, newKey(t), nil)
	member := start(t, newKey(t), nil)
	var in atomic.Pointer[peer.ID]
	id := member.ID()
	in.Store(&id)
	permit := func(id peer.ID) bool { return id == *in.Load() }
	if err := n.Restrict(permit, []peer.ID{id}); err != nil {
		t.Fatal(err)
	}
	if err := member.Connect(t.Context(), n.Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	stranger, err := libp2p.New(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.DisableRelay(), libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close() //nolint:errcheck // the test is over
	for _, addr := range []string{addrOf(n, "/tcp/"), addrOf(n, "/quic-v1")} {
		info, err := peer.AddrInfoFromString(addr)
		if err != nil {
			t.Fatal(err)
		}
		before := n.Refused()
		// Over some transports the stranger learns of the refusal only afterwards.
		_ = stranger.Connect(t.Context(), *info)
		eventually(t, "the stranger is refused", func() bool {
			return n.Refused() > before && len(n.Host().Network().ConnsToPeer(stranger.ID())) == 0
		})
		if err := stranger.Network().ClosePeer(n.ID()); err != nil {
			t.Fatal(err)
		}
	}
	if away := n.TurnedAway(); len(away) != 1 || away[0].ID != stranger.ID() || away[0].Times < 2 {
		t.Errorf("kept out: %+v, want %s twice", away, stranger.ID())
	}
	if err := n.Connect(t.Context(), fmt.Sprintf("%s/p2p/%s", stranger.Addrs()[0], stranger.ID())); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("dialling the stranger: error %v, want %v", err, ErrNotAllowed)
	}
	nobody := peer.ID("nobody")
	in.Store(&nobody)
	if err := n.Restrict(permit, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the former member is disconnected", func() bool { return !connected(n, member) })
}

// TestTurnedAwayIsBounded: a thousand strangers cost no more than 256.
func TestTurnedAwayIsBounded(t *testing.T) {
	g := newGater([]peer.ID{"member"})
	now := time.Unix(1, 0)
	for i := range 1000 {
		g.note(peer.ID(fmt.Sprintf("stranger %03d", i)), now.Add(time.Duration(i)*time.Second))
	}
	got := g.callers()
	if len(got) != maxTurnedAway || got[0].ID != "stranger 744" {
		t.Errorf("%d callers from %q on, want the last %d", len(got), got[0].ID, maxTurnedAway)
	}
	g.set([]peer.ID{"stranger 999"})
	if got := g.callers(); len(got) != maxTurnedAway-1 {
		t.Errorf("%d callers are kept out once one is let in, want %d", len(got), maxTurnedAway-1)
	}
}

const pskFile = "/key/swarm/psk/1.0.0/\n/base16/\n000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"

// TestPrivateNetwork: who has the key connects, who has none or another does not.
func TestPrivateNetwork(t *testing.T) {
	with := func(file string) *Network {
		return start(t, newKey(t), func(c *Config) {
			c.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
			if file == "" {
				return
			}
			psk, err := ParsePSK([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			c.PSK = psk
		})
	}
	a, b := with(pskFile), with(pskFile)
	if err := b.Connect(t.Context(), a.Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*Network{"without a key": with(""), "with another key": with(strings.Replace(pskFile, "0001", "ffff", 1))} {
		if err := n.Connect(t.Context(), a.Addrs()[0].String()); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

func TestPrivateNetworkIsTCPOnly(t *testing.T) {
	psk, err := ParsePSK([]byte(pskFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{
		{PSK: psk, Listen: []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"}},
		{PSK: psk, Announce: []string{"/ip4/192.0.2.1/udp/1/quic-v1"}},
	} {
		if err := c.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "TCP only") {
			t.Errorf("%v: error %v, want one about TCP", c.Listen, err)
		}
	}
	if err := (Config{PSK: psk}).Validate(); err != nil {
		t.Errorf("the default addresses: %v", err)
	}
}

func FuzzParsePSK(f *testing.F) {
	f.Add([]byte(pskFile))
	f.Add([]byte("/key/swarm/psk/1.0.0/\n/bin/\n" + strings.Repeat("x", 32)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		key, err := ParsePSK(bytes.Clone(b))
		if err == nil && len(key) != 32 {
			t.Fatalf("accepted a key of %d bytes", len(key))
		}
	})
}
