package p2p

import (
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// gater refuses peers that are not on the allowlist: before they are dialled, and
// on an inbound connection as soon as the handshake has proved who calls. An
// empty allowlist lets everybody in. It is safe for concurrent use.
type gater struct {
	allow   atomic.Pointer[map[peer.ID]struct{}]
	refused atomic.Uint64
}

var _ connmgr.ConnectionGater = (*gater)(nil)

func newGater(allow []peer.ID) *gater {
	g := new(gater)
	g.set(allow)
	return g
}

// set replaces the allowlist.
func (g *gater) set(allow []peer.ID) {
	m := make(map[peer.ID]struct{}, len(allow))
	for _, id := range allow {
		m[id] = struct{}{}
	}
	g.allow.Store(&m)
}

// allowed says whether the node talks to a peer.
func (g *gater) allowed(id peer.ID) bool {
	m := *g.allow.Load()
	if len(m) == 0 {
		return true
	}
	_, ok := m[id]
	return ok
}

func (g *gater) check(id peer.ID) bool {
	if g.allowed(id) {
		return true
	}
	g.refused.Add(1)
	return false
}

// InterceptPeerDial refuses to dial strangers.
func (g *gater) InterceptPeerDial(id peer.ID) bool { return g.check(id) }

// InterceptAddrDial lets every address pass: peers are judged, not addresses.
func (g *gater) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept lets every address pass: who calls is not known yet.
func (g *gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured refuses strangers that have proved their identity.
func (g *gater) InterceptSecured(_ network.Direction, id peer.ID, _ network.ConnMultiaddrs) bool {
	return g.check(id)
}

// InterceptUpgraded lets pass what was secured.
func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
